"""A double of squeue: the recorded answer; where one job was asked for and was not recorded so, the recorded list (from
which the adapter takes the job). Run as: squeue.py REPLAY RECORDINGS ARGUMENT…
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]).parent))
from replay import main  # type: ignore[import-not-found]

argv = ["squeue", *sys.argv[3:]]
said = io.TextIOWrapper(io.BytesIO())
with redirect_stderr(said):
    code = main(sys.argv[2], argv)
if code == 97 and "-j" in argv:
    at = argv.index("-j")
    code = main(sys.argv[2], [part for part in argv[:at] + argv[at + 2 :] if part != "-r"])
else:
    said.seek(0)
    sys.stderr.write(said.read())
sys.exit(code)
