"""Settings: what is read, what is told about mistakes, and that the stricter wins."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from console.chat.settings import ChatSettings
from console.config import Config, ConfigError, load, user_file
from console.config_problems import line_of
from console.profiles import PROFILES, AgentLimits, Hooks, NativeProfile, Notices, ReplayProfile, Scope

GOOD = """\
version = 1
default_cluster = "demo"

[clusters.demo]
type = "native"
url = "http://127.0.0.1:8080/"
token_file = "keys/demo.key"

[clusters.tape]
type = "replay"
file = "/data/tape.jsonl"
speed = 4
"""


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)
    return path


def read(tmp_path: Path, text: str | bytes, site: str | None = None, *, read_only: bool = False) -> Config:
    other = tmp_path / "site.toml"
    if site is not None:
        write(other, site)
    return load(write(tmp_path / "config.toml", text), site=other, read_only=read_only)


def told(tmp_path: Path, text: str | bytes, site: str | None = None) -> list[str]:
    """The problems, one a line, without the folder."""
    with pytest.raises(ConfigError) as failure:
        read(tmp_path, text, site)
    return str(failure.value).replace(f"{tmp_path}/", "").splitlines()


def test_a_good_file(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    demo, tape = config.clusters["demo"], config.clusters["tape"]
    assert isinstance(demo, NativeProfile) and isinstance(tape, ReplayProfile)
    assert demo.url == "http://127.0.0.1:8080" and demo.token_file == tmp_path / "keys" / "demo.key"
    assert tape.file == Path("/data/tape.jsonl") and tape.speed == 4.0
    assert config.default == "demo" and config.sources == (tmp_path / "config.toml",)
    assert not config.read_only and config.fps == 15


def test_no_file_at_all(tmp_path: Path) -> None:
    assert not user_file().exists()
    config = load(site=tmp_path / "none.toml")
    assert config.clusters == {} and config.default is None and config.sources == ()


def test_the_first_cluster_is_the_default(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD.replace('default_cluster = "demo"', "")).default == "demo"


def test_home_and_the_bom_of_an_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/elsewhere/alice")
    config = read(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("keys/demo.key", "~/demo.key").encode())
    assert config.clusters["demo"].token_file == Path("/elsewhere/alice/demo.key")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("read_onli = true", "line 1: read_onli: unknown key; did you mean read_only?"),
        ('read_only = "yes"', "line 1: read_only: expected true or false, not 'yes'"),
        ("fps = 0", "line 1: fps: expected greater than or equal to 1, not 0"),
        ("fps = 1.5", "line 1: fps: expected a whole number, not 1.5"),
        ("theme = 3", "line 1: theme: expected text in quotes, not 3"),
        ("clusters = 3", "line 1: clusters: expected a table, not 3"),
        ('sources = ["x"]', "line 1: sources: unknown key"),
        ('audit_anchor = "paper"', "line 1: audit_anchor: expected 'none' or 'syslog', not 'paper'"),
        ("poll_floor = 0.01", "line 1: poll_floor: expected greater than or equal to 0.1, not 0.01"),
    ],
)
def test_a_wrong_setting(tmp_path: Path, line: str, problem: str) -> None:
    assert told(tmp_path, f"{line}\nversion = 1\n") == [f"config.toml, {problem}"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('type = "native"', "line 2: clusters.x.url: is missing here"),
        ('url = "http://x"', "line 2: clusters.x: needs a type: native, slurm, lsf, kubernetes, replay"),
        ('type = "nativ"', "line 2: clusters.x: unknown type 'nativ'; did you mean native?"),
        ('type = "replay"\nfile = "f"\nurl = "u"', "line 5: clusters.x.url: unknown key; "),
        ('type = "native"\nurl = "host:80"', "line 4: clusters.x.url: an address such as https://"),
        ('type = "native"\nurl = "https://a:b@h"', "line 4: clusters.x.url: an address without user and password"),
        ('type = "native"\nurl = "http://h"\ntoken_file = "a"\ntoken_env = "A"', "line 2: clusters.x: either token_"),
        ('type = "native"\nurl = "http://h"\ntokn_file = "a"', "line 5: clusters.x.tokn_file: unknown key; did you"),
        (
            'type = "slurm"\nscope = { owner = "mine" }',
            "line 4: clusters.x.scope.owner: unknown key; did you mean owne",
        ),
        ('type = "slurm"\n[clusters.x.scope]\nqueues = [\n  "a",\n  7,\n]', "line 5: clusters.x.scope.queues.1: expec"),
        ('type = "slurm"\nread_only = 1', "line 4: clusters.x.read_only: expected true or false, not 1"),
    ],
)
def test_a_wrong_cluster(tmp_path: Path, lines: str, problem: str) -> None:
    (found,) = told(tmp_path, f"version = 1\n[clusters.x]\n{lines}\n")
    assert found.startswith(f"config.toml, {problem}")


def test_every_problem_is_told_in_order(tmp_path: Path) -> None:
    found = told(
        tmp_path, 'version = 1\nfps = "x"\nmouse = 1\n[clusters.a]\ntype = "native"\n[clusters.b]\ntype = "z"\n'
    )
    assert [line.split(": ")[1] for line in found] == ["fps", "mouse", "clusters.a.url", "clusters.b"]


def test_version(tmp_path: Path) -> None:
    assert told(tmp_path, "fps = 20\n") == ["config.toml: version: is missing here"]
    assert told(tmp_path, "version = 2\n") == ["config.toml, line 1: version: expected 1, not 2"]


def test_a_name_that_cannot_be_typed_as_cluster_and_id(tmp_path: Path) -> None:
    (found,) = told(tmp_path, 'version = 1\n[clusters."a/b"]\ntype = "slurm"\n')
    assert "'a/b' is no name for a cluster" in found


def test_a_default_that_is_not_there(tmp_path: Path) -> None:
    (found,) = told(tmp_path, GOOD.replace('default_cluster = "demo"', 'default_cluster = "dem"'))
    assert found == "config.toml: default_cluster: there is no cluster 'dem'; did you mean demo?"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"version = 1\nfps = = 3\n", "config.toml, line 2: no TOML: Invalid value"),
        (b'version = 1\ntheme = "never closed\n', "config.toml, line 2: no TOML: "),
        (b"version = 1\n[clusters.demo\n", "config.toml, line 2: no TOML: "),
        (b"version = 1\nversion = 1\n", "config.toml, line 2: no TOML: Cannot overwrite a value"),
        (b"version = 1\ntheme = '''x", "config.toml, line 2: no TOML: "),
        (b"\x00\x01", "config.toml, line 1: no TOML: "),
        (b'version = 1\n\ntheme = "\xff"\n', "config.toml, line 3: byte 0xff is not UTF-8 text"),
        (b"apiVersion: v1\nkind: Config\n", "config.toml, line 1: no TOML: "),
    ],
)
def test_a_file_that_is_no_toml(tmp_path: Path, text: bytes, problem: str) -> None:
    (found,) = told(tmp_path, text)
    assert found.startswith(problem), found


def test_hostile_text_in_a_file_is_cleaned(tmp_path: Path) -> None:
    (found,) = told(tmp_path, 'version = 1\n"a\\u001b[2J" = 1\n')
    assert "\x1b" not in found and "␛[2J" in found


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_a_file_that_others_can_change_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "config.toml", GOOD)
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="others can change this file") as failure:
        load(path, site=tmp_path / "none")
    assert failure.value.hint.endswith(f"chmod o-w {path}")
    if os.geteuid() == 0:
        path.chmod(0o600)
        os.chown(path, 12345, 12345)
        with pytest.raises(ConfigError, match="others can change this file"):
            load(path, site=tmp_path / "none")


SITE = """\
version = 1
read_only = false
forbid_unattended = true
max_targets = 50
poll_floor = 20
calls_per_minute = 6
theme = "site"
audit_anchor = "syslog"
[clusters.demo]
type = "native"
url = "https://site.example.org"
token_env = "SITE_TOKEN"
poll_floor = 30
scope = { owners = "mine", actions = ["cancel", "hold"] }
[clusters.other]
type = "slurm"
"""


def test_the_stricter_wins(tmp_path: Path) -> None:
    person = """\
version = 1
forbid_unattended = false
max_targets = 500
poll_floor = 5
calls_per_minute = 60
theme = "mine"
audit_anchor = "none"
[clusters.demo]
type = "native"
url = "https://elsewhere.example.org"
token_file = "/k"
allow_insecure = true
poll_floor = 1
scope = { owners = "all", actions = ["cancel", "submit"] }
"""
    config = read(tmp_path, person, SITE)
    assert config.forbid_unattended and config.max_targets == 50 and config.audit_anchor == "syslog"
    assert config.theme == "mine", "what limits nothing is the person's"
    assert len(config.sources) == 2
    demo, other = config.clusters["demo"], config.clusters["other"]
    assert isinstance(demo, NativeProfile)
    assert demo.poll_floor == 30 and demo.calls_per_minute == 6
    assert other.poll_floor == 20 and other.calls_per_minute == 6
    assert demo.scope.owners == "mine" and demo.scope.actions == ("cancel",) and demo.scope.queues is None
    assert not demo.allow_insecure
    assert demo.url == "https://elsewhere.example.org"
    assert demo.token_file == Path("/k") and demo.token_env is None


def test_a_person_may_be_stricter_than_the_site(tmp_path: Path) -> None:
    config = read(tmp_path, "version = 1\nread_only = true\nmax_targets = 5\npoll_floor = 60\n", SITE)
    assert config.read_only and config.max_targets == 5
    assert all(profile.read_only and profile.poll_floor == 60 for profile in config.clusters.values())


def test_a_read_only_site_stays_so(tmp_path: Path) -> None:
    config = read(tmp_path, "version = 1\nread_only = false\n", "version = 1\nread_only = true\n")
    assert config.read_only


def test_read_only_of_the_command_line(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD, read_only=True)
    assert config.read_only and config.clusters["demo"].read_only


def test_a_mistake_of_the_site_names_the_sites_file(tmp_path: Path) -> None:
    assert told(tmp_path, GOOD, "version = 1\nfps = 'x'\n") == [
        "site.toml, line 2: fps: expected a whole number, not 'x'"
    ]


def test_the_persons_own_file_is_found(tmp_path: Path) -> None:
    path = write(user_file(), GOOD)
    try:
        assert load(site=tmp_path / "none").sources == (path,)
    finally:
        path.unlink()


def test_lines_of_keys() -> None:
    text = "a = 1\n\n# c\n[t.u]\nb = '''\nx\n'''\nc.d = 2\n[[l]]\n[[l]]\ne = [\n1,\n2]\n"
    assert line_of(text, ("a",)) == 1
    assert line_of(text, ("t", "u")) == 4
    assert line_of(text, ("t", "u", "b")) == 5
    assert line_of(text, ("t", "u", "c", "d")) == 8
    assert line_of(text, ("l", 1, "e", 1)) == 11
    assert line_of(text, ("t", "u", "missing")) == 4
    assert line_of(text, ("missing",)) is None


def test_loading_needs_neither_textual_nor_an_http_client(tmp_path: Path) -> None:
    path = write(tmp_path / "config.toml", GOOD)
    script = (
        "import sys; from console.config import load; load(sys.argv[1])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'textual', 'rich', 'httpx', 'starlette'}))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_the_page_on_configuration_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    sections = [Config, Scope, AgentLimits, ChatSettings, Hooks, Notices, *PROFILES.values()]
    keys = {name for section in sections for name in section.model_fields} - {"sources", "theme_fixed"}
    documented = set(re.findall(r"`([a-z_]+)(?: = [^`]*)?`", page))
    assert keys - documented == set()


def test_hooks_notices_and_hidden_actions(tmp_path: Path) -> None:
    mine = 'version = 1\nhidden_actions = ["cancel"]\n[hooks]\non_change = ["say", "it"]\nstates = ["failed"]\n'
    config = read(tmp_path, mine, 'version = 1\nhidden_actions = ["drain"]\n[hooks]\ntimeout = 3.5\n')
    assert config.hidden_actions == ("drain", "cancel")
    assert config.hooks.on_change == ("say", "it") and config.hooks.states == ("failed",)
    assert config.hooks.timeout == 3.5 and config.hooks.jobs == "both"
    assert config.notices.own_jobs == "failed" and config.notices.bell and not config.forbid_hooks
    assert read(tmp_path, mine, "version = 1\nforbid_hooks = true\n").forbid_hooks


def test_mistakes_in_them_are_told(tmp_path: Path) -> None:
    wrong = 'version = 1\nhidden_actions = ["cancle"]\n[hooks]\non_chang = ["x"]\nstates = ["dead"]\n'
    lines = told(tmp_path, wrong)
    assert lines[0].endswith("hidden_actions: 'cancle' is no action; did you mean cancel?")
    assert lines[1] == "config.toml, line 4: hooks.on_chang: unknown key; did you mean on_change?"
    assert "'dead' is no state of a job" in lines[2]


def test_the_theme_of_the_site_is_fixed_unless_the_person_has_one(tmp_path: Path) -> None:
    site = 'version = 1\ntheme = "pilothouse-paper"\n'
    assert read(tmp_path, "version = 1\n", site).theme_fixed
    mine = read(tmp_path, 'version = 1\ntheme = "pilothouse-dusk"\n', site)
    assert mine.theme == "pilothouse-dusk" and not mine.theme_fixed
    assert told(tmp_path, "version = 1\ntheme_fixed = true\n") == ["config.toml, line 2: theme_fixed: unknown key"]
