"""The supervisor's program, as files that a fresh interpreter can run."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

PROGRAM = ("supervisor.py", "processes.py", "jobstart.py")
START = """import sys
from adapters.local.supervisor import main
sys.exit(main(sys.argv[1]))
"""


def install_program(folder: Path) -> Path:
    """Write the supervisor's program, which needs a plain folder (we may be one file) and this version for as long
    as the worker lives (an upgrade may replace ours). Returns the file to run."""
    package = folder / "adapters" / "local"
    package.mkdir(parents=True, exist_ok=True)
    for empty in (folder / "adapters" / "__init__.py", package / "__init__.py"):
        empty.write_text("", "utf-8")
    source = importlib.resources.files("adapters.local")
    for name in PROGRAM:
        (package / name).write_bytes(source.joinpath(name).read_bytes())
    (folder / "run.py").write_text(START, "utf-8")
    return folder / "run.py"
