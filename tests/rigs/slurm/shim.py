"""Stands before a real command of Slurm: notes what arrives, and can make the way back go wrong.

    shim.py FOLDER USER REAL ARGUMENT…

FOLDER/received.jsonl gets each mutating command line with its standard input, as base64. Files in FOLDER switch it:
`mute` (the command runs, its answer is kept back while the file is there), `garble` (it runs, and its answer is the
file's text with exit code 1), `refuse` (it does not run, and answers so), `say` (reads do not run and answer the
file's text with exit code 1), `cut` (so many next reads answer only half), `lost` (so many next reads answer that the
controller did not).
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time

READS = ("show", "ping", "-V", "--version")


def mutates(name: str, arguments: list[str]) -> bool:
    if name == "sbatch":
        return "--test-only" not in arguments
    return name == "scancel" or (name == "scontrol" and not any(part in READS for part in arguments))


def text_of(folder: str, switch: str) -> str | None:
    try:
        with open(os.path.join(folder, switch), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - starts often
            return file.read()
    except FileNotFoundError:
        return None


def counted_down(folder: str, switch: str) -> bool:
    left = int(text_of(folder, switch) or 0)
    if left:
        with open(os.path.join(folder, switch), "w", encoding="ascii") as file:  # noqa: PTH118, PTH123
            file.write(str(left - 1))
    return left > 0


def fail(text: str) -> int:
    sys.stderr.write(text + "\n")
    return 1


def write(folder: str, argv: list[str], name: str, arguments: list[str]) -> int:
    stdin = sys.stdin.buffer.read()
    entry = {"argv": [name, *arguments], "stdin": base64.b64encode(stdin).decode()}
    with open(os.path.join(folder, "received.jsonl"), "a", encoding="ascii") as file:  # noqa: PTH118, PTH123
        file.write(json.dumps(entry) + "\n")
    if (words := text_of(folder, "refuse")) is not None:
        return fail(words)
    done = subprocess.run(argv, input=stdin, capture_output=True, check=False)
    while text_of(folder, "mute") is not None:
        time.sleep(0.05)
    if (words := text_of(folder, "garble")) is not None:
        return fail(words)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    return done.returncode


def read(folder: str, argv: list[str]) -> int:
    if (words := text_of(folder, "say")) is not None:
        return fail(words)
    if counted_down(folder, "lost"):
        return fail("slurm_load_jobs error: Socket timed out on send/recv operation")
    if not counted_down(folder, "cut"):
        os.execv(argv[0], argv)
    done = subprocess.run(argv, capture_output=True, check=False)
    sys.stdout.buffer.write(done.stdout[: len(done.stdout) // 2 + 1])
    return done.returncode


def main(folder: str, user: str, real: str, arguments: list[str]) -> int:
    name = os.path.basename(real)  # noqa: PTH119
    become = ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"] if user != "root" else []
    argv = [*become, real, *arguments]
    return write(folder, argv, name, arguments) if mutates(name, arguments) else read(folder, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
