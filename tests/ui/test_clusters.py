"""Several clusters in one table; one of them down does no harm. Chosen columns and saved filters."""

from __future__ import annotations

from pathlib import Path

from adapters.base import Unreachable
from adapters.model import Job
from console.screens.main import MainScreen
from tests.doubles.memory_backend import MemoryBackend
from tests.ui.scene import NOW, open_scene


def _job(id: str, name: str) -> Job:
    return Job(id, name, "running", owner="alice", start_time=NOW, submission_time=NOW)


async def test_rows_of_two_clusters_stand_in_one_table_each_with_its_tag(tmp_path: Path) -> None:
    north = MemoryBackend("north", [_job("1", "from-north")])
    south = MemoryBackend("south", [_job("1", "from-south")])
    async with open_scene(tmp_path, backend=north, others=[south]) as scene:
        await scene.until(lambda: "from-north" in scene.text and "from-south" in scene.text)
        assert "CLUSTER" in scene.text and "1 Jobs 2" in scene.text
        screen = scene.app.screen
        assert isinstance(screen, MainScreen)
        screen.line("cluster south")
        await scene.until(lambda: "from-north" not in scene.text)
        assert "Only south is shown." in scene.text
        screen.line("cluster all")
        await scene.until(lambda: "from-north" in scene.text)
        screen.line("job 1")
        await scene.settle()
        assert "There are several: north/1, south/1" in scene.text


async def test_a_cluster_that_is_down_is_named_and_the_other_goes_on(tmp_path: Path) -> None:
    north = MemoryBackend("north", [_job("1", "from-north")])
    south = MemoryBackend("south")
    south.error = Unreachable("Nobody listens there.", "Is it running?")
    async with open_scene(tmp_path, backend=north, others=[south]) as scene:
        await scene.until(lambda: "south: failed" in scene.text)
        assert "from-north" in scene.text and "north live" in scene.text
        north.put(_job("2", "another"))
        await scene.until(lambda: "another" in scene.text)


async def test_marks_of_two_clusters_are_not_written_to_at_once(tmp_path: Path) -> None:
    north, south = MemoryBackend("north", [_job("1", "a")]), MemoryBackend("south", [_job("1", "b")])
    async with open_scene(tmp_path, backend=north, others=[south]) as scene:
        await scene.until(lambda: "1 Jobs 2" in scene.text)
        await scene.press("asterisk", "K")
        assert "a write goes to one cluster at a time" in scene.text


async def test_columns_and_filters_of_the_configuration(tmp_path: Path) -> None:
    more = {"columns": {"jobs": ["id", "name", "owner"]}, "filters": {"broken": "state:failed"}}
    async with open_scene(tmp_path, more=more) as scene:
        header = next(line for line in scene.text.splitlines() if "NAME" in line)
        assert "QUEUE" not in header and header.index("ID") < header.index("NAME") < header.index("OWNER")
        await scene.press("colon", *"broken", "enter")
        assert "filter state:failed" in scene.text
