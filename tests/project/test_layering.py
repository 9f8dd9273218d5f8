"""Every module imports alone, and brings with it nothing that its layer may not know."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.project.tree import ROOT, module_names

pytestmark = pytest.mark.timeout(300)

FORBIDDEN = {
    "adapters": ("widgets", "console", "textual", "rich"),
    "widgets": ("console", "httpx", "starlette", "uvicorn", "anthropic", "mcp"),
    "console": (),
    "console.mcp_server": ("textual", "widgets", "anthropic"),
}
# Loaded on first use only, whatever module is imported: each costs a second or more.
LAZY = ("anthropic", "mcp")
NEEDS_MCP = "console.mcp_server"  # imported by `pilothouse mcp` alone
# What a layer may load of other people's packages: loaded once before the forks, which then cost our own modules only.
ALLOWED = {
    "adapters": ("pydantic", "httpx", "starlette.applications", "uvicorn", "yaml"),
    "widgets": ("pydantic", "textual.app", "textual.widgets"),
    "console": ("pydantic", "httpx", "textual.app", "textual.widgets"),
    NEEDS_MCP: ("pydantic", "uvicorn", "mcp.server.mcpserver"),
}
# The lowest modules of ours, which most others import. They are tried first, and then loaded before the other forks.
GROUND = {
    "adapters": ("adapters.base", "adapters.text", "adapters.units"),
    "widgets": ("adapters.intents", "adapters.text"),
    "console": ("adapters.base", "adapters.text", "adapters.units", "console.config"),
    NEEDS_MCP: ("adapters.base", "adapters.text", "console.config"),
}
# An interpreter of its own for each layer forks once for each module: a fresh set of our modules each time.
SCRIPT = """
import gc, importlib, json, os, sys, traceback
sys.path.insert(0, sys.argv[1])
asked, found = json.loads(sys.stdin.read()), {}

def alone(*names):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        try:
            for name in names:
                importlib.import_module(name)
            told = {"modules": sorted(sys.modules), "error": None}
        except BaseException:
            told = {"modules": [], "error": traceback.format_exc()}
        with os.fdopen(writing, "w") as out:
            json.dump(told, out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        told = json.load(answer)
    os.wait()
    return told

for name in asked["allowed"]:
    importlib.import_module(name)
gc.freeze()
ground = alone(*asked["ground"])["modules"]
for name in asked["names"]:
    if name in ground:
        found[name] = alone(name)
for name in asked["ground"]:
    importlib.import_module(name)
gc.freeze()
for name in asked["names"]:
    if name not in ground:
        found[name] = alone(name)
for told in found.values():
    told["modules"] = sorted({name.partition(".")[0] for name in told["modules"]})
json.dump(found, sys.stdout)
"""


def layer_of(name: str) -> str:
    return NEEDS_MCP if name.startswith(f"{NEEDS_MCP}.") else name.split(".")[0]


@pytest.fixture(scope="module")
def imported_alone() -> dict[str, Any]:
    """Module -> the top-level modules that it alone loads, or the error."""
    found: dict[str, Any] = {}
    for layer, allowed in ALLOWED.items():
        names = [n for n in module_names() if layer_of(n) == layer and not n.endswith("__main__")]
        done = subprocess.run(
            [sys.executable, "-P", "-c", SCRIPT, str(ROOT)],
            input=json.dumps({"allowed": allowed, "ground": GROUND[layer], "names": names}),
            capture_output=True,
            text=True,
            timeout=250,
        )
        assert done.returncode == 0, done.stderr
        found |= json.loads(done.stdout)
    return found


def test_every_module_imports_alone(imported_alone: dict[str, Any]) -> None:
    errors = {name: told["error"] for name, told in imported_alone.items() if told["error"]}
    assert not errors, "\n".join(f"{name}: {error}" for name, error in errors.items())


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_a_layer_knows_only_what_is_below_it(layer: str, imported_alone: dict[str, Any]) -> None:
    banned = {*FORBIDDEN[layer], *(() if layer == NEEDS_MCP else LAZY)}
    found = {
        name: sorted(banned.intersection(told["modules"]) - excused(told["modules"]))
        for name, told in imported_alone.items()
        if layer_of(name) == layer
    }
    assert not {name: modules for name, modules in found.items() if modules}


def excused(modules: list[str]) -> set[str]:
    """httpx loads its own command line, and rich with it, where click and rich happen to be installed."""
    return {"rich"} if "httpx" in modules else set()


def test_the_check_sees_what_a_module_loads(imported_alone: dict[str, Any]) -> None:
    """The measuring itself: a widget does load textual, the model does not."""
    told = imported_alone
    assert "textual" in told["widgets.table"]["modules"]
    assert "textual" not in told["adapters.model"]["modules"]
    assert "adapters" in told["console.cli.output"]["modules"]
