"""Settings: the person's file and the site's, read, checked and joined so that the stricter wins.

The person's file is `config.toml` in the platform's configuration folder of `pilothouse`; the site's is
`/etc/pilothouse/config.toml`. Neither has to exist. Loading needs neither Textual nor an HTTP client.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import platformdirs
from pydantic import Field, ValidationError, field_validator

from adapters.intents import INTENTS
from console.chat.settings import ChatSettings, join_chat
from console.config_problems import ConfigError, Problem, problems_of, suggestion
from console.profiles import AgentLimits, AnyProfile, Hooks, Notices, Profile, Scope, Section, Words

__all__ = ["SITE_FILE", "Config", "ConfigError", "Problem", "load", "trusted_text", "user_file"]

SITE_FILE = Path("/etc/pilothouse/config.toml")
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
P = TypeVar("P", bound=Section)


class Config(Section):
    """Everything that can be set. `sources` are the files it came from.

    Args:
        read_only: no write at all, whoever asks.
        forbid_unattended: `--yes` is refused: a person must have seen each plan.
        hidden_actions: verbs of intents that are neither offered nor sent, whoever asks.
        forbid_hooks: no command of a person's own is run.
        max_targets: the most objects that one action may be aimed at.
        audit_anchor: ``syslog`` also sends the head of the audit log there after each line.
        agents: the scope that agents begin with.
        chat: the model that answers in the chat, if any.
        fps: the most times a second that the screen is painted.
        keys: id of a command -> its key or keys.
        themes: name -> colours of a theme of one's own, on top of the one it is `based_on`.
        filters: name of a saved filter -> its text; the palette offers them.
        columns: pane (``jobs``, ``queues``, ``nodes``) -> ids of its columns, in their order.
        theme_fixed: the theme is the site's, and what is chosen in the console is not remembered.
    """

    version: Literal[1]
    default_cluster: str | None = None
    read_only: bool = False
    forbid_unattended: bool = False
    hidden_actions: Words = ()
    forbid_hooks: bool = False
    max_targets: int = Field(1000, ge=1, le=100_000)
    poll_floor: float | None = Field(None, ge=0.1, le=86400)
    calls_per_minute: float | None = Field(None, gt=0, le=6000)
    audit_anchor: Literal["none", "syslog"] = "none"
    agents: AgentLimits = AgentLimits()
    chat: ChatSettings = ChatSettings()
    theme: str | None = None
    fps: int = Field(15, ge=1, le=60)
    mouse: bool = True
    keys: dict[str, str | list[str]] = Field(default_factory=dict)
    themes: dict[str, dict[str, str]] = Field(default_factory=dict)
    filters: dict[str, str] = Field(default_factory=dict)
    columns: dict[Literal["jobs", "queues", "nodes"], list[str]] = Field(default_factory=dict)
    hooks: Hooks = Hooks()
    notices: Notices = Notices()
    clusters: dict[str, AnyProfile] = Field(default_factory=dict)
    theme_fixed: bool = Field(False, exclude=True)
    sources: tuple[Path, ...] = Field(default=(), exclude=True)

    @field_validator("sources", "theme_fixed", mode="before")
    @classmethod
    def _not_in_a_file(cls, value: Any) -> Any:
        raise ValueError("unknown key")

    @field_validator("hidden_actions")
    @classmethod
    def _verbs(cls, verbs: tuple[str, ...]) -> tuple[str, ...]:
        for verb in verbs:
            if verb not in INTENTS:
                raise ValueError(f"{verb!r} is no action; {suggestion(verb, INTENTS)}")
        return verbs

    @field_validator("clusters")
    @classmethod
    def _names(cls, clusters: dict[str, Profile]) -> dict[str, Profile]:
        for name in clusters:
            if not _NAME.match(name):
                raise ValueError(f"{name!r} is no name for a cluster: letters, digits, dot, dash and underscore")
        return clusters

    @property
    def default(self) -> str | None:
        """The cluster that is meant where none is named."""
        return self.default_cluster or next(iter(self.clusters), None)


def user_file() -> Path:
    """Where the person's configuration is."""
    return platformdirs.user_config_path("pilothouse", appauthor=False) / "config.toml"


def load(path: Path | str | None = None, *, site: Path = SITE_FILE, read_only: bool = False) -> Config:
    """Read the configuration: `path`, or the person's own file, and the site's.

    Raises ConfigError with every problem of the file at fault. A file that was named must exist.
    """
    person = _read(Path(path).expanduser()) if path is not None else _read_if_there(user_file())
    by_site = _read_if_there(site)
    if by_site is not None:
        by_site = by_site.model_copy(update={"theme_fixed": by_site.theme is not None})
    config = (
        _join(by_site, person) if by_site and person else person or by_site or Config.model_validate({"version": 1})
    )
    config = _limit(config, read_only or config.read_only)
    default = config.default_cluster
    if default is not None and default not in config.clusters:
        hint = suggestion(default, config.clusters) if config.clusters else "no cluster is configured"
        file = config.sources[-1] if config.sources else user_file()
        raise ConfigError([Problem(file, None, "default_cluster", f"there is no cluster {default!r}; {hint}")])
    return config


def _read_if_there(path: Path) -> Config | None:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError([Problem(path, None, "", f"cannot be read: {error.strerror}")]) from error
    return _read(path)


def _read(path: Path) -> Config:
    text = trusted_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([_not_toml(path, text, error)], "The file must be TOML 1.0.") from error
    try:
        config = Config.model_validate(data, context={"folder": path.absolute().parent})
    except ValidationError as error:
        raise ConfigError(problems_of(error, path, text, Config)) from error
    return config.model_copy(update={"sources": (path,)})


def trusted_text(path: Path) -> str:
    """The text of the file, which nobody else may be able to change: it says where tokens are sent."""
    try:
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            raw = file.read()
    except FileNotFoundError as error:
        raise ConfigError([Problem(path, None, "", "there is no such file")]) from error
    except OSError as error:
        raise ConfigError([Problem(path, None, "", f"cannot be read: {error.strerror}")]) from error
    if info.st_uid not in (0, os.geteuid()) or (stat.S_ISREG(info.st_mode) and info.st_mode & stat.S_IWOTH):
        told = "others can change this file, and it says where your tokens are sent"
        raise ConfigError([Problem(path, None, "", told)], f"chown it to yourself, and: chmod o-w {path}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError([Problem(path, line, "", f"byte 0x{raw[error.start]:02x} is not UTF-8 text")]) from error


def _not_toml(path: Path, text: str, error: tomllib.TOMLDecodeError) -> Problem:
    told = str(error)
    at = re.search(r" \(at line (\d+), column \d+\)$", told)
    line = int(at[1]) if at else max(1, len(text.splitlines()))
    return Problem(
        path, line, "", f"no TOML: {told[: at.start()] if at else told.removesuffix(' (at end of document)')}"
    )


def _join(site: Config, person: Config) -> Config:
    """The site's settings, the person's over them, and of what limits the stricter."""
    clusters: dict[str, Any] = dict(site.clusters)
    for name, profile in person.clusters.items():
        theirs = site.clusters.get(name)
        clusters[name] = _join_profile(theirs, profile) if theirs and theirs.type == profile.type else profile
    joined = _over(site, person)
    return joined.model_copy(
        update={
            "read_only": site.read_only or person.read_only,
            "forbid_unattended": site.forbid_unattended or person.forbid_unattended,
            "hidden_actions": tuple(dict.fromkeys((*site.hidden_actions, *person.hidden_actions))),
            "forbid_hooks": site.forbid_hooks or person.forbid_hooks,
            "hooks": _over(site.hooks, person.hooks),
            "notices": _over(site.notices, person.notices),
            "theme_fixed": site.theme is not None and person.theme is None,
            "max_targets": min(site.max_targets, person.max_targets),
            "poll_floor": _most(site.poll_floor, person.poll_floor),
            "calls_per_minute": _least(site.calls_per_minute, person.calls_per_minute),
            "audit_anchor": "syslog" if "syslog" in (site.audit_anchor, person.audit_anchor) else "none",
            "agents": AgentLimits(
                owners="mine" if "mine" in (site.agents.owners, person.agents.owners) else person.agents.owners,
                queues=_common(site.agents.queues, person.agents.queues),
                clusters=_common(site.agents.clusters, person.agents.clusters),
            ),
            "chat": join_chat(site.chat, person.chat),
            "keys": {**site.keys, **person.keys},
            "themes": {**site.themes, **person.themes},
            "filters": {**site.filters, **person.filters},
            "columns": {**site.columns, **person.columns},
            "clusters": clusters,
            "sources": site.sources + person.sources,
        }
    )


def _limit(config: Config, read_only: bool) -> Config:
    """What limits all clusters, put into each of them."""
    clusters = {
        name: profile.model_copy(
            update={
                "read_only": read_only or profile.read_only,
                "poll_floor": _most(config.poll_floor, profile.poll_floor),
                "calls_per_minute": _least(config.calls_per_minute, profile.calls_per_minute),
            }
        )
        for name, profile in config.clusters.items()
    }
    return config.model_copy(update={"clusters": clusters, "read_only": read_only})


def _join_profile(site: Profile, person: Profile) -> Profile:
    limits: dict[str, Any] = {
        "read_only": site.read_only or person.read_only,
        "poll_floor": _most(site.poll_floor, person.poll_floor),
        "calls_per_minute": _least(site.calls_per_minute, person.calls_per_minute),
        "scope": Scope(
            owners="mine" if "mine" in (site.scope.owners, person.scope.owners) else "all",
            queues=_common(site.scope.queues, person.scope.queues),
            actions=_common(site.scope.actions, person.scope.actions),
        ),
    }
    if "trust_elicitation" in site.model_fields_set:
        limits["trust_elicitation"] = site.trust_elicitation and person.trust_elicitation
    if "allow_insecure" in type(site).model_fields:
        limits["allow_insecure"] = getattr(site, "allow_insecure", False) and getattr(person, "allow_insecure", False)
    for mine, other in (("token_file", "token_env"), ("token_env", "token_file")):
        if getattr(person, mine, None) is not None:
            limits[other] = None
    return _over(site, person).model_copy(update=limits)


def _over(under: P, over: P) -> P:
    """`under`, with every value that `over` has set."""
    values: Mapping[str, Any] = {name: getattr(over, name) for name in over.model_fields_set}
    return under.model_copy(update=dict(values))


def _most(a: float | None, b: float | None) -> float | None:
    return max((x for x in (a, b) if x is not None), default=None)


def _least(a: float | None, b: float | None) -> float | None:
    return min((x for x in (a, b) if x is not None), default=None)


def _common(a: tuple[str, ...] | None, b: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if a is None or b is None:
        return b if a is None else a
    return tuple(word for word in a if word in b)
