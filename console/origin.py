"""Makes sure that `console`, `widgets` and `adapters` are this distribution's own.

The names are generic. A `PYTHONPATH` with an empty entry puts the working directory in front of the installed
packages, and an `./adapters` there would be run instead of ours. `pin()` has the import system look for the three
names in one folder only: the one that holds this very package. The start script (console/bin/pilothouse) does the same
for `console` itself before any of it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

PACKAGES = ("console", "widgets", "adapters")
ROOT = Path(__file__).resolve().parent.parent


class ForeignPackage(Exception):
    """A package of another project has been loaded under one of our names."""


class OwnPackages(MetaPathFinder):
    """Finds our top-level packages in `root` and nowhere else."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, [str(self.root)]) if fullname in PACKAGES else None


def pin(root: Path = ROOT) -> None:
    """From here on import our packages from `root` only. Raises ForeignPackage where one is loaded from elsewhere."""
    for name in PACKAGES:
        loaded = sys.modules.get(name)
        origin = getattr(loaded, "__file__", None)
        if loaded is not None and (origin is None or Path(origin).resolve().parent.parent != root):
            raise ForeignPackage(f"{name!r} was loaded from {origin}, which does not belong to this one in {root}.")
    if not any(isinstance(finder, OwnPackages) for finder in sys.meta_path):
        sys.meta_path.insert(0, OwnPackages(root))
