"""What is said without being asked: own jobs, watched jobs, the hook."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from adapters.model import Job
from console.screens import notice_keys
from tests.doubles.counting_driver import CountingDriver
from tests.ui.scene import NOW, jobs, open_scene


def _mine() -> Job:
    return next(job for job in jobs() if job.owner == "alice" and job.status == "running")


async def test_a_failure_of_an_own_job_is_said_by_bell_and_never_over_an_answer(tmp_path: Path) -> None:
    mine = _mine()
    async with open_scene(tmp_path, [mine, mine._replace(id="77"), mine._replace(id="78", owner="bob")]) as scene:
        await scene.until(lambda: scene.engine.clusters["demo"].identity is not None)
        CountingDriver.reset()
        scene.backend.put(mine._replace(id="78", owner="bob", status="failed"))
        scene.backend.put(mine._replace(status="failed", exit_code=3))
        await scene.until(lambda: f"Job {mine.id} {mine.name} was running and is failed, exit 3." in scene.text)
        assert "\a" in CountingDriver.text() and "Job 78" not in scene.text
        await scene.press("escape")
        scene.app.main.say("an answer", "info")
        scene.backend.put(mine._replace(id="77", status="failed"))
        await scene.until(lambda: "3 fail" in scene.text and scene.app.main.up_to_date)
        assert "an answer" in scene.text and "Job 77" not in scene.text


async def test_a_notice_goes_by_itself(tmp_path: Path) -> None:
    before, notice_keys.STAYS = notice_keys.STAYS, 0.05
    try:
        async with open_scene(tmp_path) as scene:
            scene.app.main.notice("The hook failed.", "warn")
            await scene.until(lambda: scene.app.main._said == ("", "plain"))
            await scene.until(lambda: "The hook failed." not in scene.text)
    finally:
        notice_keys.STAYS = before


async def test_a_hook_hears_of_it_and_a_site_can_forbid_it(tmp_path: Path) -> None:
    mine, out = _mine(), tmp_path / "told"
    told = f"open({str(out)!r} + '.part', 'w').write(os.environ['PILOTHOUSE_JOB_ID'])"
    script = f"import os; {told}; os.rename({str(out)!r} + '.part', {str(out)!r})"
    hooks = {"hooks": {"on_change": [sys.executable, "-c", script]}}
    async with open_scene(tmp_path, [mine], more={**hooks, "forbid_hooks": True}) as scene:
        await scene.until(lambda: scene.engine.clusters["demo"].identity is not None)
        scene.backend.put(mine._replace(status="failed"))
        await scene.until(lambda: "is failed" in scene.text)
        assert not scene.app.hooks._tasks
    async with open_scene(tmp_path, [mine], more=hooks) as scene:
        await scene.until(lambda: scene.engine.clusters["demo"].identity is not None)
        scene.backend.put(mine._replace(status="succeeded", end_time=NOW + timedelta(minutes=1)))
        await scene.until(lambda: out.exists())
        assert out.read_text() == mine.id
