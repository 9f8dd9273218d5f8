"""Colours. The first theme uses the terminal's own sixteen, which suits any terminal, light or dark, and slow links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from textual.color import Color, ColorParseError
from textual.theme import Theme

ANSI = Theme(
    name="pilothouse-ansi",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    accent="ansi_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "border": "ansi_cyan",
        "border-blurred": "ansi_bright_black",
        "text-muted": "ansi_bright_black",
        "cursor-background": "ansi_blue",
        "cursor-foreground": "ansi_bright_white",
        "scrollbar": "ansi_bright_black",
        "scrollbar-background": "ansi_default",
        "input-selection-background": "ansi_bright_blue",
        "input-selection-foreground": "ansi_black",
    },
)

DUSK = Theme(
    name="pilothouse-dusk",
    primary="#539bf5",
    secondary="#76e3ea",
    warning="#e0a840",
    error="#f47067",
    success="#6bc46d",
    accent="#7cc4e8",
    foreground="#cdd9e5",
    background="#1b2129",
    surface="#1b2129",
    panel="#262e38",
    boost="#2d3640",
    variables={
        "border": "#539bf5",
        "border-blurred": "#434d59",
        "text-muted": "#8b97a4",
        "cursor-background": "#2f5d92",
        "cursor-foreground": "#ffffff",
        "scrollbar": "#434d59",
        "scrollbar-background": "#1b2129",
    },
)

PAPER = Theme(
    name="pilothouse-paper",
    dark=False,
    primary="#2a6db0",
    secondary="#3a8c8c",
    warning="#9a6700",
    error="#c0362c",
    success="#2f7d32",
    accent="#1f6f8b",
    foreground="#2b3138",
    background="#fbfaf7",
    surface="#fbfaf7",
    panel="#ecebe5",
    boost="#e2e1da",
    variables={
        "border": "#2a6db0",
        "border-blurred": "#c3c1b8",
        "text-muted": "#6d6f72",
        "cursor-background": "#2a6db0",
        "cursor-foreground": "#ffffff",
        "scrollbar": "#c3c1b8",
        "scrollbar-background": "#fbfaf7",
    },
)

HARBOUR = Theme(
    name="pilothouse-harbour",
    primary="#5fb3a1",
    secondary="#7fb7d6",
    warning="#e3b778",
    error="#e07a7a",
    success="#8fc98b",
    accent="#7fd1c1",
    foreground="#d5e0dc",
    background="#12201f",
    surface="#12201f",
    panel="#1b2e2c",
    boost="#223836",
    variables={
        "border": "#5fb3a1",
        "border-blurred": "#35504c",
        "text-muted": "#84a09a",
        "cursor-background": "#2d6b60",
        "cursor-foreground": "#ffffff",
        "scrollbar": "#35504c",
        "scrollbar-background": "#12201f",
    },
)

CONTRAST = Theme(
    name="pilothouse-contrast",
    primary="#4da6ff",
    secondary="#00e5ff",
    warning="#ffd500",
    error="#ff5c5c",
    success="#5cff5c",
    accent="#00e5ff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    boost="#2a2a2a",
    variables={
        "border": "#ffffff",
        "border-blurred": "#8a8a8a",
        "text-muted": "#c4c4c4",
        "cursor-background": "#ffd500",
        "cursor-foreground": "#000000",
        "scrollbar": "#8a8a8a",
        "scrollbar-background": "#000000",
    },
)

THEMES: tuple[Theme, ...] = (ANSI, DUSK, HARBOUR, PAPER, CONTRAST)
DEFAULTS: Mapping[str, str] = {"cursor-background": "#2f5d92", "cursor-foreground": "#ffffff"}
"""Variables of ours that the toolkit's own themes do not set."""
COLOURS = (
    "primary", "secondary", "warning", "error", "success", "accent", "foreground", "background", "surface", "panel",
    "boost",
)  # fmt: skip
VARIABLES = ("border", "border-blurred", "text-muted", "cursor-background", "cursor-foreground")


class ThemeError(ValueError):
    """A theme of the configuration cannot be; the message names the colour."""


def default_theme(*, no_color: bool, truecolor: bool) -> str:
    """The theme where none is configured: the terminal's own colours unless it tells that it has all of them."""
    return ANSI.name if no_color or not truecolor else DUSK.name


def made(name: str, colours: Mapping[str, str]) -> Theme:
    """A theme of the configuration: colours by name, on top of `based_on`, one of ours. Raises ThemeError."""
    known = {theme.name: theme for theme in THEMES}
    base = known.get(colours.get("based_on", DUSK.name))
    if base is None:
        raise ThemeError(f"based_on: there is no theme {colours['based_on']!r}; there are {', '.join(known)}.")
    given = {key: value for key, value in colours.items() if key != "based_on"}
    for key, value in given.items():
        if key not in (*COLOURS, *VARIABLES):
            raise ThemeError(f"{key}: there is no such colour; there are {', '.join((*COLOURS, *VARIABLES))}.")
        try:
            Color.parse(value)
        except ColorParseError as error:
            raise ThemeError(f"{key}: {value!r} is no colour: write #rrggbb.") from error
    theme = replace(base, name=name, variables=base.variables | {k: v for k, v in given.items() if k in VARIABLES})
    for key in COLOURS:
        if key in given:
            setattr(theme, key, given[key])
    return theme
