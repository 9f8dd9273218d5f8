"""Which adapter opens which type of cluster: the one table. An adapter is imported when a profile asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

from adapters.base import Reader, Unsupported, Writer
from console.profiles import NativeProfile, Profile, ReplayProfile

if TYPE_CHECKING:
    from adapters.native.token import TokenSource

Opener: TypeAlias = Callable[[str, Profile], tuple[Reader, Writer]]


def open_cluster(name: str, profile: Profile) -> tuple[Reader, Writer]:
    """Reader and Writer of a cluster; nothing is asked of it yet. Raises AdapterError."""
    opener = OPENERS.get(profile.type)
    if opener is None:
        raise Unsupported(
            f"This version cannot open {name}: it has no adapter for {profile.type}.",
            f"There are: {', '.join(sorted(OPENERS))}.",
        )
    return opener(name, profile)


def _native(name: str, profile: Profile) -> tuple[Reader, Writer]:
    from adapters.native import open_native

    settings = cast("NativeProfile", profile)
    return open_native(name, settings.url, _token(settings), allow_insecure=settings.allow_insecure)


def _token(profile: NativeProfile) -> TokenSource:
    from adapters.native.token import environment_token, file_token, fixed_token

    if profile.token_file is not None:
        return file_token(profile.token_file)
    return environment_token(profile.token_env) if profile.token_env is not None else fixed_token(None)


def _replay(name: str, profile: Profile) -> tuple[Reader, Writer]:
    from adapters.replay import open_replay

    settings = cast("ReplayProfile", profile)
    return open_replay(name, settings.file, speed=settings.speed)


OPENERS: Mapping[str, Opener] = MappingProxyType({"native": _native, "replay": _replay})
