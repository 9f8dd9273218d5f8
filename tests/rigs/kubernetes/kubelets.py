"""Simulated kubelets for a rig: nodes that are ready, pods that run and end, and logs.

A container does what its command says: ``true`` and ``false`` end at once, ``sleep N`` after N seconds, anything else
runs until it is deleted. All the rest of the cluster is real.
"""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from tests.rigs.kubernetes.admin import Admin, Obj

LABEL = "pilothouse-rig"
PERIOD = 0.2
HEARTBEAT = 5.0


def stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ending(pod: Obj) -> tuple[float, int] | None:
    """After how many seconds the pod's container ends, and with which code; None where it runs on."""
    command = [str(one) for one in pod["spec"]["containers"][0].get("command") or ()]
    if command[:1] in (["true"], ["false"]):
        return 0.0, int(command[0] == "false")
    if command[:1] == ["sleep"] and len(command) == 2:
        return float(command[1]), 0
    return None


class Kubelets:
    """Plays the kubelets of `count` nodes in a thread of its own, and serves their logs, until the block ends."""

    def __init__(self, admin: Admin, folder: Path, port: int, count: int) -> None:
        self._admin = admin
        self._folder = folder
        self._port = port
        self.names = [f"rig-{number}" for number in range(1, count + 1)]
        self._over = threading.Event()
        self._started: dict[str, float] = {}
        self._beat = 0.0
        self._thread = threading.Thread(target=self._run, name="kubelets")
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _Logs)

    def __enter__(self) -> Kubelets:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / "server.crt", self._folder / "server.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="kubelet-logs", daemon=True).start()
        for name in self.names:
            self._admin.ensure("/api/v1/nodes", {"metadata": {"name": name, "labels": {LABEL: "node"}}})
            self._heartbeat(name)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)
        self._server.shutdown()
        self._server.server_close()

    def _run(self) -> None:
        while not self._over.wait(PERIOD):
            # The API server may be away for a while: a kubelet tries again.
            with contextlib.suppress(httpx.HTTPError, AssertionError):
                if time.monotonic() - self._beat > HEARTBEAT:
                    for name in self.names:
                        self._heartbeat(name)
                    self._beat = time.monotonic()
                for pod in self._admin.items("/api/v1/pods"):
                    if pod["spec"].get("nodeName") in self.names:
                        self._tend(pod)

    def _heartbeat(self, name: str) -> None:
        now = stamp()
        resources = {"cpu": "8", "memory": "32Gi", "pods": "16"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated"}
        status = {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._port}},
            "nodeInfo": {"kubeletVersion": "simulated"},
        }
        self._admin.merge(f"/api/v1/nodes/{name}/status", {"status": status})

    def _tend(self, pod: Obj) -> None:
        metadata, status = pod["metadata"], pod.get("status", {})
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if metadata.get("deletionTimestamp"):
            self._admin.delete(path, force=True)
            return
        if status.get("phase") in ("Succeeded", "Failed"):
            return
        uid = metadata["uid"]
        end = ending(pod)
        if uid not in self._started:
            self._started[uid] = time.monotonic()
            self._put(path, pod, "Running", {"running": {"startedAt": stamp()}})
        elif end is not None and time.monotonic() - self._started[uid] >= end[0]:
            code = end[1]
            done = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "finishedAt": stamp()}
            self._put(path, pod, "Failed" if code else "Succeeded", {"terminated": done})

    def _put(self, path: str, pod: Obj, phase: str, state: Obj) -> None:
        runs = phase == "Running"
        statuses = [
            {"name": one["name"], "image": one["image"], "imageID": "", "ready": runs, "restartCount": 0,
             "started": runs, "state": state}
            for one in pod["spec"]["containers"]
        ]  # fmt: skip
        ready = {"type": "Ready", "status": str(runs), "lastTransitionTime": stamp()}
        status: dict[str, Any] = {"phase": phase, "containerStatuses": statuses, "conditions": [ready]}
        if runs:
            status["startTime"] = stamp()
        self._admin.merge(f"{path}/status", {"status": status})


class _Logs(BaseHTTPRequestHandler):
    """``/containerLogs/NAMESPACE/POD/CONTAINER``: three lines, and the pod's name in each."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        lines = "".join(f"{stamp()[:-1]}.{n}00000000Z line {n} of {parts[2]}\n" for n in (1, 2, 3))
        if "timestamps=true" not in self.path:
            lines = "".join(f"line {n} of {parts[2]}\n" for n in (1, 2, 3))
        body = lines.encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""
