"""`groundwire learn`: real worlds through the real command, cut off and gone on with, alone and beside others."""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from cli import Ran, begin, groundwire

from groundwire.cli import main
from groundwire.core._records import EpisodeEnd, Intent, ReflectionRecord, TrialRecord
from groundwire.memory import SqlStore

SUPPORT = Path(__file__).parents[1] / "support"
STAIRS = f"{SUPPORT / 'worlds.py'}:Stairs"
APART = "without-memory"


@pytest.fixture
def learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command, in this process."""

    def run(*arguments: Any, command: str = "learn") -> Ran:
        given = ["--db", f"sqlite:///{tmp_path / 'ledger.db'}", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", ["groundwire", command, *given])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Ran(int(ended.value.code or 0), said.out, said.err)

    return run


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def of(kind: str, told: Sequence[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    return [t for t in told if t["type"] == kind and all(t.get(k) == v for k, v in fields.items())]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that processes may share."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'ledger.db'}"


async def ledger(file: Path | str, run_id: str, namespace: str = "") -> dict[int, list[Any]]:
    """By seed, the records of a run's episodes."""
    url = file if isinstance(file, str) else f"sqlite:///{file}"
    async with aclosing(SqlStore(url, namespace=namespace)) as store:
        return {episode.seed: list(await store.records(episode.id)) for episode in await store.episodes(run_id)}


def test_a_learner_with_memory_beats_itself_without_and_only_one_of_them_remembers(learn: Any, tmp_path: Path) -> None:
    png, svg = tmp_path / "curve.png", tmp_path / "curve.svg"
    asked = ("--episodes", 12, "--trials", 3, "--seed", 5, "--model", "tabular", "--plot", png, "--plot", svg)
    ran = learn(STAIRS, *asked, "--json")
    told = lines(ran.out)
    main_run, control = (run["run_id"] for run in of("run", told))
    (summary,) = of("summary", told)
    assert told[0] == {"type": "memory", "is_empty": True}
    with_it, without = summary["learning"]["with_memory"], summary["learning"]["without_memory"]
    assert ran.code == summary["exit_code"] == (0 if with_it["by_trial"][-1]["part"] == 12 else 1)

    for name in ("with_memory", "without_memory"):
        played = of("episode", told, arm=name)
        assert [e["seed"] for e in sorted(played, key=lambda e: e["seed"])] == list(range(5, 17))
        assert summary["learning"][name]["seeds"] == list(range(5, 17))
    won = {e["seed"]: e["trials"] if e["verdict"] == "pass" else 4 for e in of("episode", told, arm="with_memory")}
    assert with_it["to_success"] == [won[seed] for seed in range(5, 17)]
    assert [rate["part"] for rate in with_it["by_trial"]] == [sum(t <= n for t in won.values()) for n in (1, 2, 3)]
    assert with_it["first_tries"][-1]["whole"] == with_it["window"] == 5
    assert with_it["to_success"][-5:] == [1] * 5, "the doors are known by then"
    assert 1 not in without["to_success"][:2] and sum(without["to_success"]) > 2 * sum(with_it["to_success"])
    assert summary["memory"][0]["answer"] == "helped" and "memory helped (n = 12)" in summary["memory"][0]["said"]
    assert [d["what"] for d in summary["memory"]] == ["won within 3 trials", "first trials won", "trials to success"]
    assert all(d["pairs"] == 12 and d["said"] for d in summary["memory"])

    # the other arm is given nothing and leaves nothing behind
    ours = asyncio.run(ledger(tmp_path / "ledger.db", main_run))
    theirs = asyncio.run(ledger(tmp_path / "ledger.db", control, APART))
    assert ours.keys() == theirs.keys() == set(range(5, 17))
    assert any(isinstance(r, ReflectionRecord) for records in ours.values() for r in records)
    blind = [r for records in theirs.values() for r in records]
    assert not any(isinstance(r, ReflectionRecord) for r in blind)
    assert not any(r.lessons for r in blind if isinstance(r, TrialRecord))
    assert not asyncio.run(ledger(tmp_path / "ledger.db", control)), "it is out of sight from where memory is used"

    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", head[16:24]) == (900, 340)
    assert svg.read_text().lstrip().startswith("<?xml") and "without memory" in svg.read_text()

    # a report finds both arms, and says the same of them
    reported = learn(main_run, "--json", command="report")
    arms = reported.data["runs"]
    assert [arm["run"] for arm in arms] == [main_run, control]
    (beside,) = arms[0]["controls"]
    assert beside["what"] == "memory"
    assert beside["comparison"]["difference"] == pytest.approx(summary["memory"][0]["difference"])
    shown = learn(main_run, "--json", command="show")
    assert shown.code == 0 and len(shown.data["episodes"]) == 12 and not shown.data["seals"]["broken"]

    # the other arm is found by the id that was printed, wherever it is kept
    shown = learn(control[:20], "--json", command="show")
    assert shown.code == 0 and len(shown.data["episodes"]) == 12 and shown.data["run"]["id"] == control
    alone = learn(control, "--json", command="report")
    assert [arm["run"] for arm in alone.data["runs"]] == [control]
    named = learn(main_run, "--control", control, "--json", command="report")
    assert named.data["runs"][0]["controls"][0]["comparison"]["difference"] == beside["comparison"]["difference"]
    assert learn("no-such-run", command="show").code == 2


def test_what_a_person_sees(learn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = learn(STAIRS, "--episodes", 6, "--trials", 2, "--model", "random", "--plot", "~/curve.svg")
    assert (tmp_path / "curve.svg").is_file()
    assert "won by trial" in ran.out and "first trials won, mean of the last 5 episodes" in ran.out
    assert "━━ with memory" in ran.out and "trials to success in episodes 1-6" in ran.out
    assert "can't tell if memory helped (n = 6): won within 2 trials" in ran.out
    assert ran.code == 1, "a random actor does not win everywhere"
    alone = learn(STAIRS, "--episodes", 1, "--trials", 1, "--model", "random", "--no-control", "--json")
    told = lines(alone.out)
    assert [run["arm"] for run in of("run", told)] == ["with_memory"]
    assert of("summary", told)[0]["memory"] == []


def test_a_model_reasons_acts_and_reflects_and_its_control_never_hears_of_it(learn: Any, tmp_path: Path) -> None:
    script = tmp_path / "answers.jsonl"
    said = ["Action: right", "The left door leads on.", "Action: left", "Action: middle", "Action: right"]
    blind = ["Action: right", "Action: middle"]
    script.write_text("".join(f"{json.dumps(text)}\n" for text in (*said, *blind)))
    asked = ("--episodes", 1, "--trials", 2, "--model", f"scripted:{script}", "--json")
    told = lines(learn(STAIRS, *asked).out)
    runs = [run["run_id"] for run in of("run", told)]
    assert [(e["arm"], e["stop_reason"], e["trials"]) for e in of("episode", told)] == [
        ("with_memory", "verified", 2),
        ("without_memory", "budget_trials", 2),
    ]
    ours = prompts(asyncio.run(ledger(tmp_path / "ledger.db", runs[0]))[0])
    theirs = prompts(asyncio.run(ledger(tmp_path / "ledger.db", runs[1], APART))[0])
    assert len(ours) == 5 and "The left door leads on." in ours[2]
    assert len(theirs) == 2 and "left door" not in "".join(theirs)
    assert theirs[0] == theirs[1] == ours[0], "each trial is a first trial"


def prompts(records: Sequence[Any]) -> list[str]:
    """What a model was asked."""
    return [json.dumps(json.loads(r.body)["messages"]) for r in records if isinstance(r, Intent)]


def test_a_killed_run_is_gone_on_with_and_nothing_is_played_twice(learn: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    asked = ("--episodes", "300", "--trials", "3", "--model", "random", "--no-control", "--db", url, "--json")
    process = begin("learn", STAIRS, *asked)
    assert process.stdout is not None
    process.stdout.readline()
    run_id = json.loads(process.stdout.readline())["run_id"]
    for _ in range(3):
        assert json.loads(process.stdout.readline())["type"] == "episode"
    process.kill()
    process.communicate()
    before = asyncio.run(ledger(tmp_path / "ledger.db", run_id))
    ended = {seed for seed, records in before.items() if any(isinstance(r, EpisodeEnd) for r in records)}
    assert 3 <= len(ended) < 300

    # used-up totals are a good place to look at it
    stopped = learn("--resume", run_id[:20], "--total-seconds", 0.3, "--json")
    assert stopped.code == 4 and f"groundwire learn --resume {run_id} --total-seconds MORE" in stopped.err
    again = {e["seed"] for e in of("episode", lines(stopped.out))}
    assert not again & ended
    after = asyncio.run(ledger(tmp_path / "ledger.db", run_id))
    assert ended <= after.keys()
    for seed in ended:
        assert after[seed] == before[seed]
    (summary,) = of("summary", lines(stopped.out))
    assert summary["learning"]["with_memory"]["episodes"] == len(after)


def test_two_processes_learn_together(learn: Any, url: str) -> None:
    asked = ("--episodes", "8", "--trials", "2", "--model", "tabular", "--no-control", "--db", url, "--json")
    other = begin("learn", STAIRS, *asked, "--seed", "100")
    outs = [learn(STAIRS, *asked, "--seed", "0").out, other.communicate(timeout=600)[0]]
    runs = [of("run", lines(out))[0]["run_id"] for out in outs]
    assert [len(of("episode", lines(out))) for out in outs] == [8, 8]
    played = [asyncio.run(ledger(url, run)) for run in runs]
    assert [sorted(p) for p in played] == [list(range(8)), list(range(100, 108))]
    third = lines(learn(STAIRS, *asked, "--seed", 200).out)
    assert of("memory", third) == [{"type": "memory", "is_empty": False}]
    assert of("summary", third)[0]["learning"]["with_memory"]["to_success"] == [1] * 8, "what both learned is there"


def test_what_can_not_be_done_is_said_before_anything_is_played(learn: Any, tmp_path: Path) -> None:
    def refused(*arguments: Any) -> str:
        ran = learn(*arguments)
        assert ran.code == 2 and not ran.out, ran
        return ran.err

    assert "no world called" in refused("FrozenLak")
    assert "No world is named" in refused()
    assert "Did you mean --model tabular?" in refused(STAIRS, "--model", "tabulars")
    assert "is not the name of an image file" in refused(STAIRS, "--plot", tmp_path / "x.jpeg")
    assert "no folder" in refused(STAIRS, "--plot", tmp_path / "none" / "x.png")
    (tmp_path / "folder.png").mkdir()
    assert "is a folder" in refused(STAIRS, "--plot", tmp_path / "folder.png")
    corridor = refused(f"{SUPPORT / 'worlds.py'}:Corridor", "--model", "random")
    assert "does not say what can be done" in corridor and "--model MODEL" in corridor
    assert "keeps its world" in refused(STAIRS, "--resume", "0")
    assert not (tmp_path / "ledger.db").exists() or not asyncio.run(_runs(tmp_path))


async def _runs(tmp_path: Path) -> Sequence[Any]:
    async with aclosing(SqlStore(f"sqlite:///{tmp_path / 'ledger.db'}")) as store:
        return await store.runs()


ENV = """
import gymnasium
from line_goal import GOAL

class Line(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Discrete(GOAL + 1)
    def reset(self, *, seed=None, options=None):
        self.at = 1
        return self.at, {}
    def step(self, action):
        self.at += 1 if action else -1
        return self.at, float(self.at == GOAL), self.at in (0, GOAL), False, {}
"""


def test_an_env_of_ones_own_is_told_at_its_first_missing_verdict_what_to_add(tmp_path: Path) -> None:
    (tmp_path / "line_goal.py").write_text("GOAL = 3\n")
    (tmp_path / "my_env.py").write_text(ENV)
    asked = (
        "learn",
        f"{tmp_path}/my_env.py:Line",
        "--episodes",
        "3",
        "--no-control",
        "--db",
        f"sqlite:///{tmp_path}/l.db",
    )
    unsaid = groundwire(*asked)
    assert unsaid.code == 3
    assert unsaid.out.count("won_if=reward>=1") == 1 and unsaid.out.count("did not say whether it was won") == 3
    ruled = groundwire(*asked, "--won-if", "reward>=1", "--namespace", "ruled")
    assert ruled.code == 0 and "won 3 of 3" in ruled.out, ruled.out
