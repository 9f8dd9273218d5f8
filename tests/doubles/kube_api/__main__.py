"""The double as a process of its own, for measurements: prints its port, then changes objects as it is told on
standard input (``<changes> <changes a second>``) and ends with it."""

from __future__ import annotations

import argparse
import sys
import time

from tests.doubles.kube_api.objects import bound_pod, job, node
from tests.doubles.kube_api.server import KubeDouble, running


def populate(double: KubeDouble, jobs: int, nodes: int) -> None:
    """Jobs with a running pod each, over nodes."""
    for number in range(nodes):
        double.put("nodes", node(f"node-{number:04}"))
    for number in range(jobs):
        held = double.put("jobs", job(f"job-{number:05}", f"team-{number % 20}", active=1, ready=1))
        double.put(
            "pods", bound_pod(f"job-{number:05}-x", f"node-{number % nodes:04}", f"team-{number % 20}", owner=held)
        )
    double.store.history.clear()


def change(double: KubeDouble, count: int, rate: float, jobs: int) -> None:
    """So many changes of jobs, each with the moment it was made as the owner, evenly over time."""
    served = double.served("jobs")
    begun = time.monotonic()
    for number in range(count):
        wait = begun + number / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        at = number * 7 % jobs
        held = double.store.get(served, f"team-{at % 20}", f"job-{at:05}")
        assert held is not None
        metadata = {**held["metadata"], "labels": {"user": f"t{time.time_ns()}"}}
        double.store.put(served, {**held, "metadata": metadata})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=200)
    asked = parser.parse_args()
    with running() as double:
        populate(double, asked.jobs, asked.nodes)
        print(double.port, flush=True)
        for line in sys.stdin:
            count, rate = line.split()
            change(double, int(count), float(rate), asked.jobs)
            print("changed", flush=True)


if __name__ == "__main__":
    main()
