"""``pilothouse config``: check or show the configuration."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from adapters.text import clean
from console.cli.actions import action_adder
from console.cli.actions import run_action as run
from console.cli.exits import DONE
from console.cli.opening import load_config
from console.cli.output import emit_json
from console.config import SITE_FILE, Config, user_file

__all__ = ["configure", "run"]


def configure(parser: ArgumentParser) -> None:
    add = action_adder(parser)
    add("check", "read the files and say what is wrong with them: file, line, key", _check)
    add("show", "what is in force after the site's and your own file are joined", _show)
    add("path", "where the files are looked for", _path)


def _check(args: Namespace) -> int:
    config = load_config(args)
    if args.json:
        emit_json({"ok": True, "sources": [str(path) for path in config.sources], "clusters": sorted(config.clusters)})
        return DONE
    for path in config.sources:
        print(f"read: {clean(str(path))}")
    if not config.sources:
        print("no file: the settings are those of the program")
    print(f"clusters: {', '.join(config.clusters) or 'none'}; default: {config.default or 'none'}")
    return DONE


def _show(args: Namespace) -> int:
    config = load_config(args)
    settings = config.model_dump(mode="json", exclude={"sources"})
    if args.json:
        emit_json(settings)
    else:
        print(*(f"{key} = {value}" for key, value in _flat(settings)), sep="\n")
    return DONE


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys and values, those that are not set left out."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{clean(str(key))}.")
        elif value is not None:
            yield f"{prefix}{clean(str(key))}", clean(str(value).lower() if isinstance(value, bool) else str(value))


def _path(args: Namespace) -> int:
    places = {"site": str(SITE_FILE), "user": str(args.config or user_file())}
    if args.json:
        emit_json(places)
    else:
        print(*(f"{name}: {clean(place)}" for name, place in places.items()), sep="\n")
    return DONE


def clusters_of(config: Config) -> list[str]:
    """Names, the default one first."""
    default = config.default
    return sorted(config.clusters, key=lambda name: (name != default, name))
