"""Which adapter opens which type of cluster: the one table. An adapter is imported when a profile asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

from adapters.base import Reader, Unsupported, Writer
from console.profiles import Profile

if TYPE_CHECKING:
    from pathlib import Path

    from adapters.native.token import TokenSource
    from console.profiles import KubernetesProfile, LsfProfile, NativeProfile, ReplayProfile, SlurmProfile

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
    return open_native(
        name,
        settings.url,
        _token(settings),
        allow_insecure=settings.allow_insecure,
        verify=True if settings.ca_file is None else str(settings.ca_file),
        owner=settings.owner,
        poll_floor=settings.poll_floor or 0.0,
    )


def _token(profile: NativeProfile | SlurmProfile) -> TokenSource:
    from adapters.native.token import environment_token, file_token, fixed_token

    if profile.token_file is not None:
        return file_token(profile.token_file)
    return environment_token(profile.token_env) if profile.token_env is not None else fixed_token(None)


def _slurm(name: str, profile: Profile) -> tuple[Reader, Writer]:
    from adapters.slurm import open_slurm

    settings = cast("SlurmProfile", profile)
    return open_slurm(
        name,
        slurm_conf=_text(settings.slurm_conf),
        slurm_cluster=settings.slurm_cluster,
        bin_dir=_text(settings.bin_dir),
        owner=settings.owner,
        poll_floor=settings.poll_floor,
        calls_per_minute=settings.calls_per_minute,
        rest_url=settings.rest_url,
        rest_socket=_text(settings.rest_socket),
        rest_user=settings.rest_user,
        token=_token(settings) if settings.rest_url is not None else None,
    )


def _lsf(name: str, profile: Profile) -> tuple[Reader, Writer]:
    from adapters.lsf import open_lsf

    settings = cast("LsfProfile", profile)
    given = {
        "unit_for_limits": settings.unit_for_limits,
        "job_slot_limits": settings.job_slot_limits,
        "user": settings.owner,
        "floor": settings.poll_floor,
        "calls_per_minute": settings.calls_per_minute,
    }
    return open_lsf(name, **{option: value for option, value in given.items() if value is not None})


def _kubernetes(name: str, profile: Profile) -> tuple[Reader, Writer]:
    from adapters.kubernetes import open_kubernetes

    settings = cast("KubernetesProfile", profile)
    return open_kubernetes(
        name,
        kubeconfig=_text(settings.kubeconfig),
        context=settings.context,
        namespace=settings.namespace,
        namespaces=settings.namespaces,
        image=settings.image,
        template=settings.template,
        templates={template: str(file) for template, file in settings.templates.items()},
        propagation=settings.propagation,
        evict=settings.evict,
        owner=settings.owner,
    )


def _replay(name: str, profile: Profile) -> tuple[Reader, Writer]:
    from adapters.replay import open_replay

    settings = cast("ReplayProfile", profile)
    return open_replay(name, settings.file, speed=settings.speed, at=settings.at)


def _text(path: Path | None) -> str | None:
    return str(path) if path is not None else None


OPENERS: Mapping[str, Opener] = MappingProxyType(
    {"native": _native, "slurm": _slurm, "lsf": _lsf, "kubernetes": _kubernetes, "replay": _replay}
)
