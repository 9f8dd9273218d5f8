"""RecordTable: order, cursor, marks, and what it costs."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from textual.app import App, ComposeResult

from adapters.model import Job, Ref
from tests.doubles.counting_driver import CountingDriver
from tests.doubles.settle import settle
from widgets.columns import Column, Moment
from widgets.table import RecordTable

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MOMENT = Moment(NOW)
COLUMNS = (
    Column("status", "STATE", 9, 0, lambda job, _: job.status, lambda job: "bad" if job.status == "failed" else "ok"),
    Column("id", "ID", 8, 0, lambda job, _: job.id),
    Column("time", "TIME", 8, 1, lambda job, m: str(int((m.now - NOW).total_seconds())), right=True, ticks=True),
    Column("name", "NAME", 12, 0, lambda job, _: job.name, grow=2),
    Column("owner", "OWNER", 8, 2, lambda job, _: job.owner or "-"),
    Column("queue", "QUEUE", 8, 2, lambda job, _: job.queue or "-", lambda job: "dim"),
    Column("cores", "CORES", 5, 3, lambda job, _: str(job.cores), right=True),
    Column("memory_bytes", "MEM", 7, 4, lambda job, _: str(job.memory_bytes), right=True),
    Column("nodes", "NODES", 8, 5, lambda job, _: ",".join(job.node_names)),
    Column("reason", "REASON", 10, 6, lambda job, _: job.reason or "", grow=1),
)


class TableApp(App[None]):
    CSS = "Screen { overflow: hidden; } .record-table--cursor { background: $primary; }"

    def __init__(self, count: int) -> None:
        super().__init__(driver_class=CountingDriver)
        self.rows = {}
        for n in range(count):
            job = Job(id=str(n), name=f"job-{n}", status="running", owner="ada", queue="batch", cores=4, cluster="c")
            self.rows[job.ref] = job
        self.order = list(self.rows)
        self.moved: list[Ref | None] = []

    def compose(self) -> ComposeResult:
        yield RecordTable(COLUMNS, self.rows.get)

    def on_mount(self) -> None:
        self.table.show(self.order, MOMENT)
        self.table.focus()

    @property
    def table(self) -> RecordTable:
        return self.query_one(RecordTable)

    def on_record_table_row_highlighted(self, message: RecordTable.RowHighlighted) -> None:
        self.moved.append(message.ref)

    def change(self, n: int, **fields: object) -> Ref:
        ref = Ref("c", "job", str(n))
        self.rows[ref] = self.rows[ref]._replace(**fields)
        return ref

    def line(self, y: int) -> str:
        return self.table.render_line(y).text


async def test_the_cursor_is_a_name_and_stays_on_its_row_when_the_order_changes() -> None:
    app = TableApp(100)
    async with app.run_test(headless=False, size=(120, 20)) as pilot:
        app.table.move(5)
        assert app.table.cursor == Ref("c", "job", "5")
        app.table.show(list(reversed(app.order)), MOMENT)
        await settle(pilot)
        assert app.table.cursor == Ref("c", "job", "5")
        assert "job-5 " in "".join(app.line(y) for y in range(20))


async def test_the_row_under_the_cursor_keeps_its_line_when_rows_come_above_it() -> None:
    app = TableApp(200)
    async with app.run_test(headless=False, size=(120, 20)) as pilot:
        app.table.move(50)
        await settle(pilot)
        before = next(y for y in range(20) if " 50 " in app.line(y))
        app.table.show(app.order[:10] + app.order[30:], MOMENT)
        await settle(pilot)
        assert " 50 " in app.line(before)


async def test_while_rows_are_loaded_the_cursor_waits_on_the_first_line_until_it_is_moved() -> None:
    app = TableApp(100)
    async with app.run_test(headless=False, size=(120, 20)) as pilot:
        app.table.stay_on_top = True
        app.table.show(app.order[::-1], MOMENT)
        await settle(pilot)
        assert app.table.cursor == app.order[-1]
        assert "job-99" in app.line(1)
        app.table.move(3)
        moved_to = app.table.cursor
        app.table.show(app.order, MOMENT)
        await settle(pilot)
        assert app.table.cursor == moved_to


async def test_a_row_that_goes_leaves_the_cursor_where_it_was() -> None:
    app = TableApp(10)
    async with app.run_test(headless=False, size=(120, 20)) as pilot:
        app.table.move(4)
        app.table.show(app.order[:4] + app.order[5:], MOMENT)
        await settle(pilot)
        assert app.table.cursor == Ref("c", "job", "5")
        app.table.show([], MOMENT)
        await settle(pilot)
        assert app.table.cursor is None
        assert app.moved[-1] is None


async def test_the_end_stays_the_end_after_a_refresh() -> None:
    app = TableApp(100)
    async with app.run_test(headless=False, size=(120, 20)) as pilot:
        app.table.move(1000)
        await settle(pilot)
        assert app.table.cursor == Ref("c", "job", "99")
        app.table.show(list(app.order), MOMENT, set(app.order))
        await settle(pilot)
        assert app.table.cursor == Ref("c", "job", "99")
        assert " 99 " in app.line(19)


async def test_an_empty_table_says_why() -> None:
    app = TableApp(0)
    async with app.run_test(headless=False, size=(60, 10)) as pilot:
        app.table.explain_empty(["Never loaded: waiting for demo."])
        await settle(pilot)
        assert "Never loaded: waiting for demo." in app.line(2)


async def test_columns_drop_by_priority_and_marks_show() -> None:
    app = TableApp(5)
    async with app.run_test(headless=False, size=(40, 10)) as pilot:
        await settle(pilot)
        header = app.line(0)
        assert "STATE" in header and "NAME" in header and "REASON" not in header and "NODES" not in header
        app.table.set_marks({Ref("c", "job", "2")})
        await settle(pilot)
        assert app.line(3).startswith("*") and not app.line(2).startswith("*")


@pytest.mark.parametrize("width", [1, 2, 10, 37, 80, 200])
async def test_every_line_is_exactly_as_wide_as_the_table(width: int) -> None:
    app = TableApp(3)
    app.rows[Ref("c", "job", "1")] = app.rows[Ref("c", "job", "1")]._replace(name="日本語ジョブ名日本語ジョブ名")
    async with app.run_test(headless=False, size=(width, 6)) as pilot:
        await settle(pilot)
        room = app.table.scrollable_content_region.width
        assert room == max(0, width - 1), "a column is kept for the scrollbar"
        for y in range(6):
            assert app.table.render_line(y).cell_length == room


class TestCost:
    """The budgets of the design, at 100,000 rows, in bytes through the driver."""

    async def test_a_change_off_screen_writes_nothing(self) -> None:
        app = TableApp(100_000)
        async with app.run_test(headless=False, size=(160, 50)) as pilot:
            await settle(pilot)
            CountingDriver.reset()
            app.table.update_rows({app.change(n, status="failed") for n in range(5000, 6000)}, MOMENT)
            await settle(pilot)
            assert CountingDriver.count() == 0

    @pytest.mark.parametrize("fields", [{"status": "failed"}, {"name": "renamed"}, {"cores": 9}, {"reason": "other"}])
    async def test_a_changed_cell_is_at_most_400_bytes(self, fields: dict[str, object]) -> None:
        app = TableApp(100_000)
        async with app.run_test(headless=False, size=(160, 50)) as pilot:
            await settle(pilot)
            CountingDriver.reset()
            app.table.update_rows({app.change(7, **fields)}, MOMENT)
            await settle(pilot)
            assert 0 < CountingDriver.count() <= 400

    async def test_a_page_is_at_most_20_kilobytes(self) -> None:
        app = TableApp(100_000)
        async with app.run_test(headless=False, size=(160, 50)) as pilot:
            await settle(pilot)
            for _ in range(3):
                CountingDriver.reset()
                app.table.move(49)
                await settle(pilot)
                assert 0 < CountingDriver.count() <= 20_000

    async def test_a_row_that_did_not_change_writes_nothing(self) -> None:
        app = TableApp(1000)
        async with app.run_test(headless=False, size=(160, 50)) as pilot:
            await settle(pilot)
            CountingDriver.reset()
            app.table.show(list(app.order), MOMENT, set(app.order))
            await settle(pilot)
            assert CountingDriver.count() == 0

    async def test_a_thousand_changes_cost_the_same_in_a_long_table(self) -> None:
        """Ten batches of 100, ten of them on screen; the part of a core is held by the bench."""
        long, short = [min([await self._spent(rows) for _ in range(2)]) for rows in (100_000, 1000)]
        assert long < 1.5 * short  # measured 0.43: of a short table more is on the screen

    async def _spent(self, rows: int) -> float:
        """CPU seconds of the thread."""
        app = TableApp(rows)
        async with app.run_test(headless=False, size=(160, 50)) as pilot:
            await settle(pilot)
            start = time.thread_time()
            for batch in range(10):
                changed = {app.change(n, cores=batch + 10) for n in range(batch, rows, rows // 100)}
                changed |= {app.change(n, cores=batch + 10) for n in range(10)}
                app.table.update_rows(changed, MOMENT)
                await settle(pilot)
            return time.thread_time() - start
