"""``cluster/id`` wherever a command names a job or a node."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest

from console.cli.addresses import address
from console.cli.exits import USAGE, CommandFailed
from console.config import Config

CONFIG = Config.model_validate(
    {
        "version": 1,
        "clusters": {
            "lab": {"type": "slurm"},
            "farm": {"type": "lsf"},
            "kube": {"type": "kubernetes"},
        },
    }
)


@pytest.mark.parametrize(
    ("given", "cluster", "names"),
    [
        ({"id": "12"}, None, {"id": "12"}),
        ({"id": "lab/12"}, "lab", {"id": "12"}),
        ({"ids": ["lab/12_3", "lab/13"]}, "lab", {"ids": ["12_3", "13"]}),
        ({"node": "farm/host1"}, "farm", {"node": "host1"}),
        ({"nodes": ["farm/a", "farm/b"], "cluster": "farm"}, "farm", {"nodes": ["a", "b"]}),
        ({"id": "kube/train"}, None, {"id": "kube/train"}),
        ({"id": "kube/team/train"}, "kube", {"id": "team/train"}),
        ({"id": "kube/pod/train-x7"}, None, {"id": "kube/pod/train-x7"}),
        ({"id": "kube/team/pod/train-x7"}, "kube", {"id": "team/pod/train-x7"}),
        ({"id": "elsewhere/12"}, None, {"id": "elsewhere/12"}),
        ({"id": "lab/"}, None, {"id": "lab/"}),
        ({"id": None, "ids": []}, None, {"id": None, "ids": []}),
    ],
)
def test_a_name_with_its_cluster_chooses_it(given: dict[str, Any], cluster: str | None, names: dict[str, Any]) -> None:
    args = Namespace(**{"cluster": None, **given})
    address(args, CONFIG)
    assert args.cluster == cluster
    assert {name: getattr(args, name) for name in names} == names


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"ids": ["lab/1", "farm/2"]}, "farm, lab"),
        ({"ids": ["lab/1", "2"]}, "lab, none"),
        ({"ids": ["lab/1"], "cluster": "farm"}, "farm, lab"),
    ],
)
def test_names_of_several_clusters_are_refused_and_named(given: dict[str, Any], told: str) -> None:
    args = Namespace(**{"cluster": None, **given})
    with pytest.raises(CommandFailed, match=told) as refused:
        address(args, CONFIG)
    assert refused.value.code == USAGE
