"""``pilothouse config``: check or show the configuration."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from adapters.text import clean
from console.cli.actions import action_adder
from console.cli.actions import run_action as run
from console.cli.exits import DONE
from console.cli.opening import load_config
from console.cli.output import emit_json
from console.config import SITE_FILE, Config, user_file
from console.config_origin import flat, origins, sources

__all__ = ["configure", "run"]


def configure(parser: ArgumentParser) -> None:
    add = action_adder(parser)
    add("check", "read the files and say what is wrong with them: file, line, key", _check)
    add(
        "show", "what is in force after the site's and your own file are joined, and where each value comes from", _show
    )
    add("path", "where the files are looked for", _path)


def _check(args: Namespace) -> int:
    """Also what only the console would meet: keys that clash, themes that are none. Raises ConfigError."""
    from console.app import check  # the toolkit is loaded for this alone

    config = load_config(args)
    check(config)
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
    """Every value with where it comes from."""
    config = load_config(args)
    found = origins(config, sources(config), read_only=args.read_only)
    settings = config.model_dump(mode="json", exclude={"sources", "theme_fixed"})
    if args.json:
        emit_json({**settings, "origins": {".".join(key): said for key, said in found.items()}})
        return DONE
    lines = [(f"{clean('.'.join(key))} = {_shown(value)}", found[key]) for key, value in flat(settings)]
    width = min(48, max((len(text) for text, _ in lines), default=0))
    print(*(f"{text:<{width}}  # {said}" for text, said in lines), sep="\n")
    return DONE


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return clean(", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value))


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
