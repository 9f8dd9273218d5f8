"""An LSF adapter on a double of LSF's commands, for tests."""

from __future__ import annotations

import os
import pwd
import time
from pathlib import Path
from typing import Any, cast

from adapters.lsf import open_lsf
from adapters.lsf.reader import LsfReader
from adapters.lsf.writer import LsfWriter
from adapters.model import Kind, Ref
from tests.doubles.lsf.double import LsfDouble

ME = pwd.getpwuid(os.getuid()).pw_name


def lsf(folder: Path, dialect: str = "ibm", without: tuple[str, ...] = ()) -> LsfDouble:
    """A double in which this user is an LSF administrator."""
    double = LsfDouble(folder / f"lsf-{dialect}", dialect, without)
    with double.world() as world:
        world["admins"] = [ME]
    return double


def opened(double: LsfDouble, **options: Any) -> tuple[LsfReader, LsfWriter]:
    """Reader and writer on a double; commands that the double was told to leave out are not found elsewhere."""
    environment = double.environment | {"PATH": str(double.bin)}
    reader, writer = open_lsf("lsf", environment=environment, **options)
    return cast("LsfReader", reader), cast("LsfWriter", writer)


def add(double: LsfDouble, **fields: Any) -> str:
    """A job of this user, started where its state says so; returns its id."""
    now = int(time.time())
    if fields.get("stat", "PEND") not in ("PEND", "PSUSP"):
        fields = {"start": now - 90, "hosts": ["node01"]} | fields
    return str(double.job(**({"user": ME, "submit": now - 100} | fields)))


def ref(id: str, kind: Kind = "job") -> Ref:
    return Ref("lsf", kind, id)
