"""Loaded by every Python that a test starts: if it comes to load `adapters.outgoing`, what leaves is checked there too.

Costs the programs nothing else; nothing of ours is imported here.
"""

from __future__ import annotations

import os
import sys


class _WhenLoaded:
    """Finds `adapters.outgoing` as everybody else would, and has it observed once it is loaded."""

    def find_spec(self, fullname, path=None, target=None):  # type: ignore[no-untyped-def]
        if fullname != "adapters.outgoing":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):  # type: ignore[no-untyped-def]
                load(module)
                _observe(module)

            spec.loader.exec_module = exec_module
        return spec


def _observe(outgoing):  # type: ignore[no-untyped-def]
    from collections import Counter
    from pathlib import Path

    found, sent = Path(os.environ["PILOTHOUSE_PROOF_FILE"]), Counter()

    def check(cluster, request):  # type: ignore[no-untyped-def]
        root = str(Path(__file__).resolve().parents[3])
        if root not in sys.path:
            sys.path.append(root)
        from tests.proof.ledger import check_on_disk

        check_on_disk(cluster, request, found, sent)

    outgoing.observe(check)


if "PILOTHOUSE_PROOF_FILE" in os.environ:
    sys.meta_path.insert(0, _WhenLoaded())
