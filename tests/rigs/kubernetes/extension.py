"""`apiextensions-apiserver` beside a rig: custom kinds alone, served by the release that it is built from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.rigs.kubernetes.admin import Admin
from tests.rigs.kubernetes.rig import Rig, find, free_port, until

NAME = "apiextensions-apiserver"
UNUSED = (
    "ValidatingAdmissionPolicy",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "MutatingAdmissionWebhook",
)


@contextmanager
def running_extension(rig: Rig) -> Iterator[tuple[Admin, Path]]:
    """The server, signed in to as the rig's administrator (it asks the rig who that is); skips where there is none."""
    if find(NAME) is None:
        pytest.skip(f"KUBERIG_BIN holds no {NAME}")
    port, kubeconfig = free_port(), rig.kubeconfig()
    rig.start(
        NAME,
        f"--etcd-servers=http://127.0.0.1:{rig.etcd_port}", f"--etcd-prefix=/extension-{port}",
        f"--secure-port={port}", "--bind-address=127.0.0.1",
        f"--tls-cert-file={rig.folder}/server.crt", f"--tls-private-key-file={rig.folder}/server.key",
        *(f"--{name}={kubeconfig}" for name in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")),
        "--authentication-tolerate-lookup-failure=true", f"--disable-admission-plugins={','.join(UNUSED)}",
    )  # fmt: skip
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path = rig.folder / f"kubeconfig-extension-{port}"
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    admin = Admin.by_token(f"https://127.0.0.1:{port}", config["users"][0]["user"]["token"], rig.folder / "ca.crt")
    try:
        until(lambda: admin.answers("/apis/apiextensions.k8s.io/v1"), f"{NAME} answers: {rig.log(NAME)}", 120.0)
        yield admin, path
    finally:
        admin.close()
        rig.stop(NAME)
