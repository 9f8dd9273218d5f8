"""What each command of the double runs: find the recorded answer of this command line and give it.

    replay.py RECORDINGS COMMAND ARGUMENT…

It starts often, so it imports little and is run without site packages.
"""

from __future__ import annotations

import json
import re
import sys

_TOKEN = re.compile(r"~[0-9a-f]{16}~|\^[0-9a-f]{16}\^")
_NAMES = {"~": "<<FIELD>>", "^": "<<RECORD>>"}


def main(recordings: str, argv: list[str]) -> int:
    tokens: dict[str, str] = {}
    asked = []
    for part in argv:
        for token in _TOKEN.findall(part):
            tokens[_NAMES[token[0]]] = token
            part = part.replace(token, _NAMES[token[0]])
        asked.append(re.sub(r"^uts\d+$", "uts<<TIME>>", part))
    with open(recordings, encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import
        answers = json.load(file)
    for answer in answers:
        if answer["argv"] == asked:
            break
    else:
        sys.stderr.write(f"no recorded answer for: {' '.join(asked)}\n")
        return 97
    out = answer["stdout"].encode("latin-1")
    for name, token in tokens.items():
        out = out.replace(name.encode(), token.encode())
    sys.stdout.buffer.write(out)
    sys.stderr.buffer.write(answer["stderr"].encode("latin-1"))
    return int(answer["rc"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
