"""The command runs its own `console`, `widgets` and `adapters`, whatever lies in the working directory."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

COMMAND = Path(sysconfig.get_path("scripts")) / "pilothouse"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A working directory with packages of our names, each of which leaves a file when it is run."""
    for name in ("console", "widgets", "adapters"):
        (tmp_path / name).mkdir()
        code = f"import pathlib; pathlib.Path({str(tmp_path / f'{name}-was-run')!r}).touch()\n"
        for module in ("__init__", "__main__", "text", "model"):
            (tmp_path / name / f"{module}.py").write_text(code)
    return tmp_path


def run(argv: list[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=60)


def sprung(trap: Path) -> list[str]:
    return sorted(path.name for path in trap.glob("*-was-run"))


@pytest.mark.parametrize("pythonpath", ["/x:", ":/x", ".", "{trap}", "/x::/y"])
def test_packages_of_the_working_directory_are_not_run(trap: Path, pythonpath: str) -> None:
    pythonpath = pythonpath.format(trap=trap)
    done = run([str(COMMAND), "config", "show", "--config", "absent.toml"], trap, PYTHONPATH=pythonpath)
    assert sprung(trap) == []
    assert done.returncode == 2
    assert "absent.toml: there is no such file" in done.stderr


def test_the_processes_that_it_starts_are_its_own_too(trap: Path) -> None:
    """Server and workers of the demo are started from the same working directory."""
    argv = [str(COMMAND), "demo", "--headless"]
    with subprocess.Popen(argv, cwd=trap, env=os.environ | {"PYTHONPATH": "/x:"}, stdout=subprocess.PIPE) as demo:
        try:
            assert demo.stdout is not None and b'"url"' in demo.stdout.readline()
        finally:
            demo.terminate()
            demo.wait(30)
    assert sprung(trap) == []


def test_the_trap_works(trap: Path) -> None:
    """The same working directory does run its packages where nothing is done about it."""
    run([sys.executable, "-c", "import adapters"], trap, PYTHONPATH="/x:")
    assert sprung(trap) == ["adapters-was-run"]


def test_our_own_adapters_are_found_behind_foreign_ones(trap: Path) -> None:
    """With `console` already ours, `./adapters` in front of the path is passed over."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import console.__main__ as m\n"
        f"sys.path.insert(0, {str(trap)!r}); m.origin.pin(); import adapters.text, widgets; print(adapters.__file__)"
    )
    done = run([sys.executable, "-P", "-c", code], trap)
    assert done.stdout.strip() == str(ROOT / "adapters" / "__init__.py")
    assert sprung(trap) == []


def test_a_foreign_package_that_is_loaded_already_is_refused(trap: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(trap)!r}); import adapters; sys.path[0] = {str(ROOT)!r}\n"
        "from console.__main__ import main; sys.exit(main(['--version']))"
    )
    done = run([sys.executable, "-P", "-c", code], trap)
    assert done.returncode == 1
    assert "'adapters' was loaded from" in done.stderr and str(trap) in done.stderr
    assert "Traceback" not in done.stderr


def test_installed_into_a_folder_of_pythonpath_it_still_runs(tmp_path: Path) -> None:
    """`pip install --target DIR` and PYTHONPATH=DIR: the only place where our packages are."""
    target = tmp_path / "target"
    target.mkdir()
    for name in ("console", "widgets", "adapters"):
        (target / name).symlink_to(ROOT / name)
    script = ROOT / "console" / "bin" / "pilothouse"
    done = run([sys.executable, "-S", str(script), "--version"], tmp_path, PYTHONPATH=str(target))
    assert done.stdout.startswith("pilothouse "), done.stderr
