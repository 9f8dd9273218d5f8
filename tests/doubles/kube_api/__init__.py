"""A double of a Kubernetes API server: not one, but what the adapter needs of one, on loopback in a thread.

It keeps objects with resource versions and a history, and serves lists (paged, by selectors), streaming lists, watches
with bookmarks, patches (JSON, merge, strategic), preconditions, dry runs, discovery, access reviews and logs, and
answers errors in the sentences of the recordings in tests/data/k8s (kube-apiserver 1.36.2), which
`tests/kubernetes/test_kube_double.py` replays against it. It runs no controllers: what they would do, a test does.
"""

from __future__ import annotations

from tests.doubles.kube_api.server import KubeDouble, running

__all__ = ["KubeDouble", "running"]
