"""Where each value in force comes from."""

from __future__ import annotations

from pathlib import Path

from console.config import Config, load
from console.config_origin import DEFAULT, FOUND, OPTION, flat, origins, sources

SITE = """\
version = 1
poll_floor = 30
theme = "pilothouse-paper"
hidden_actions = ["drain"]

[clusters.hpc]
type = "slurm"
calls_per_minute = 6
"""
MINE = """\
version = 1
poll_floor = 5
theme = "pilothouse-dusk"
hidden_actions = ["cancel"]
max_targets = 20

[clusters.hpc]
type = "slurm"
owner = "alice"
"""


def _files(tmp_path: Path) -> tuple[Path, Path]:
    site, mine = tmp_path / "site.toml", tmp_path / "config.toml"
    for path, text in ((site, SITE), (mine, MINE)):
        path.write_text(text)
        path.chmod(0o600)
    return site, mine


def test_each_value_names_its_file_and_line(tmp_path: Path) -> None:
    site, mine = _files(tmp_path)
    config = load(mine, site=site, read_only=True)
    found = {".".join(key): said for key, said in origins(config, sources(config, site), read_only=True).items()}
    assert found["poll_floor"] == f"site: {site}, line 2", "the stricter of the two"
    assert found["theme"] == f"yours: {mine}, line 3", "one's own lies over the site's"
    assert found["max_targets"] == f"yours: {mine}, line 5"
    assert found["hidden_actions"] == f"site: {site}, line 4 and yours: {mine}, line 4"
    assert found["clusters.hpc.calls_per_minute"] == f"site: {site}, line 8"
    assert found["clusters.hpc.owner"] == f"yours: {mine}, line 9"
    assert found["clusters.hpc.poll_floor"] == f"site: {site}, line 2", "what limits all is put into each"
    assert found["clusters.hpc.read_only"] == found["read_only"] == OPTION
    assert found["fps"] == found["clusters.hpc.trust_elicitation"] == DEFAULT


def test_a_cluster_that_was_found_says_so() -> None:
    config = Config.model_validate({"version": 1, "clusters": {"slurm": {"type": "slurm"}}})
    assert origins(config, [])["clusters", "slurm", "type"] == FOUND
    assert origins(config, [])["mouse",] == DEFAULT


def test_flat_leaves_out_what_is_not_set() -> None:
    assert list(flat({"a": {"b": 1, "c": None, "d": {}}, "e": []})) == [(("a", "b"), 1), (("e",), [])]
