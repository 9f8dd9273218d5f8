"""The map of nodes: by queue, live, with the way to a node."""

from __future__ import annotations

from pathlib import Path

from adapters.model import Node, Queue
from console.screens.main import MainScreen
from console.screens.node_map import NodeMapScreen
from tests.doubles.counting_driver import CountingDriver
from tests.ui.scene import Scene, open_scene


def _cluster(count: int = 6) -> list[Queue | Node]:
    names = [f"n{n}" for n in range(1, count + 1)]
    nodes = [Node(name, "busy", slots_used=4, slots_total=8) for name in names]
    return [
        Queue("gpu", "active", extensions={"hosts": tuple(names[:2])}),
        Queue("short", "active", running_jobs=7, extensions={"hosts": tuple(names)}),
        *nodes,
    ]


def _map(scene: Scene) -> NodeMapScreen:
    assert isinstance(scene.app.screen, NodeMapScreen)
    return scene.app.screen


async def _open(scene: Scene) -> None:
    await scene.press("m")
    await scene.until(lambda: isinstance(scene.app.screen, NodeMapScreen) and scene.app.screen.map.cursor is not None)
    await scene.settle()


async def test_it_shows_each_node_below_its_queues_and_leads_there_and_back(tmp_path: Path) -> None:
    async with open_scene(tmp_path, _cluster()) as scene:
        await _open(scene)
        assert "gpu           2 nodes, 2 busy, slots 8/16" in scene.text
        assert "short         6 nodes, 6 busy, slots 24/48, 7 running" in scene.text
        assert "▄ ▄ ▄ ▄ ▄ ▄" in scene.text and "n1  busy  slots 4/8" in scene.text
        await scene.press("right", "j", "right", "right")
        assert "n4  busy" in scene.text
        await scene.press("G", "left", "k", "l")
        assert "n1  busy" in scene.text, "from the first row of the second group's end back over its edge"
        await scene.press("down", "enter")
        screen = scene.app.screen
        assert isinstance(screen, MainScreen) and screen.target is not None
        assert (screen.board.pane.id, screen.target.id) == ("nodes", "n1")
        await scene.press("escape")
        assert screen.board.pane.id == "jobs"


async def test_it_follows_the_nodes_and_can_be_read_without_colour(tmp_path: Path) -> None:
    async with open_scene(tmp_path, _cluster()) as scene:
        await _open(scene)
        here = _map(scene).map.cursor
        scene.backend.put(
            scene.backend.node("n2")._replace(status="drain", reason="disk [/x]"),
            scene.backend.node("n3")._replace(status="down"),
            scene.backend.node("n5")._replace(status="idle", slots_used=0),
        )
        await scene.until(lambda: "▄ D X ▄ · ▄" in scene.text)
        assert _map(scene).map.cursor == here
        await scene.press("right")
        assert "n2  drain" in scene.text and "disk [/x]" in scene.text
        scene.backend.remove(scene.backend.node("n2").ref)
        await scene.until(lambda: "5 nodes" in scene.text)
        assert _map(scene).map.cursor is not None


async def test_two_thousand_nodes_and_one_change(tmp_path: Path) -> None:
    """All of them are on one screen of 200 columns, and a change repaints the lines it is on and no more."""
    async with open_scene(tmp_path, _cluster(2000), size=(200, 60)) as scene:
        await _open(scene)
        lines = scene.text.splitlines()
        assert sum(line.count("▄") for line in lines) == 2002 + 1, "each node, two of them twice; once in the legend"
        scene.backend.put(
            scene.backend.node("n7")._replace(status="down")
        )  # what opening it left to paint comes with it
        await scene.until(lambda: scene.text.count("X") == 2)
        await scene.settle()
        CountingDriver.reset()
        scene.backend.put(scene.backend.node("n1999")._replace(status="down"))
        await scene.until(lambda: scene.text.count("X") == 3)
        await scene.settle()
        assert CountingDriver.count() < 4000, "the line of the node and that of its queue"


async def test_no_nodes_and_any_size(tmp_path: Path) -> None:
    async with open_scene(tmp_path, []) as scene:
        await scene.press("m")
        await scene.until(lambda: "No nodes are known yet." in scene.text)
        await scene.press("enter", "j", "k", "left", "right", "G", "g", "pagedown")
        assert isinstance(scene.app.screen, NodeMapScreen)
        scene.backend.put(*_cluster(500))
        await scene.until(lambda: "500 nodes" in scene.text)
        for size in [(80, 24), (10, 4), (1, 1), (40, 12), (120, 40)]:
            await scene.pilot.resize_terminal(*size)
            await scene.settle()
            await scene.press("G", "g", "pagedown")
        assert scene.app._exception is None
        await scene.press("q")
        assert isinstance(scene.app.screen, MainScreen)


async def test_it_begins_at_the_node_one_is_on(tmp_path: Path) -> None:
    async with open_scene(tmp_path, _cluster()) as scene:
        await scene.press("3", "j", "j", "m")
        await scene.until(lambda: "n3  busy" in scene.text and isinstance(scene.app.screen, NodeMapScreen))
