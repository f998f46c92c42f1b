"""`groundwire run` and `groundwire bench`: real runs of many tasks, cut off and gone on with, and their control arm."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli import begin, groundwire, lay_out
from hypothesis import given
from hypothesis import strategies as st
from word_graph import NEEDED

from groundwire.benchmarks import Item
from groundwire.cli._resuming import resume_run
from groundwire.cli._run import run_suite
from groundwire.cli._suite import Shard, Suite, TaskSource, chosen
from groundwire.core._errors import ConfigError, GroundwireError, TaskError
from groundwire.core._records import EpisodeEnd, Intent, ReflectionRecord, TrialRecord
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.memory import SqlStore

GRAPHS = Path(__file__).parents[1] / "support" / "word_graph.py"


def task_folder(root: Path, name: str, value: int = 1, solution: str = "def up(x):\n    return x\n") -> Path:
    test = (
        "from solution import up\nimport unittest\n\n\nclass Up(unittest.TestCase):\n    def test_up(self):\n"
        f"        self.assertEqual(up({value}), {value + 1})\n"
    )
    toml = f'id = "{name}"\nfamily = "{name}"\n\n[tests]\ncommand = "python -S -m unittest tests.test_up"\n'
    return lay_out(
        root / name,
        {"solution.py": solution, "tests/test_up.py": test, "task.toml": toml},
    )


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def of(kind: str, told: Sequence[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    return [t for t in told if t["type"] == kind and all(t.get(k) == v for k, v in fields.items())]


async def ledger(file: Path, run_id: str) -> dict[str, list[Any]]:
    """By task, the records of its episodes in a run."""
    async with aclosing(SqlStore(f"sqlite:///{file}")) as store:
        found: dict[str, list[Any]] = {}
        for episode in await store.episodes(run_id):
            found.setdefault(episode.task_id, []).append((episode, await store.records(episode.id)))
        return found


def test_tasks_are_run_and_blind_resampling_with_as_many_tokens_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        task_folder(tmp_path / "tasks" / "train", f"up{number}", number)
    task_folder(tmp_path / "tasks" / "test", "right", solution="def up(x):\n    return x + 1\n")
    db = tmp_path / "ledger.db"
    asked = ("--control", "--seed", 7, "--trials", 3, "--at-once", 2, "--db", f"sqlite:///{db}", "--json")
    ran = groundwire("run", f"{GRAPHS}:make", tmp_path / "tasks", *map(str, asked))
    told = lines(ran.out)
    main, control = (run["run_id"] for run in of("run", told))
    assert ran.code == 0, ran.err
    assert {e["task_id"]: (e["stop_reason"], e["split"]) for e in of("episode", told, arm="main")} == {
        "up0": ("verified", "train"),
        "up1": ("verified", "train"),
        "up2": ("verified", "train"),
        "right": ("already_passing", "test"),
    }
    (summary,) = of("summary", told)
    (bought,) = summary["correction"]
    assert bought["control_run"] == control and bought["tasks"] == 3, (
        "what passes before any try says nothing of either"
    )
    assert (bought["better"], bought["worse"], bought["spent"]["what"]) == (3, 0, "tokens")
    assert "n = 3" in bought["said"]

    config = asyncio.run(config_of(db, main))
    assert (config["suite"]["seed"], config["suite"]["splits"]) == (7, {"train": 3, "test": 1})
    assert config["suite"]["graph"] == f"{GRAPHS}:make" and len(config["suite"]["tasks"]) == 4
    other = asyncio.run(config_of(db, control))
    assert (other["control_of"], other["control"], other["held_to"]) == (main, "resampling", "allowance")
    assert "the control was allowed what the run was: equal" in bought["said"]

    ours, theirs = asyncio.run(ledger(db, main)), asyncio.run(ledger(db, control))
    assert ours.keys() == theirs.keys()
    for name in ("up0", "up1", "up2"):
        ((episode, records),), ((blind, drawn),) = ours[name], theirs[name]
        assert episode.seed == blind.seed == 7
        assert not any(isinstance(r, ReflectionRecord) for r in drawn)
        first, prompts = requests(records)[0], requests(drawn)
        assert len(prompts) > 1 and NEEDED not in json.dumps(prompts)
        assert {json.dumps(p["messages"]) for p in prompts} == {json.dumps(first["messages"])}, (
            "each try is a first try"
        )
        assert len({p["seed"] for p in prompts}) == len(prompts) and prompts[0]["seed"] == first["seed"]
    spent = [{e["task_id"]: e["tokens"] for e in of("episode", told, arm=arm)} for arm in ("main", "resampling")]
    for name, used in spent[0].items():
        tries = {r.trial for r in ours[name][0][1] if isinstance(r, TrialRecord)} - {0}
        tokens = used * 3 / len(tries) if tries else used
        one_try = tokens and requests(theirs[name][0][1]) and spent[1][name] / len(requests(theirs[name][0][1]))
        assert tokens <= spent[1][name] < tokens + max(one_try, 1), (
            "what the run might use, to within one try, which the control may have"
        )

    # gone on with when all has ended: nothing is run again, and the control arm is found
    flags = {"db": f"sqlite:///{db}"}
    assert resume_run(main[:20], flags, as_json=True) == 0
    again = lines(capsys.readouterr().out)
    assert [run["run_id"] for run in of("run", again)] == [main, control] and not of("episode", again)
    assert of("summary", again) == [summary]
    with pytest.raises(ConfigError, match="is a control arm") as caught:
        resume_run(control, flags, as_json=True)
    assert main in caught.value.do


def test_one_bad_task_is_shown_and_costs_no_other_its_result(tmp_path: Path) -> None:
    for name in ("a", "bad", "c"):
        task_folder(tmp_path / "tasks", name)
    asked = ("run", f"{GRAPHS}:raises", tmp_path / "tasks", "--at-once", "1", "--db", f"sqlite:///{tmp_path}/l.db")
    ran = groundwire(*asked, "--json")
    reasons = {e["task_id"]: e["stop_reason"] for e in of("episode", lines(ran.out))}
    assert (ran.code, reasons) == (7, {"a": "verified", "bad": "internal_error", "c": "verified"}), ran.err
    (bad,) = of("episode", lines(ran.out), task_id="bad")
    assert "ZeroDivisionError: of nothing (word_graph.py:" in bad["error"]
    assert "ZeroDivisionError: of nothing" in groundwire(*asked).err + groundwire(*asked).out


def test_the_ungrounded_control_goes_back_over_its_own_answer_and_is_marked(tmp_path: Path) -> None:
    stub = 'def up(x):\n    """Return x + 1."""\n    raise NotImplementedError\n'
    task_folder(tmp_path / "tasks", "up", 1, stub)
    right = "FILE: solution.py\n```python\ndef up(x):\n    return x + 1\n```\n"
    main = [right.replace("x + 1", "x - 1"), "The sign is wrong.", right]
    control: list[str] = []
    for number in range(1, 121, 3):  # a draft and two revisions a trial, with what was criticised between them
        first, second, third = (f"    return x - {number + more}\n" for more in range(3))
        control += [first, "Looks right to me.", second, "Still right.", third]
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(json.dumps(text) for text in (*main, *control)))
    asked = ("--model", f"scripted:{script}", "--ungrounded", "--at-once", "1", "--db", f"sqlite:///{tmp_path}/l.db")
    ran = groundwire("run", "code_repair", str(tmp_path / "tasks"), *asked, "--json")
    assert ran.code == 0, ran.err
    told = lines(ran.out)
    (mine,), (theirs,) = of("episode", told, arm="main"), of("episode", told, arm="self_refine")
    assert (mine["stop_reason"], theirs["verdict"]) == ("verified", "fail")
    assert theirs["tokens"] >= mine["tokens"]
    run_id = theirs["run_id"]
    config = asyncio.run(config_of(tmp_path / "l.db", run_id))
    assert (config["control_of"], config["control"]) == (mine["run_id"], "self_refine")
    assert (config["grounded"], config["ungrounded"]) == (False, ["write"])
    (bought,) = of("summary", told)[0]["correction"]
    assert (bought["control_run"], bought["better"], bought["worse"]) == (run_id, 1, 0)
    shown = groundwire("show", run_id, "--db", f"sqlite:///{tmp_path}/l.db")
    assert "NOT grounded" in shown.out


def requests(records: Sequence[Any]) -> list[dict[str, Any]]:
    calls = [json.loads(r.body) for r in records if isinstance(r, Intent) and r.kind == "model_call"]
    return [call for call in calls if call["purpose"] == "propose"]


async def config_of(file: Path, run_id: str) -> dict[str, Any]:
    async with aclosing(SqlStore(f"sqlite:///{file}")) as store:
        (run,) = await store.runs(prefix=run_id)
        return json.loads(run.config)


def test_ctrl_c_leaves_a_run_that_goes_on_without_repeating_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "z"):
        task_folder(tmp_path / "tasks", name)
    db = tmp_path / "ledger.db"
    graphs = tmp_path / "mine.py"
    graphs.write_text(GRAPHS.read_text())
    process = begin("run", f"{graphs}:slow", tmp_path / "tasks", "--at-once", "1", "--db", f"sqlite:///{db}")
    assert process.stdout is not None
    begun = [process.stdout.readline() for _ in range(3)]
    assert [line.split()[1] for line in begun[1:]] == ["a", "b"], begun
    wait_until_begun(db, begun[0].split()[1], "z")
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=600)[0]
    run_id = begun[0].split()[1]
    assert process.returncode == 130 and f"continue with:  groundwire resume {run_id}" in rest, rest

    graphs.write_text(GRAPHS.read_text().replace("await asyncio.Event().wait()", "pass"))
    flags = {"db": f"sqlite:///{db}"}
    assert resume_run(run_id[:20], flags, as_json=True) == 0
    told = lines(capsys.readouterr().out)
    assert [run["run_id"] for run in of("run", told)] == [run_id]
    assert [e["task_id"] for e in of("episode", told)] == ["z"]
    assert of("summary", told)[0]["arms"][0]["verified"] == 3
    kept = asyncio.run(ledger(db, run_id))
    assert {name: len(episodes) for name, episodes in kept.items()} == {"a": 1, "b": 1, "z": 1}
    assert all(sum(isinstance(r, EpisodeEnd) for r in episodes[0][1]) == 1 for episodes in kept.values())

    task_folder(tmp_path / "tasks", "a", solution="def up(x):\n    return None\n")
    with pytest.raises(ConfigError, match="have changed since it began"):
        resume_run(run_id, flags, as_json=True)


def wait_until_begun(file: Path, run_id: str, task: str) -> None:
    for _ in range(600):
        if task in asyncio.run(ledger(file, run_id)):
            return
        time.sleep(0.05)
    raise AssertionError(f"{task} was never begun")


def test_a_run_that_has_used_up_its_total_is_gone_on_with_under_a_higher_one(tmp_path: Path) -> None:
    """Each task takes three calls: a wrong answer, a word on it, the right one."""
    for number in range(3):
        task_folder(tmp_path / "tasks", f"up{number}", number)
    db = ("--db", f"sqlite:///{tmp_path}/ledger.db")
    graph = f"{GRAPHS}:make"
    ran = groundwire("run", graph, str(tmp_path / "tasks"), "--at-once", "1", "--total-calls", "3", *db, "--json")
    (begun,) = of("run", lines(ran.out))
    assert ran.code == 4
    assert [e["stop_reason"] for e in of("episode", lines(ran.out))] == ["verified"]
    assert "the run's calls are used up; not started: 2 tasks" in ran.err
    assert f"groundwire resume {begun['run_id']} --total-calls MORE" in ran.err
    resumed = groundwire("resume", begun["run_id"], "--total-calls", "9", *db, "--json")
    assert [e["task_id"] for e in of("episode", lines(resumed.out))] == ["up1", "up2"]
    assert (resumed.code, of("summary", lines(resumed.out))[0]["arms"][0]["verified"]) == (0, 3)


def test_a_benchmark_is_run_and_its_hidden_tests_enter_no_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {
            "task_id": f"HumanEval/{number}",
            "prompt": f'def up(x):\n    """One more.\n    >>> up({number})\n    {number + 1}\n    """\n',
            "entry_point": "up",
            "test": f"def check(candidate):\n    assert candidate({number + 70}) == {number + 71}\n",
        }
        for number in range(4)
    ]
    (tmp_path / "HumanEval.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    db = tmp_path / "ledger.db"
    settings = Settings(max_trials=3, db=f"sqlite:///{db}")
    source = TaskSource("bench", (tmp_path,), "humaneval")
    suite = Suite(f"{GRAPHS}:make", source, settings, limit=3, shard=Shard(1, 2), select="last", at_once=1)
    assert run_suite(suite, as_json=True) == 0
    told = lines(capsys.readouterr().out)
    assert [(e["task_id"], e["hidden"]) for e in of("episode", told)] == [
        ("HumanEval/0", "pass"),
        ("HumanEval/2", "pass"),
    ]
    asked: list[int] = []
    for episodes in asyncio.run(ledger(db, of("run", told)[0]["run_id"])).values():
        prompts = [r.body for r in episodes[0][1] if isinstance(r, Intent) and r.kind == "model_call"]
        assert "One more" in prompts[0] and not any("candidate(7" in p or "def check" in p for p in prompts)
        asked.append(len(prompts))
    assert asked == [3, 1], "a try, its reflection and another try; then the lesson is known"


WRONG: dict[str, tuple[dict[str, Any], type[GroundwireError], str]] = {
    "no such graph": ({"graph": "code_repiar"}, ConfigError, "no graph 'code_repiar'"),
    "no such file": ({"graph": "nowhere.py:make"}, ConfigError, "no file nowhere.py"),
    "no such function": ({"graph": f"{GRAPHS}:makes"}, ConfigError, "no function 'makes'"),
    "a file that can't be imported": ({"graph": "broken.py:make"}, ConfigError, "can't be imported: SyntaxError"),
    "a part that can't be given": ({"graph": f"{GRAPHS}:needs_a_world"}, ConfigError, "needs world, which no command"),
    "a mistake in the function": ({"graph": f"{GRAPHS}:crashes"}, ConfigError, "crashes failed: KeyError: 'left'"),
    "no graph returned": ({"graph": f"{GRAPHS}:nothing"}, ConfigError, "nothing returned NoneType"),
    "a shard of nothing": ({"shard": Shard(3, 3)}, ConfigError, "shard 3/3 of these tasks is empty"),
    "no such split": ({"source": TaskSource("folders", (Path("tasks"),), split="dev")}, TaskError, "of the split dev"),
    "no folder": ({"source": TaskSource("folders", (Path("nowhere"),))}, TaskError, "nowhere is not a folder"),
    "no task": ({"source": TaskSource("folders", (Path("empty"),))}, TaskError, "There is no task in empty"),
    "one id twice": (
        {"source": TaskSource("folders", (Path("tasks"), Path("tasks")))},
        TaskError,
        "Two tasks have the id",
    ),
    "no model to go back over its answer": ({"ungrounded": True}, ConfigError, "Self-Refine needs a model"),
    "no model to write": ({"graph": "self_refine"}, ConfigError, "self_refine asks a model, and none is named"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_before_anything_is_run(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task_folder(tmp_path / "tasks", "a")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.py").write_text("def make(:\n")
    fields, kind, message = WRONG[case]
    suite = Suite("code_repair", TaskSource("folders", (Path("tasks"),)), Settings())
    with pytest.raises(kind, match=message):
        run_suite(replace(suite, **fields), as_json=True)
    assert not list(tmp_path.rglob("*.db")) or asyncio.run(no_runs())


async def no_runs() -> bool:
    async with aclosing(SqlStore()) as store:
        return not await store.runs()


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/2", "-1/2", "1/2/3"])
def test_a_shard_is_a_part_of_a_whole(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a shard"):
        Shard.parse(text)


@given(count=st.integers(0, 60), parts=st.integers(1, 12), limit=st.none() | st.integers(1, 70))
def test_shards_share_no_task_and_together_are_all_of_them(count: int, parts: int, limit: int | None) -> None:
    items = [Item(Task(id=str(number))) for number in range(count)]
    shards = [chosen(items, limit, Shard.parse(f"{part}/{parts}")) for part in range(1, parts + 1)]
    ids = Counter(item.task.id for shard in shards for item in shard)
    assert ids == Counter(item.task.id for item in items[:limit])
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_what_a_run_was_asked_comes_back_from_its_ledger(tmp_path: Path) -> None:
    source = TaskSource("folders", (task_folder(tmp_path, "a"),), case_s=2.0)
    suite = Suite(
        "code_repair",
        source,
        Settings(seed=3, max_trials=2),
        5,
        Shard(1, 1),
        at_once=3,
        workers=2,
        on="ray",
        control=True,
    )
    assert [item.task.limits.case_s for item in suite.items()] == [2.0]
    data = json.loads(json.dumps(suite.as_data(suite.items())))
    assert Suite.from_data(data, {}) == replace(suite, source=replace(source, paths=(source.paths[0].resolve(),)))
    del data["source"]["case_s"]
    assert Suite.from_data(data, {}).source.case_s == 0, "of a ledger from before: as the task says"
