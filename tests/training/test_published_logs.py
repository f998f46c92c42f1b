"""Published logs as training data: what was shown between an agent's steps is in what is learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from method_rows import made
from recorded_runs import ledger_at

from groundwire.core._records import RunRecord
from groundwire.core._seal import MemoryKeys
from groundwire.logs.runs import LoggedRun, runs_in, write_run
from groundwire.training import Trajectory, trajectories_of
from groundwire.training._schema import Options, Rejected
from groundwire.training._trajectories import Author, Message
from groundwire.training.forms._grpo import GrpoRow
from groundwire.training.forms._prm import PrmRow
from groundwire.training.forms._prm import rows as prm_rows
from groundwire.training.methods._rl2f import Rl2fRow
from groundwire.training.methods._two_attempts import TwoAttemptsRow

DATA = Path(__file__).parents[2].parent / "shared" / "data"
LOGS = ("reflexion_hotpotqa/react_reflexion", "reflexion_hotpotqa/cot_context_reflexion", "intercode/sql_gpt4_10turns")
EPISODES = 8
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the published logs are not on this machine")


def some_episodes(run: LoggedRun) -> LoggedRun:
    """The first of them, and the first that were tried again."""
    every = list(run.read())
    tried_again = [episode for episode in every if len(episode.trials) > 1][: EPISODES // 2]
    episodes = [*every[: EPISODES - len(tried_again)], *tried_again]
    return replace(run, read=lambda: iter(episodes))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[Trajectory]]:
    """By log, some of its episodes, through a real ledger."""
    return asyncio.run(imported(tmp_path_factory.mktemp("logs")))


async def imported(folder: Path) -> Mapping[str, Sequence[Trajectory]]:
    keys = MemoryKeys()
    found: dict[str, Sequence[Trajectory]] = {}
    async with aclosing(ledger_at(folder)) as store:
        for name in LOGS:
            (logged,) = (run for run in runs_in(DATA / name.partition("/")[0]) if run.name == name)
            run_id = name.replace("/", "-")
            await write_run(store, some_episodes(logged), key=keys.create(run_id), run_id=run_id)
            (record,) = await store.runs(prefix=run_id)
            assert isinstance(record, RunRecord)
            found[name] = [one async for one in trajectories_of(store, [record], keys=keys)]
    return found


@pytest.mark.parametrize("name", [LOGS[0], LOGS[2]])
def test_what_was_shown_between_two_steps_is_in_the_prompt(told: Mapping[str, Sequence[Trajectory]], name: str) -> None:
    """1,328 of 1,747 HotpotQA rows showed the steps alone."""
    rows, reasons = made("grpo", told[name], GrpoRow, Options(least_group=1))
    later = [row for row in rows if len(row.prompt) > 1]
    assert later and "observation_not_in_prompt" not in reasons
    for row in later:
        roles = [message.role for message in row.prompt]
        assert roles[-1] == "user" and not any(a == b == "assistant" for a, b in pairwise(roles))
        shown = [part for part in row.provenance.origins if part.part == f"prompt[{len(roles) - 1}]"]
        assert {part.origin for part in shown} <= {Author.ENV, Author.HUMAN} and shown
    if name == LOGS[0]:
        assert any("Obs" not in row.prompt[-1].content and len(row.prompt[-1].content) > 100 for row in later)


def test_a_row_whose_prompt_lacks_them_is_refused(told: Mapping[str, Sequence[Trajectory]]) -> None:
    """Ledgers of earlier imports hold such prompts."""

    def without(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(m for at, m in enumerate(messages) if at == 0 or m.role == "assistant")

    old = [
        one.model_copy(
            update={
                "trials": tuple(
                    t.model_copy(
                        update={"turns": tuple(u.model_copy(update={"prompt": without(u.prompt)}) for u in t.turns)}
                    )
                    for t in one.trials
                )
            }
        )
        for one in told[LOGS[0]]
    ]
    rows, reasons = made("grpo", old, GrpoRow, Options(least_group=1))
    assert reasons.count("observation_not_in_prompt") > 0
    assert all([m.role for m in row.prompt].count("assistant") <= 1 for row in rows)


def test_steps_of_a_process_reward_model_begin_with_what_came_back(
    told: Mapping[str, Sequence[Trajectory]],
) -> None:
    found = [row for row in prm_rows(told[LOGS[0]], Options()) if not isinstance(row, Rejected)]
    walks = [row for row in found if isinstance(row, PrmRow) and row.unit == "action" and len(row.completions) > 1]
    assert walks
    for row in walks:
        scenes = {p.part: p for p in row.provenance.origins if p.what == "scene"}
        assert "completions[0]" not in scenes and row.completions[0].startswith(("Thought:", "Action:"))
        for place, text in enumerate(row.completions[1:], 1):
            part = scenes[f"completions[{place}]"]
            assert part.origin is Author.ENV and text[part.end :].lstrip("\n").startswith(("Thought:", "Action:"))


def test_a_dialogue_shows_the_world_between_the_student_s_steps(told: Mapping[str, Sequence[Trajectory]]) -> None:
    rows, _ = made("rl2f", told[LOGS[0]], Rl2fRow)
    assert any(turn.speaker == "world" for row in rows for turn in row.turns)
    for row in rows:
        for one, other in pairwise(row.turns):
            assert not (one.speaker == other.speaker == "student")
        assert not any(turn.loss or turn.predict for turn in row.turns if turn.speaker == "world")
    assert any(row.gold_known for row in rows), "the walk's last answer"


def test_a_walk_s_last_step_and_the_next_one_s_first_are_no_pair(told: Mapping[str, Sequence[Trajectory]]) -> None:
    rows, reasons = made("two_attempts", told[LOGS[0]], TwoAttemptsRow)
    assert not rows and "step_and_no_whole_answer" in reasons
    rows, _ = made("two_attempts", told[LOGS[1]], TwoAttemptsRow)
    assert rows and all(row.first != row.second for row in rows), "an answer given at once is a whole one"
