"""``pilothouse suggest WORDS ...``: what a job like this should ask for, from the history and the description."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.base import Reader
from console.cli.judged import amount
from console.cli.opening import with_engine
from console.cli.output import emit_json
from console.diagnosis.gather import past_jobs
from console.diagnosis.suggest import suggest
from console.engine import Engine


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="WORDS", help='such as: "train resnet on 2 GPUs for 3 hours"')


def run(args: Namespace) -> int:
    async def show(engine: Engine) -> int:
        reader: Reader = engine.reader(args.cluster)
        cluster = engine.cluster(args.cluster)
        await cluster.learn()
        owner = cluster.profile.owner or (cluster.identity.name if cluster.identity else None)
        found = suggest(" ".join(args.words), await past_jobs(reader), owner)
        values = {name: value for name, value in found.spec._asdict().items() if value is not None}
        if args.json:
            emit_json({"resources": values, "because": found.because, "sample": found.sample})
        elif not values:
            print(f"Nothing can be said: {found.sample} like jobs in the history, and no figure in the description.")
        else:
            for name, value in values.items():
                print(f"{name.split('_')[0]:<9}{amount(name, value):<12}{found.because[name]}")
        return 0

    return with_engine(args, show)
