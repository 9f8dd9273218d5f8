"""The keys that write, for the screens that have them: each builds an intent and hands it to the gate's question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.model import Job, Ref
from adapters.text import clean
from widgets.columns import Role

if TYPE_CHECKING:
    from adapters.intents import Intent
    from console.app import ConsoleApp
    from console.gate import Operation


class WriteKeys:
    """For a screen with `target`, `say` and `_host`."""

    _host: ConsoleApp

    @property
    def target(self) -> Ref | None:
        """What a write is aimed at."""
        raise NotImplementedError

    @property
    def targets(self) -> tuple[Ref, ...]:
        """All that a write is aimed at."""
        return (self.target,) if self.target is not None else ()

    def of_one_cluster(self) -> tuple[Ref, ...]:
        """The targets, or nothing and a word where there are none or they are of several clusters."""
        targets = self.targets
        clusters = sorted({ref.cluster for ref in targets})
        if not targets:
            self.say("There is no row to do that to.", "dim")
        elif len(clusters) > 1:
            self.say(f"The marked rows are of {' and '.join(clusters)}: a write goes to one cluster at a time.", "warn")
            return ()
        return targets

    def say(self, text: str, role: Role = "plain") -> None:
        raise NotImplementedError

    def write(self, intent: Intent) -> None:
        """Have the gate plan it and ask; returns at once. What comes of it goes to `say`."""
        self._host.write(intent, self.say, self.sent)

    def sent(self, operation: Operation) -> None:
        """A write is on its way. One of several steps is shown as it goes."""
        if len(operation.steps) > 1:
            self.do_operations()

    def do_operations(self) -> None:
        from console.screens.sent import SentScreen

        self._host.push_screen(SentScreen(self._host))

    def _write_simple(self, command: str) -> None:
        from pydantic import ValidationError

        from console.screens.actions import simple_intent
        from console.screens.writes import problem

        if not (refs := self.of_one_cluster()):
            return
        store = self._host.engine.store
        try:
            self.write(simple_intent(command, refs, [store.row(ref) for ref in refs]))
        except ValidationError as error:
            self.say(problem(error), "bad")

    def do_job_cancel(self) -> None:
        self._write_simple("job.cancel")

    def do_job_hold(self) -> None:
        self._write_simple("job.hold")

    def do_job_release(self) -> None:
        self._write_simple("job.release")

    def do_job_suspend(self) -> None:
        self._write_simple("job.suspend")

    def do_job_requeue(self) -> None:
        self._write_simple("job.requeue")

    def do_job_new(self) -> None:
        """A form for a new job, on the cluster one is looking at."""
        target, config = self.target, self._host.engine.config
        cluster = target.cluster if target else config.default
        if cluster is not None:
            self._submit(cluster, None)

    def do_job_again(self) -> None:
        """The form, filled with all that the scheduler tells of the job."""
        if (ref := self.target) is not None and ref.kind == "job":
            self._host.run_worker(self._again(ref), group="again", exclusive=True, exit_on_error=False)

    async def _again(self, ref: Ref) -> None:
        from adapters.base import AdapterError

        row = self._host.engine.store.row(ref)
        try:
            row = await self._host.engine.reader(ref.cluster).get_job(ref.id)
        except AdapterError as error:
            self.say(f"Filled in from the list: {clean(error.message)}", "dim")
        if isinstance(row, Job):
            self._submit(ref.cluster, row)

    def _submit(self, cluster: str, job: Job | None) -> None:
        from console.screens.form import SubmitScreen

        if why_not := self._host.why_not(cluster, "submit"):
            self.say(why_not, "warn")
            return
        self._host.push_screen(SubmitScreen(self._host, cluster, job))

    def do_job_modify(self) -> None:
        from console.screens.form import ModifyScreen

        refs = self.of_one_cluster()
        row = self._host.engine.store.row(refs[0]) if refs else None
        if not isinstance(row, Job):
            return
        if why_not := self._host.why_not(row.cluster, "modify"):
            self.say(why_not, "warn")
            return
        self._host.push_screen(ModifyScreen(self._host, row, refs))

    def do_job_checkpoint(self) -> None:
        self._write_simple("job.checkpoint")

    def do_queue_open(self) -> None:
        self._write_simple("queue.open")

    def do_node_undrain(self) -> None:
        self._write_simple("node.undrain")

    def do_node_drain(self) -> None:
        """Ask for the reason first; the plan and its question follow."""
        from console.screens.prompt import PromptScreen

        if not (refs := self.of_one_cluster()):
            return
        if why_not := self._host.why_not(refs[0].cluster, "drain"):
            self.say(why_not, "warn")
            return
        title = f"Drain {clean(refs[0].id, 40)}" + (f" and {len(refs) - 1} more" if len(refs) > 1 else "")
        prompt = PromptScreen(title, "Reason", placeholder="why nothing new shall start there")
        self._host.push_screen(prompt, lambda reason: self._drain(refs, reason))

    def _drain(self, refs: tuple[Ref, ...], reason: str | None) -> None:
        from pydantic import ValidationError

        from adapters.intents import DrainNode
        from console.screens.writes import problem

        if reason is None:
            self.say("Nothing was sent.", "dim")
            return
        try:
            self.write(DrainNode(cluster=refs[0].cluster, refs=refs, reason=reason))
        except ValidationError as error:
            self.say(problem(error), "bad")
