"""``python -m tests.chaos [--jobs N] [--seed N]``: the long storm, with its figures; fails if any is not nought."""

from __future__ import annotations

import argparse
import random
import sys

from tests.chaos.chaos import run_chaos

parser = argparse.ArgumentParser(prog="make chaos")
parser.add_argument("--jobs", type=int, default=2000)
parser.add_argument("--seed", type=int, default=random.randrange(10**6))
args = parser.parse_args()
print(f"chaos: {args.jobs} jobs, seed {args.seed}", flush=True)
figures = run_chaos(args.jobs, seed=args.seed, limit=2400)
print("\n".join(figures.lines()))
sys.exit(any(figures.wrong.values()))
