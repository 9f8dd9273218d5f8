"""A double of squeue: the recorded answer; where one job was asked for and was not recorded so, the recorded list (from
which the adapter takes the job). Run as: squeue.py RECORDINGS ARGUMENT…
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.doubles.slurm_replay.replay import main

argv = ["squeue", *sys.argv[2:]]
said = io.TextIOWrapper(io.BytesIO())
with redirect_stderr(said):
    code = main(sys.argv[1], argv)
if code == 97 and "-j" in argv:
    at = argv.index("-j")
    code = main(sys.argv[1], [part for part in argv[:at] + argv[at + 2 :] if part != "-r"])
else:
    said.seek(0)
    sys.stderr.write(said.read())
sys.exit(code)
