"""A ledger with real runs that the viewer's tests look at, and one whose every text is hostile."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from recorded_runs import ledger_at, question, repairing, run, saying

from groundwire.core._records import RunRecord
from groundwire.memory import SqlStore

SCRIPT = "</pre><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
UNSEEN = "\x1b[31mred\x1b[0m \u202eright to left\u202c \x00 nul \ud83d half of an emoji"
HOSTILE = f"{SCRIPT} {UNSEEN} {{{{ 7 * 7 }}}} <svg onload=alert(1)> javascript:alert(1)"


async def two_runs(folder: Path) -> tuple[RunRecord, RunRecord]:
    """A run that gets there in its second trial, with a lesson in between, and one that never does; in `ledger.db`."""
    async with aclosing(ledger_at(folder)) as store:
        good = await run(store, repairing([saying("41"), saying("42")]), question())
        bad = await run(store, repairing([saying("1"), saying("2"), saying("3")]), question())
    return good, bad


async def hostile_run(folder: Path) -> RunRecord:
    """A run whose task, answers, reflection and prompt try to break out of a page."""
    async with aclosing(ledger_at(folder)) as store:
        graph = repairing([saying(f"41 {HOSTILE}"), saying("42")], name="model<script>", reflection=HOSTILE)
        return await run(store, graph, question("sum<b>", f"How much? {HOSTILE}"), note=HOSTILE)


def opened(folder: Path) -> SqlStore:
    """The ledger of `folder`, opened anew."""
    return ledger_at(folder)
