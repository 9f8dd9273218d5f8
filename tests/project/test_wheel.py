"""The wheel, installed into an empty environment, is the whole program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.project.tree import PACKAGES, ROOT, tracked_files


def run(argv: list[str | Path], cwd: Path) -> str:
    done = subprocess.run([str(part) for part in argv], cwd=cwd, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files under version control and nothing else."""
    source = tmp_path_factory.mktemp("source")
    for path in tracked_files():
        if path.relative_to(ROOT).parts[0] in (*PACKAGES, "pyproject.toml", "README.md", "LICENSE"):
            target = source / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    out = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source], source)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment that holds the wheel; its libraries are those of the environment of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    run([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel], folder)
    site = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip())
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "pilothouse"


def test_it_holds_every_module_and_style_sheet(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if path.relative_to(ROOT).parts[0] in PACKAGES and path.suffix in (".py", ".tcss", ".typed")
    }
    assert wanted - names == set()
    assert not [name for name in names if name.startswith(("tests", "screenshots", "docs"))]


def test_it_runs_and_is_what_was_installed(installed: Path, tmp_path: Path) -> None:
    assert "usage: pilothouse" in run([installed, "--help"], tmp_path)
    where = run([installed.parent / "python", "-c", "import console; print(console.__file__)"], tmp_path)
    assert where.startswith(str(installed.parent.parent))
    told = json.loads(run([installed, "config", "path", "--json"], tmp_path))
    assert told["user"] == str(Path(os.environ["XDG_CONFIG_HOME"]) / "pilothouse" / "config.toml")


def test_it_runs_a_cluster(installed: Path, tmp_path: Path) -> None:
    """`demo --headless`: one line of JSON when it is ready, jobs that run, nothing left at its end."""
    with subprocess.Popen([installed, "demo", "--headless"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None
            told = json.loads(demo.stdout.readline())
            assert Path(told["admin_key_file"]).stat().st_mode & 0o777 == 0o600
            nodes = run([installed, "nodes", "--json", "--config", told["config"]], tmp_path).splitlines()
            assert len(nodes) == 3
            assert {json.loads(node)["slots_total"] for node in nodes} == {8}
        finally:
            demo.send_signal(signal.SIGTERM)
            code = demo.wait(30)
    assert code == 0
    assert not Path(told["config"]).exists()
    assert not Path(told["admin_key_file"]).exists()
