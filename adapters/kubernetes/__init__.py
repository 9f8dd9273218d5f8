"""Kubernetes as a cluster: batch/v1 Jobs and pods, live by watch, with Kueue and Volcano queues where there are any.

`docs/kubernetes.md` tells what is read, what is sent, and what each rule is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.base import Reader, Writer

__all__ = ["detect", "open_kubernetes"]


def open_kubernetes(
    cluster: str,
    *,
    context: str | None = None,
    kubeconfig: str | None = None,
    namespace: str | None = None,
    namespaces: Sequence[str] = (),
    image: str | None = None,
    template: str | None = None,
    templates: Mapping[str, str] | None = None,
    propagation: str = "Background",
    evict: bool = True,
    owner: str | None = None,
    write_timeout: float | None = None,
    timing: Any = None,
    patience: Any = None,
) -> tuple[Reader, Writer]:
    """A reader and a writer of the cluster that the kubeconfig's context names.

    Args:
        cluster: the name it has in the console.
        context: a context of the kubeconfig; the current one where None.
        kubeconfig: a file to use instead of KUBECONFIG and ~/.kube/config.
        namespace: where submissions go; the context's where None.
        namespaces: look at these only; all that may be read where empty.
        image: of jobs that name none.
        template: the name, among `templates` (name -> path of a Job manifest), that submissions begin with.
        propagation: ``Background`` or ``Foreground``: whether a cancelled job goes before or after its pods.
        evict: False makes a drain a mere cordon.
        owner: the person that "mine" means, where it is not the account that signs in (a service account).
        write_timeout: seconds to wait for the answer to a write.
        timing, patience: `reflector.Timing` and `sending.Patience`, for tests.

    Raises Invalid where the kubeconfig cannot be used, Unreachable where there is none.
    """
    from adapters.base import Invalid
    from adapters.kubernetes.client import WRITE_TIMEOUT, Api
    from adapters.kubernetes.kubeconfig import find
    from adapters.kubernetes.manifest import Defaults
    from adapters.kubernetes.reader import KubernetesReader
    from adapters.kubernetes.writer import KubernetesWriter

    if propagation not in ("Background", "Foreground"):
        raise Invalid(f"propagation must be Background or Foreground, not {propagation!r}.", "Correct the profile.")
    api = Api(lambda: find(context, namespace, kubeconfig), write_timeout=write_timeout or WRITE_TIMEOUT)
    reader = KubernetesReader(cluster, api, namespaces, timing, owner)
    defaults = Defaults(api.config.namespace, image, template, dict(templates or {}))
    writer = KubernetesWriter(reader, defaults, propagation=propagation, evict=evict, patience=patience)
    return reader, writer


def detect() -> str | None:
    """The current context of the kubeconfig, or ``in-cluster`` inside a pod; None where there is neither. Reads files
    only: no network, no plugin."""
    from adapters.base import AdapterError
    from adapters.kubernetes.kubeconfig import find

    try:
        return find().context
    except AdapterError:
        return None
