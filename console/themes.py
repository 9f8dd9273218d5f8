"""Colours. The first theme uses the terminal's own sixteen, which suits any terminal, light or dark, and slow links."""

from __future__ import annotations

from collections.abc import Mapping

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

THEMES: tuple[Theme, ...] = (ANSI, DUSK)
DEFAULTS: Mapping[str, str] = {"cursor-background": "#2f5d92", "cursor-foreground": "#ffffff"}
"""Variables of ours that the toolkit's own themes do not set."""


def default_theme(*, no_color: bool, truecolor: bool) -> str:
    """The theme where none is configured: the terminal's own colours unless it tells that it has all of them."""
    return ANSI.name if no_color or not truecolor else DUSK.name
