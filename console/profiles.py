"""What a configuration may say about one cluster, by the type of its adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from adapters.model import JOB_STATUSES


def _to_path(value: Any, info: ValidationInfo) -> Any:
    """`~` is the home folder; a relative path starts at the folder of the file that names it."""
    if not isinstance(value, str):
        return value
    folder = (info.context or {}).get("folder")
    path = Path(value).expanduser()
    return path if path.is_absolute() or folder is None else Path(folder) / path


FilePath: TypeAlias = Annotated[Path, BeforeValidator(_to_path)]
Words: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]


class Section(BaseModel):
    """A table of the file: unknown keys are errors, `"yes"` is no boolean and `"3"` no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Scope(Section):
    """What writes may be aimed at; None does not restrict.

    `owners = "mine"` allows one's own jobs only; `queues` are those that may be submitted to; `actions` are the
    verbs of intents (``cancel``, ``set_node_quota``).
    """

    owners: Literal["mine", "all"] = "all"
    queues: Words | None = None
    actions: Words | None = None


class AgentLimits(Section):
    """The scope that agents begin with in each process; a person may widen it with a key of their own.

    `owners` is ``mine`` unless it is set; `queues` and `clusters` None do not restrict.
    """

    owners: Literal["mine", "all"] | None = None
    queues: Words | None = None
    clusters: Words | None = None


class Hooks(Section):
    """A person's own command for state changes of jobs that are watched, or their own.

    Args:
        on_change: the command as a list of words, first the program; no shell reads it.
        jobs: for which jobs: ``watched``, ``own``, or ``both``.
        states: only for jobs that come into one of these states; without any, for every change.
        timeout: seconds after which it is ended.
    """

    on_change: Words = ()
    jobs: Literal["watched", "own", "both"] = "both"
    states: Words = ()
    timeout: float = Field(default=10.0, gt=0, le=300)

    @field_validator("on_change")
    @classmethod
    def _no_empty_word(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if words and (not words[0].strip() or any("\0" in word for word in words)):
            raise ValueError('a program and its arguments are expected, such as ["notify-send", "Pilothouse"]')
        return words

    @field_validator("states")
    @classmethod
    def _are_states(cls, states: tuple[str, ...]) -> tuple[str, ...]:
        for state in states:
            if state not in JOB_STATUSES:
                raise ValueError(f"{state!r} is no state of a job; there are {', '.join(JOB_STATUSES)}")
        return states


class Notices(Section):
    """What is said of one's own jobs without being asked to watch them, and whether the bell rings.

    `own_jobs` is ``none``, ``failed``, ``ended`` or ``all``: which of their changes are said.
    """

    own_jobs: Literal["none", "failed", "ended", "all"] = "failed"
    bell: bool = True


class Profile(Section):
    """What every type of cluster has.

    Args:
        owner: whose jobs "mine" are, where that is not the account the backend knows us by.
        poll_floor: seconds between two reads of the same thing, at least.
        calls_per_minute: reads in a minute, at most.
        trust_elicitation: take the answer that an MCP client gives to a question for the person's. A client can
            answer by itself, so it is off unless this says otherwise; the record names it.

    `shares_folders` says of a type that its jobs see the folders of this machine.
    """

    shares_folders: ClassVar[bool] = True
    type: str
    read_only: bool = False
    owner: str | None = None
    poll_floor: float | None = Field(None, ge=0.1, le=86400)
    calls_per_minute: float | None = Field(None, gt=0, le=6000)
    scope: Scope = Scope()
    trust_elicitation: bool = False


class _WithToken(Profile):
    """A backend that is spoken to over HTTP with a token. The token itself is never in the configuration."""

    url: str
    token_file: FilePath | None = None
    token_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    allow_insecure: bool = False

    @field_validator("url")
    @classmethod
    def _an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("an address such as https://cluster.example.org:8443 is expected")
        if parts.username or parts.password:
            raise ValueError("an address without user and password is expected: put the token into token_file")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _one_token(self) -> _WithToken:
        if self.token_file is not None and self.token_env is not None:
            raise ValueError("either token_file or token_env is expected, not both")
        return self


class NativeProfile(_WithToken):
    """The native scheduler.

    Args:
        ca_file: certificates to trust in place of the system's.
        service_token_file: the key that `pilothouse mcp` uses in place of the person's.
    """

    type: Literal["native"]
    ca_file: FilePath | None = None
    service_token_file: FilePath | None = None


class SlurmProfile(Profile):
    """Slurm, by its commands; by slurmrestd where `rest_url` or `rest_socket` says where that listens.

    Args:
        rest_url, rest_socket: slurmrestd, for a host without the commands; rest_user: who we are to it.
        token_file, token_env: its JWT; a Unix socket needs none.
        slurm_conf: slurm.conf, if not that of SLURM_CONF or Slurm's default.
        slurm_cluster: Slurm's own name of the cluster, where a host reaches several.
        bin_dir: folder of the commands, if they are not on the PATH.
    """

    type: Literal["slurm"]
    slurm_conf: FilePath | None = None
    slurm_cluster: str | None = None
    bin_dir: FilePath | None = None
    rest_url: str | None = Field(None, pattern=r"^https?://[^\s@]+$")
    rest_socket: FilePath | None = None
    rest_user: str | None = None
    token_file: FilePath | None = None
    token_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")

    @model_validator(mode="after")
    def _one_way(self) -> SlurmProfile:
        if self.rest_url is not None and self.rest_socket is not None:
            raise ValueError("either rest_url or rest_socket is expected, not both")
        if self.token_file is not None and self.token_env is not None:
            raise ValueError("either token_file or token_env is expected, not both")
        return self


class LsfProfile(Profile):
    """LSF, by its commands.

    Args:
        unit_for_limits: the site's LSF_UNIT_FOR_LIMITS, where lsf.conf cannot be read.
        job_slot_limits: whether operators may change a host's slots with `bconf`; by default as lsf.conf says.
    """

    type: Literal["lsf"]
    unit_for_limits: Literal["KB", "MB", "GB", "TB", "PB", "EB"] | None = None
    job_slot_limits: bool | None = None


class KubernetesProfile(Profile):
    """Kubernetes, by the person's kubeconfig.

    Args:
        kubeconfig: a file in place of KUBECONFIG and ~/.kube/config; context: one of its contexts.
        namespace: where submissions go; namespaces: those that are looked at, all that may be read by default.
        image: of jobs that name none; template: that of `templates` (name = file) which submissions begin with.
        propagation: whether a cancelled job goes before (Background) or after (Foreground) its pods.
        evict: whether a drain also evicts what runs.
    """

    shares_folders: ClassVar[bool] = False
    type: Literal["kubernetes"]
    kubeconfig: FilePath | None = None
    context: str | None = None
    namespace: str | None = None
    namespaces: Words = ()
    image: str | None = None
    template: str | None = None
    templates: dict[str, FilePath] = Field(default_factory=dict)
    propagation: Literal["Background", "Foreground"] = "Background"
    evict: bool = True


class ReplayProfile(Profile):
    """A recorded feed, played at `speed` times its pace from `at` seconds on; a speed of 0 stands still there."""

    type: Literal["replay"]
    file: FilePath
    speed: float = Field(1.0, ge=0, le=10_000)
    at: float = Field(0.0, ge=0)


AnyProfile: TypeAlias = Annotated[
    NativeProfile | SlurmProfile | LsfProfile | KubernetesProfile | ReplayProfile, Field(discriminator="type")
]
PROFILES: dict[str, type[Profile]] = {
    "native": NativeProfile,
    "slurm": SlurmProfile,
    "lsf": LsfProfile,
    "kubernetes": KubernetesProfile,
    "replay": ReplayProfile,
}
