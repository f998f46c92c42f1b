"""An episode as it is looked at, from the records of real runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from looked_at import opened, two_runs

from groundwire.core._models import Message, Request, ToolCall
from groundwire.core._prompt_text import estimate_tokens
from groundwire.core._records import EpisodeEnd, EpisodeRecord, Intent, ModelCall
from groundwire.viewer import Ledgers, export_episode, export_run
from groundwire.viewer._comparing import compare_episodes, compare_runs
from groundwire.viewer._episode import EpisodeView, view_of
from groundwire.viewer._model_calls import PromptPart, ShownMessage, parts_of
from groundwire.viewer._way import MOST_STEPS, Way, drawing_of, way_of


async def _views(folder: Path) -> tuple[EpisodeView, EpisodeView]:
    runs = await two_runs(folder)
    async with aclosing(Ledgers([opened(folder)])) as ledgers:
        ids = [(await ledgers.outcomes(run.id))[0][2] for run in runs]
        good, bad = [await ledgers.episode(name) for name in ids]
    return good, bad


async def test_a_trial_holds_what_belongs_to_it(tmp_path: Path) -> None:
    view, _ = await _views(tmp_path)
    assert (view.verdict, view.stop_reason, view.task_id) == ("pass", "verified", "sum")
    first, second = view.trials
    assert (first.number, first.lessons) == (1, [])
    assert [call.purpose for call in first.calls] == ["propose", "reflect"]
    assert "How much is 6 times 7?" in str(first.calls[0].messages)
    assert "41" in first.calls[0].answers[0]
    assert (first.verdict, second.verdict) == ("fail", "pass")
    (wrong,) = first.candidates
    (signal,) = wrong.signals
    assert signal.verdict == "fail" and signal.opened and signal.gate.startswith("refine")
    (reflection,) = first.reflections
    assert reflection.text == "Carry the four." and reflection.signal == signal.id
    (lesson,) = second.lessons
    assert (lesson.id, lesson.text, lesson.rank) == (reflection.id, "Carry the four.", 1) and lesson.why
    (right,) = second.candidates
    assert right.is_best and not wrong.is_best and view.best_candidate == right.digest
    assert view.tokens == sum(t.tokens for t in view.trials) > 0


async def test_the_way_names_the_parts_in_the_order_of_the_loop(tmp_path: Path) -> None:
    runs = await two_runs(tmp_path)
    async with aclosing(Ledgers([opened(tmp_path)])) as ledgers:
        records = await ledgers.records((await ledgers.outcomes(runs[0].id))[0][2])
        config = await ledgers.config(runs[0].id)
    drawing = drawing_of(config, way_of(records, critic="reflect"))
    assert drawing is not None
    at = {node.name: node.x for node in drawing.nodes}
    assert list(at) == ["write", "test", "gate", "reflect", "end"]
    assert {(arc.start, arc.end, arc.is_gate) for arc in drawing.arcs} >= {
        (at["write"], at["test"], False), (at["gate"], at["reflect"], True), (at["reflect"], at["write"], False),
    }  # fmt: skip
    declared = drawing_of(config)
    assert declared is not None and [arc.label for arc in declared.arcs] == ["refine"]
    assert drawing_of({}) is None
    way = way_of(records)
    assert way.lanes[0] == "write" and list(way.lanes[-3:]) == ["gate", "critic", "end"]
    met = [way.lanes[step.lane] for step in way.steps]
    assert met[-1] == "end" and way.steps[-1].label == "verified"
    critic = met.index("critic")
    assert (met[critic - 1], met[critic + 1]) == ("gate", "write")
    assert ("gate", "critic", 1) in way.edges
    assert len(way_of([*records] * 60).steps) == MOST_STEPS + 1


async def test_an_episode_that_goes_on_is_open(tmp_path: Path) -> None:
    runs = await two_runs(tmp_path)
    async with aclosing(Ledgers([opened(tmp_path)])) as ledgers:
        records = await ledgers.records((await ledgers.outcomes(runs[0].id))[0][2])
    begun = [record for record in records if not isinstance(record, EpisodeEnd)]
    view = view_of([r for r in begun if not (isinstance(r, ModelCall) and r.trial == 2)], lessons={})
    assert (view.verdict, view.stop_reason, view.best_candidate) == ("open", "", "")
    assert view.trials[1].calls[0].cut_off
    with pytest.raises(ValueError, match="no beginning"):
        view_of([r for r in records if not isinstance(r, EpisodeRecord)], lessons={})


async def test_two_runs_task_by_task(tmp_path: Path) -> None:
    runs = await two_runs(tmp_path)
    async with aclosing(Ledgers([opened(tmp_path)])) as ledgers:
        good, bad = [await ledgers.outcomes(run.id) for run in runs]
        compared = compare_runs(bad, good)
        views = [await ledgers.episode(outcomes[0][2]) for outcomes in (bad, good)]
    assert [pair.task for pair in compared.fixed] == ["sum"]
    assert not (compared.broken or compared.both or compared.neither or compared.unmatched)
    assert [len(some) for _, some in compare_runs(good, []).sets.values()] == [0, 0, 0, 0, 1]
    pairs = compare_episodes(*views)
    assert [(left.number if left else None, right.number if right else None) for left, right in pairs] == [
        (1, 1), (2, 2), (3, None),
    ]  # fmt: skip


def test_the_call_of_a_tool_and_its_result_know_each_other() -> None:
    request = Request(
        purpose="propose",
        messages=(
            Message(role="user", content="look"),
            Message(
                role="assistant",
                content="",
                tool_calls=(ToolCall(id="a", name="ls", arguments="{}"), ToolCall(id="b", name="cat", arguments="{}")),
            ),
            Message(role="tool", content="two files", answers="b"),
            Message(role="tool", content="of nobody", answers="z"),
        ),
    )
    body = request.model_dump_json()
    begun = EpisodeRecord(id="e", run_id="r", task_id="t")
    view = view_of(
        [begun, Intent(id="i", episode_id="e", trial=1, kind="model_call", digest="d", body=body)], lessons={}
    )
    messages = view.trials[0].calls[0].messages
    assert [list(message.results) for message in messages] == [[], [0, 3], [], []]
    assert [message.asked_in for message in messages] == [0, 0, 2, 0]


async def test_a_file_to_share_never_outgrows_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view, _ = await _views(tmp_path)
    long = [PromptPart("", "x" * 30_000, 1)]
    call = replace(view.trials[0].calls[0], messages=[ShownMessage("user", long, 1)], answers=["y" * 30_000])
    large = replace(view, trials=[replace(trial, calls=[call] * 4) for trial in view.trials])
    way = way_of([])
    monkeypatch.setattr("groundwire.viewer._export.MOST_BYTES", 100_000)
    shared = export_episode(large, way)
    assert "each text is cut after 4,000 characters" in shared and "x" * 4_000 in shared
    assert len(shared) < 100_000 + len(export_episode(replace(view, trials=[]), way))
    monkeypatch.setattr("groundwire.viewer._export.MOST_BYTES", 9_000)
    assert "1 trial left out at the end" in export_episode(large, way)


async def test_a_run_is_read_no_further_than_it_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, _ = await two_runs(tmp_path)
    monkeypatch.setattr("groundwire.viewer._export.MOST_BYTES", 12_000)
    read = 0

    async def same() -> AsyncIterator[tuple[EpisodeView, Way]]:
        nonlocal read
        for _ in range(50):
            read += 1
            yield await ledgers.episode_and_way(episode)

    async with aclosing(Ledgers([opened(tmp_path)])) as ledgers:
        run, _ = await ledgers.run(good.id)
        ((_, _, episode, _),) = await ledgers.outcomes(good.id)
        shared = await export_run(replace(run, verdicts={"pass": 50}), same())
    assert 1 <= read < 10 and f"{50 - read + 1} left out" in shared


def test_a_prompt_is_told_part_by_part() -> None:
    text = (
        'Do it.\n\n<task>\nadd\n</task>\n\n<file path="a.py">\nx = 1 &lt; 2\n</file>\n<file path="b.py">\n</file>\nGo.'
    )
    parts = parts_of(text)
    assert [part.name for part in parts] == ["", "task", "file", "file", ""]
    assert parts[2].text == '<file path="a.py">\nx = 1 &lt; 2\n</file>'
    assert all(part.tokens == estimate_tokens(part.text) for part in parts)


@pytest.mark.parametrize("text", ["<task>\nnever ended", "<task></task></task>", "</task><task>", "<" * 5000, ""])
def test_odd_tags_lose_no_text(text: str) -> None:
    assert "".join("".join(part.text.split()) for part in parts_of(text)) == "".join(text.split())
