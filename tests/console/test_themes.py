"""Themes: ours, and those of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from console.app import check
from console.config import Config
from console.config_problems import ConfigError
from console.themes import ANSI, THEMES, ThemeError, default_theme, made
from tests.ui.scene import open_scene


def test_the_terminals_own_colours_are_the_default_but_for_a_terminal_that_has_all() -> None:
    assert default_theme(no_color=True, truecolor=True) == ANSI.name
    assert default_theme(no_color=False, truecolor=False) == ANSI.name
    assert default_theme(no_color=False, truecolor=True) != ANSI.name
    assert len(THEMES) == 5


@pytest.mark.parametrize("theme", [theme for theme in THEMES if not theme.ansi], ids=lambda theme: theme.name)
def test_text_stands_out_from_what_is_behind_it(theme) -> None:  # type: ignore[no-untyped-def]
    """WCAG 2 contrast: 4.5 for text, 3 for what is muted."""

    def light(color: Color) -> float:
        parts = [c / 255 for c in color.rgb]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    def contrast(one: str, other: str) -> float:
        a, b = sorted((light(Color.parse(one)), light(Color.parse(other))), reverse=True)
        return (a + 0.05) / (b + 0.05)

    behind = theme.background
    for name in ("foreground", "success", "warning", "error", "accent"):
        assert contrast(getattr(theme, name), behind) >= 4.5, name
    assert contrast(theme.variables["text-muted"], behind) >= 3
    assert contrast(theme.variables["cursor-foreground"], theme.variables["cursor-background"]) >= 4.5


def test_a_theme_of_ones_own_stands_on_one_of_ours() -> None:
    theme = made("mine", {"based_on": "pilothouse-paper", "primary": "#ff0000", "cursor-background": "#000000"})
    assert theme.primary == "#ff0000" and not theme.dark
    assert theme.variables["cursor-background"] == "#000000" and theme.variables["border"]


@pytest.mark.parametrize(
    ("colours", "words"),
    [({"primry": "#fff"}, "no such colour"), ({"primary": "reddish"}, "no colour"), ({"based_on": "x"}, "no theme")],
)
def test_what_is_no_theme_is_said_before_the_screen_is_taken(colours: dict[str, str], words: str) -> None:
    with pytest.raises(ThemeError, match=words):
        made("mine", colours)
    with pytest.raises(ConfigError, match=words):
        check(Config.model_validate({"version": 1, "themes": {"mine": colours}, "keys": {"help": "f1"}}))


async def test_every_theme_paints_every_pane(tmp_path: Path) -> None:
    async with open_scene(tmp_path, more={"themes": {"mine": {"primary": "#123456"}}}) as scene:
        for name in scene.app.themes:
            scene.app.choose_theme(name)
            await scene.settle()
            assert scene.app.theme == name and "train-resnet-1" in scene.text
