"""A real Kubernetes control plane on loopback, for tests: etcd, kube-apiserver, controller-manager, scheduler.

KUBERIG_BIN names the folder (or several, as in PATH) with the programs; nothing is downloaded. Certificates, tokens
and data lie in one folder and go with it. Kubelets are simulated (`kubelets.py`): everything else is the real thing.
By hand: ``python -m tests.rigs.kubernetes.rig FOLDER`` runs one until it is interrupted.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import yaml

from tests.rigs.kubernetes.admin import Admin
from tests.rigs.kubernetes.kubelets import Kubelets
from tests.rigs.kubernetes.people import TOKENS, grant

VARIABLE = "KUBERIG_BIN"
NEEDED = ("etcd", "kube-apiserver")
USEFUL = ("kube-controller-manager", "kube-scheduler")
START = 120.0
"""Seconds for a program to come up on a machine that is busy with other tests."""


def find(name: str) -> str | None:
    """The path of a program in the folders of KUBERIG_BIN; etcd may also be one that is installed."""
    folders = os.environ.get(VARIABLE, "")
    found = shutil.which(name, path=folders) if folders else None
    return found or (shutil.which(name) if name == "etcd" else None)


def why_not() -> str | None:
    """Why no control plane can be started here; None where it can."""
    if not os.environ.get(VARIABLE):
        return f"{VARIABLE} names no folder with kube-apiserver and etcd"
    missing = [name for name in NEEDED if find(name) is None]
    if shutil.which("openssl") is None:
        missing.append("openssl")
    return f"{VARIABLE} lacks {', '.join(missing)}" if missing else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Look again and again until `condition` holds; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:g} s"
        time.sleep(0.1)


class Rig:
    """A running control plane, and the ways to reach behind the adapter's back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.etcd_port = free_port()
        self.kubelet_port = free_port()
        self.release = _release()
        self.admin = Admin.by_token(self.url, TOKENS["admin"], folder / "ca.crt")
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._wanted_controllers = False

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def minor(self) -> int:
        return self.release[1]

    @property
    def controllers(self) -> bool:
        """Whether Jobs get pods and pods get nodes here."""
        return all(name in self._running for name in USEFUL)

    def kubeconfig(self, person: str = "admin", namespace: str = "team-a", **user: object) -> Path:
        """Write a kubeconfig for one of the people; further arguments are fields of the user and replace the token."""
        cluster = {"server": self.url, "certificate-authority": str(self.folder / "ca.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "rig",
            "clusters": [{"name": "rig", "cluster": cluster}],
            "users": [{"name": person, "user": user or {"token": TOKENS[person]}}],
            "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": person, "namespace": namespace}}],
        }
        path = self.folder / f"kubeconfig-{person}-{time.monotonic_ns()}"
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return path

    def start(self, name: str, *arguments: str) -> None:
        program = find(name)
        assert program is not None, name
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [program, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def stop(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        process = self._running.pop(name, None)
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)

    def start_apiserver(self) -> None:
        folder = self.folder
        old = ["--insecure-port=0"] if self.minor < 24 else []
        self.start(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            f"--secure-port={self.port}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24", *old,
            f"--tls-cert-file={folder}/server.crt", f"--tls-private-key-file={folder}/server.key",
            f"--client-ca-file={folder}/ca.crt", f"--token-auth-file={folder}/tokens.csv",
            "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
            "--service-account-issuer=https://rig.example", f"--service-account-key-file={folder}/sa.key",
            f"--service-account-signing-key-file={folder}/sa.key", "--etcd-compaction-interval=0",
        )  # fmt: skip
        until(self._is_ready, "the API server's readiness", START)
        if self._wanted_controllers:
            self.start_controllers()

    def _is_ready(self) -> bool:
        process = self._running["kube-apiserver"]
        if process.poll() is not None:
            raise RuntimeError(f"kube-apiserver ended: {self.log('kube-apiserver')}")
        if not self.admin.answers("/readyz"):
            return False
        # A server that is ready lists its groups one after the other, and a controller manager that starts meanwhile
        # leaves out what it does not see yet.
        listed = {group["name"] for group in self.admin.items("/apis", "groups")}
        return listed >= {"apps", "batch", "policy"}

    def start_etcd(self) -> None:
        url, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{free_port()}"
        self.start(
            "etcd", f"--data-dir={self.folder}/etcd", f"--listen-client-urls={url}", f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}", "--unsafe-no-fsync",
        )  # fmt: skip

    def start_controllers(self) -> None:
        """Controller manager and scheduler, where the folder has them: afresh, as they may have ended with the API
        server, or wait long before they look for it again."""
        self._wanted_controllers = True
        kubeconfig = self.kubeconfig("admin")
        common = [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        common += ["--port=0"] if self.minor < 24 else []
        extra = {"kube-controller-manager": [f"--service-account-private-key-file={self.folder}/sa.key"]}
        for name in USEFUL:
            if find(name) is not None:
                self.stop(name)
                self.start(name, *common, *extra.get(name, []))

    def restart_apiserver(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.stop("kube-apiserver", how)
        self.start_apiserver()

    def compact(self) -> None:
        """Have etcd forget every version but the present one, as the API server itself does every five minutes."""
        self.admin.compact(f"http://127.0.0.1:{self.etcd_port}")

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text("utf-8", "replace")[-3000:] if path.exists() else ""

    def stop_all(self) -> None:
        for name in (*self._running.keys() - {"kube-apiserver", "etcd"}, "kube-apiserver", "etcd"):
            self.stop(name)
        self.admin.close()


def _release() -> tuple[int, int]:
    """Major and minor release of the API server in KUBERIG_BIN."""
    told = subprocess.run([find("kube-apiserver") or "", "--version"], capture_output=True, timeout=60, check=True)
    found = re.search(rb"v(\d+)\.(\d+)", told.stdout)
    assert found is not None, told.stdout
    return int(found[1]), int(found[2])


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def make_certificates(folder: Path) -> None:
    """An authority, the server's certificate, one for the person carol, and the key of service accounts."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    _openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=rig", "-days", "2")
    for name, subject, more in (
        ("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
        ("carol", "/O=operators/CN=carol", "extendedKeyUsage=clientAuth"),
    ):
        _openssl(folder, "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        (folder / f"{name}.ext").write_text(more)
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                 "-out", f"{name}.crt", "-days", "2", "-extfile", f"{name}.ext")  # fmt: skip
    _openssl(folder, "genrsa", "-out", "sa.key", "2048")


@contextmanager
def running_rig(folder: Path, nodes: int = 3) -> Iterator[Rig]:
    """A control plane in `folder`, with people, namespaces and simulated nodes; gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    make_certificates(folder)
    lines = [f'{token},{name},{name},"system:masters"' if name == "admin" else f"{token},{name},{name}"
             for name, token in TOKENS.items()]  # fmt: skip
    (folder / "tokens.csv").write_text("\n".join(lines) + "\n")
    with ExitStack() as stack:
        rig = Rig(folder)
        stack.callback(_keep_or_remove, folder)
        stack.callback(rig.stop_all)
        rig.start_etcd()
        rig.start_apiserver()
        rig.start_controllers()
        grant(rig.admin)
        stack.enter_context(Kubelets(rig.admin, folder, rig.kubelet_port, nodes))
        yield rig


def _keep_or_remove(folder: Path) -> None:
    """KUBERIG_KEEP=1 leaves logs and certificates behind for a look."""
    if not os.environ.get("KUBERIG_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    reason = why_not()
    if reason is not None or len(sys.argv) != 2:
        sys.exit(reason or "usage: python -m tests.rigs.kubernetes.rig FOLDER")
    with running_rig(Path(sys.argv[1]).absolute()) as rig:
        print(f"Kubernetes 1.{rig.minor} at {rig.url}; KUBECONFIG={rig.kubeconfig()}", flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
