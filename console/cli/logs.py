"""``pilothouse logs ID``: a job's output.

To a terminal it goes with every control character made visible; into a pipe or a file it goes byte for byte.
"""

from __future__ import annotations

import codecs
import sys
from argparse import ArgumentParser, Namespace
from typing import Literal

from adapters.base import LogChunk, Reader
from adapters.text import clean
from console.cli.opening import with_reader
from console.cli.output import emit_json


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--follow", "-f", action="store_true", help="go on while the job runs")
    parser.add_argument("--stderr", action="store_true", help="the error output instead of the standard output")
    parser.add_argument("--tail", "-n", type=_lines, metavar="N", help="only the last N lines")


def _lines(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        sink = _sink(args.json)
        stream: Literal["stdout", "stderr"] = "stderr" if args.stderr else "stdout"
        async for chunk in reader.job_logs(args.id, stream, tail=args.tail, follow=args.follow):
            if chunk.reset:
                print("pilothouse: the output was replaced or cut; here it begins anew", file=sys.stderr)
            if chunk.note:
                print(f"pilothouse: {clean(chunk.note)}", file=sys.stderr)
            sink.write(chunk)
            sys.stdout.flush()
        sink.end()
        return 0

    return with_reader(args, show)


class BytesSink:
    """Writes the output byte for byte."""

    def write(self, chunk: LogChunk) -> None:
        sys.stdout.buffer.write(chunk.data)
        sys.stdout.buffer.flush()

    def end(self) -> None:
        """Nothing is held back."""


class JsonSink(BytesSink):
    """Writes one object a chunk; bytes that are no UTF-8 show as ``\\xNN``."""

    def write(self, chunk: LogChunk) -> None:
        text = chunk.data.decode("utf-8", "backslashreplace")
        emit_json({"stream": chunk.stream, "offset": chunk.offset, "data": text, "at_end": chunk.at_end})


class TerminalSink(BytesSink):
    """Writes cleaned text; characters and line ends that are split between chunks come out whole."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._held = ""

    def write(self, chunk: LogChunk) -> None:
        sys.stdout.write(self.text_of(chunk.data))

    def end(self) -> None:
        sys.stdout.write(self.text_of(b"", last=True))

    def text_of(self, data: bytes, last: bool = False) -> str:
        """What may be shown of it now; a carriage return at the very end waits for what follows it."""
        text = self._held + self._decoder.decode(data, last)
        self._held = "\r" if text.endswith("\r") and not last else ""
        lines = text.removesuffix(self._held).replace("\r\n", "\n").split("\n")
        return "\n".join(clean(line.expandtabs(8)) for line in lines)


def _sink(as_json: bool) -> BytesSink:
    if as_json:
        return JsonSink()
    return TerminalSink() if sys.stdout.isatty() else BytesSink()
