"""What is imported is declared, what is declared is pinned, and no machine shows in the tree."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.project.tree import PACKAGES, ROOT, tracked_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OWN = {*PACKAGES, "tests", "screenshots"}
# pytest brings `_pytest`; setuptools builds the wheel.
BUILD = {"setuptools", "pip"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*, tests: bool) -> set[str]:
    """Names of the distributions that pyproject.toml asks for."""
    wanted = list(PROJECT["dependencies"])
    if tests:
        wanted += [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    return {normal(re.split(r"[\s<>=!~;\[]", line, maxsplit=1)[0]) for line in wanted}


def imported(paths: list[Path]) -> dict[str, set[str]]:
    """Top-level third-party module -> the files that import it, anywhere in them."""
    found: dict[str, set[str]] = {}
    for path in paths:
        for item in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(item, ast.Import):
                names = [alias.name for alias in item.names]
            elif isinstance(item, ast.ImportFrom) and item.module and not item.level:
                names = [item.module]
            for name in names:
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top not in OWN:
                    found.setdefault(top, set()).add(str(path.relative_to(ROOT)))
    return found


def python_files(*tops: str) -> list[Path]:
    return [path for path in tracked_files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in tops]


@pytest.mark.parametrize(("tops", "tests"), [(PACKAGES, False), (("tests", "screenshots"), True)])
def test_every_import_is_declared(tops: tuple[str, ...], tests: bool) -> None:
    providers = packages_distributions()
    missing = {}
    for module, files in imported(python_files(*tops)).items():
        names = {normal(name) for name in providers.get(module, [module])}
        if not names & (declared(tests=tests) | (BUILD if tests else set())):
            missing[module] = sorted(files)
    assert not missing


def test_every_declared_distribution_is_used() -> None:
    providers = packages_distributions()
    used = {normal(name) for module in imported(python_files(*PACKAGES)) for name in providers.get(module, [module])}
    assert declared(tests=False) - used == set()


def test_pins_are_exact_and_cover_what_is_declared() -> None:
    lines = [line for line in (ROOT / "pins.txt").read_text().splitlines() if line and not line.startswith("#")]
    pins = {}
    for line in lines:
        found = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)", line)
        assert found, f"{line!r} is not a plain name==version"
        pins[normal(found[1])] = found[2]
    assert declared(tests=True) - set(pins) == set()


REGISTRY = re.compile(
    r"https?://(?:[\w.-]+@)?(?:files\.pythonhosted|pypi|test\.pypi)\.[\w.-]+|--(?:extra-)?index-url|--find-links",
    re.IGNORECASE,
)
TEXT = {".py", ".md", ".toml", ".txt", ".tcss", ".cfg", ".yml", ".yaml", ".json", ".jsonl", ".svg", ".sh", ""}


def places_of_this_machine() -> re.Pattern[str]:
    """Where this checkout and its environment are: a path to them in the tree would hold on no other machine."""
    return re.compile("|".join(re.escape(place) + r"(?![\w.-])" for place in {str(ROOT), sys.prefix}))


def test_no_path_of_this_machine_and_no_registry_is_in_the_tree() -> None:
    found = []
    here = places_of_this_machine()
    for path in tracked_files():
        if path.suffix not in TEXT or path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if hit := here.search(line) or REGISTRY.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {hit[0]}")
    assert not found


@pytest.mark.parametrize(
    "text", ["https://pypi.org/simple", "pip install --index-url x", "https://files.pythonhosted.org/x"]
)
def test_the_check_finds_a_registry(text: str) -> None:
    assert REGISTRY.search(text)


def test_the_check_finds_a_path_of_this_machine() -> None:
    here = places_of_this_machine()
    assert here.search(f"cd {ROOT}/tests") and here.search(f'"{ROOT}"')
    assert not here.search(f"cd {ROOT}-other")
