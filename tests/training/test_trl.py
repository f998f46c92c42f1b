"""Exports as the real libraries take them: `datasets` loads them, and one step of each TRL trainer is made on them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from guessing import ANSWER
from recorded_runs import ledger_at, read, repairing, run, saying
from tiny_language_model import tiny_model, tokenizer_of
from worlds import Porch

from groundwire import FeedbackGraph, Task, Tree
from groundwire.agents.worlds import ReActActor
from groundwire.agents.worlds._acting import StepsCritic
from groundwire.cli._export import ExportRequest, run_export
from groundwire.core._environments import environment_task
from groundwire.core._steps import StepRules
from groundwire.graphs.library._episodic import episodic
from groundwire.graphs.library._verified_steps import verified_steps
from groundwire.models import ScriptedBackend
from groundwire.tools import Command
from groundwire.training import export, form, opened, reward

# what the libraries say to one another
pytestmark = [
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning"),
]

FORMS = ("sft", "dpo", "kto", "prm", "grpo", "rlvr")
GUIDE = Path(__file__).parents[2] / "docs" / "training.md"
ENOUGH = 2048
"""Tokens; nothing is cut off."""
IGNORED = -100
"""The label of a token that has no loss."""
EVEN = f"import sys; sys.exit(sum(open({ANSWER!r}, 'rb').read()) % 2)"
"""A check that 42 passes, 41 fails, and what a random model says passes half of the time."""


def question(number: int) -> Task:
    prompt = f"Write text {number} whose bytes have an even sum."
    files = Tree({ANSWER: b"?\n"})
    return Task(id=f"even-{number}", prompt=prompt, tree=files, editable=(ANSWER,), command=("python", "-c", EVEN))


@dataclass
class Trainers:
    """The libraries, the exported rows as `datasets` loads them, and what is trained."""

    folder: Path
    trl: Any
    datasets: Any
    tokenizer: Any = None

    def rows(self, name: str, ending: str = "jsonl") -> Any:
        """An export, loaded."""
        kind = "json" if ending == "jsonl" else ending
        file = str(self.folder / f"{name}.{ending}")
        return self.datasets.load_dataset(kind, data_files=file, split="train", cache_dir=str(self.folder / "cache"))

    def options(self, **options: Any) -> dict[str, Any]:
        """Of any trainer: one step on the CPU, with no word to anybody."""
        return {
            "output_dir": str(self.folder / "out"),
            "max_steps": 1,
            "learning_rate": 0.01,
            "per_device_train_batch_size": 4,
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
            "save_strategy": "no",
            "logging_strategy": "no",
            "disable_tqdm": True,
            **options,
        }

    def trained(self, name: str, rows: Any, settings: Mapping[str, Any], **parts: Any) -> Any:
        """Makes one step, which changes weights; returns the batch that it was made on."""
        taken: list[Any] = []
        config = getattr(self.trl, f"{name}Config")(**self.options(**settings))
        trainer = getattr(self.trl, f"{name}Trainer")(
            model=tiny_model(self.tokenizer), args=config, train_dataset=rows, processing_class=self.tokenizer, **parts
        )
        compute = trainer.compute_loss

        def watched(model: Any, inputs: Any, *args: Any, **more: Any) -> Any:
            taken.append(dict(inputs))
            return compute(model, inputs, *args, **more)

        trainer.compute_loss = watched
        one_step(trainer)
        return taken[0]


def one_step(trainer: Any) -> None:
    before = {name: weights.detach().clone() for name, weights in trainer.model.named_parameters()}
    assert trainer.train().global_step == 1
    assert any(not weights.detach().equal(before[name]) for name, weights in trainer.model.named_parameters())


MASKED = ("sft", "error_recovery", "rl2f", "mistake_tuning", "agent_r", "intervention")
"""Formats of which only a part is learned, and how they say so: columns that no trainer reads."""


def expected(row: Mapping[str, Any]) -> list[str]:
    """What a row says is learned, in order, each with the end of its message where it reaches that."""
    if row.get("messages") is not None:
        return [m["content"] + "</s>" for m, kept in zip(row["messages"], row["loss_mask"], strict=True) if kept]
    if row.get("turns") is not None:
        return [turn["content"] + "</s>" for turn in row["turns"] if turn["loss"]]
    content = row["completion"][0]["content"]
    segments = row.get("segments") or [{"start": 0, "end": len(content), "loss": True}]
    return ["".join(content[s["start"] : s["end"]] for s in segments if s["loss"]) + "</s>"]


async def masked(folder: Path) -> None:
    """What each of these formats holds of small runs of our own: an episode that was mended, walks that were lost and
    won, and a proof of which a line was refused."""
    walks = [["look", "look", "kick door"], ["look", "lift mat", "look", "unlock door"]]
    task, proof = environment_task(Porch(), id="porch"), Task(id="proof", prompt="Prove it.", tree=Tree({}))
    rules = StepRules(check=lambda steps: "a lie" if "lie" in steps[-1] else "")
    says = [f"Action: {action}" for actions in walks for action in actions]
    graphs: dict[str, tuple[FeedbackGraph, Task]] = {
        "code": (repairing([saying("41"), saying("40"), saying("42")]), question(1)),
        "walk": (episodic(ReActActor(ScriptedBackend(says)), StepsCritic(), Porch), task),
        "proof": (verified_steps(ScriptedBackend(["one\nlie\nthree\n", "two\nlie\n", "three\n"]), rules), proof),
    }
    async with aclosing(ledger_at(folder)) as store:
        runs = {name: await run(store, graph, of) for name, (graph, of) in graphs.items()}
    told = {name: await read(folder, record) for name, record in runs.items()}
    every = [one for of_run in told.values() for one in of_run]
    for name in MASKED:
        with opened(folder / f"masked_{name}.jsonl", form(name)) as sink:
            assert export(form(name), every, sink).rows, name


def exported(folder: Path) -> None:
    """A run on three questions, two answers a trial, as the files that trainers get."""

    async def work() -> str:
        async with aclosing(ledger_at(folder)) as store:
            said = [["41", "42"], ["43", "44"], ["45", "47"], ["One more."], ["42", "44"]]
            answers = [saying(text) if text.isdigit() else text for texts in said for text in texts]
            graph = repairing([], backend=ScriptedBackend(answers, model="tiny"), check=Command(), samples=2)
            return (await run(store, graph, *map(question, (1, 2, 3)))).id

    made = asyncio.run(work())
    for name in FORMS:
        for ending in ("jsonl", "parquet"):
            asked = ExportRequest(
                runs=[made], form=name, out=folder / f"{name}.{ending}", target_model="tiny", as_json=True
            )
            assert run_export(asked, {"db": f"sqlite:///{folder / 'ledger.db'}"}) == 0


@pytest.fixture(scope="module")
def trainers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainers]:
    with pytest.MonkeyPatch.context() as patched:
        # read once, when they are imported: nothing is looked for elsewhere
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_DATASETS_DISABLE_PROGRESS_BARS"):
            patched.setenv(name, "1")
        patched.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
        trl: Any = pytest.importorskip("trl", reason="TRL is not installed: pip install trl datasets")
        datasets: Any = pytest.importorskip("datasets", reason="datasets is not installed")
        folder = tmp_path_factory.mktemp("exports")
        exported(folder)
        asyncio.run(masked(folder))
        trainers = Trainers(folder, trl, datasets)
        texts = [line for name in ("sft", *(f"masked_{m}" for m in MASKED)) for line in _lines(folder, name)]
        trainers.tokenizer = tokenizer_of(texts)
        yield trainers


def _lines(folder: Path, name: str) -> list[str]:
    return (folder / f"{name}.jsonl").read_text().splitlines()


def spoken(ids: Any, mask: Any, trainers: Trainers) -> list[str]:
    """What has a loss, of each row, as text."""
    return [trainers.tokenizer.decode(row[kept.bool()]).strip() for row, kept in zip(ids, mask, strict=True)]


def completions(rows: Any, column: str = "completion") -> list[str]:
    return [f"{row[column][0]['content']}</s>" for row in rows]


def test_both_files_of_every_form_load_and_hold_the_same(trainers: Trainers) -> None:
    for name in FORMS:
        lines, table = trainers.rows(name), trainers.rows(name, "parquet")
        assert lines.num_rows == table.num_rows > 0 and set(lines.column_names) == set(table.column_names)
        assert lines["provenance"][0]["episodes"] == table["provenance"][0]["episodes"]


def test_sft_has_its_loss_on_what_our_mask_says(trainers: Trainers) -> None:
    torch: Any = pytest.importorskip("torch")
    rows = trainers.rows("sft")
    batch = trainers.trained("SFT", rows, {"max_length": ENOUGH})
    labels = batch["labels"]
    assert sorted(spoken(batch["input_ids"], labels != IGNORED, trainers)) == sorted(completions(rows))
    assert all(sum(row["loss_mask"]) == 1 and row["loss_mask"][-1] for row in rows), "the last message alone is learned"
    fresh = tiny_model(trainers.tokenizer)
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
    loss = fresh(**inputs).loss
    scores = fresh(batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
    kept = labels[:, 1:] != IGNORED
    by_hand = torch.nn.functional.cross_entropy(scores[kept], labels[:, 1:][kept])
    assert loss.item() == pytest.approx(by_hand.item(), rel=1e-4)


@pytest.mark.parametrize("name", MASKED)
def test_the_labels_of_a_batch_are_what_the_row_says_is_learned(trainers: Trainers, name: str) -> None:
    """In the installed TRL, whose trainer reads none of our columns: the wrong code and what the world said were in the
    loss. The recipe is the guide's own."""
    written = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    recipe = next(code for code in written if "with_labels" in code)
    names: dict[str, Any] = {"tokenizer": trainers.tokenizer, "rows": trainers.rows(f"masked_{name}")}
    exec(recipe.partition("trainer = ")[0], names)
    batch = trainers.trained("SFT", names["labelled_rows"], {"max_length": ENOUGH, "per_device_train_batch_size": 8})
    heard = [trainers.tokenizer.decode(row[row != IGNORED]) for row in batch["labels"]]
    said = ["".join(expected(row)) for row in names["rows"]]
    assert sorted(heard) == sorted(said)[: len(heard)] if len(said) <= 8 else set(heard) <= set(said)
    assert heard and all(any(row == IGNORED) for row in batch["labels"])


def test_dpo_and_kto_have_their_losses_on_the_answers(trainers: Trainers) -> None:
    pairs = trainers.rows("dpo")
    options = {"max_length": ENOUGH}
    batch = trainers.trained("DPO", pairs, options, ref_model=tiny_model(trainers.tokenizer))
    heard = spoken(batch["input_ids"], batch["completion_mask"], trainers)
    assert sorted(heard) == sorted(completions(pairs, "chosen") + completions(pairs, "rejected"))
    answers = trainers.rows("kto")
    assert set(answers["label"]) == {True, False}
    batch = trainers.trained("KTO", answers, options, ref_model=tiny_model(trainers.tokenizer))
    heard = spoken(batch["input_ids"], batch["completion_mask"], trainers)
    by_label = {text: row["label"] for row, text in zip(answers, completions(answers), strict=True)}
    assert heard and [by_label[text] for text in heard] == [bool(label) for label in batch["label"]]


def test_steps_are_trained_by_their_labels(trainers: Trainers) -> None:
    """TRL 1.16 has no PRMTrainer: the same rows through token classification, with the guide's own function."""
    transformers: Any = pytest.importorskip("transformers")
    tokenizer = trainers.tokenizer

    written = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {"tokenizer": tokenizer}
    exec(next(code for code in written if "def labelled" in code), names)

    rows = trainers.rows("prm")
    made = trainers.datasets.Dataset.from_list([names["labelled"](row) for row in rows])
    assert [[label for label in row if label != IGNORED] for row in made["labels"]] == [
        [label for label in row if label != IGNORED] for row in rows["labels"]
    ]
    assert set(rows["first_error"]) == {0} and list(map(len, rows["labels"])) == [2, 2, 3], "one PASS is enough"
    one_step(
        transformers.Trainer(
            model=tiny_model(tokenizer, "LlamaForTokenClassification", num_labels=2),
            args=transformers.TrainingArguments(**trainers.options()),
            train_dataset=made,
            data_collator=transformers.DataCollatorForTokenClassification(tokenizer),
        )
    )


def test_grpo_on_questions_whose_answers_their_own_check_rewards(trainers: Trainers) -> None:
    """By the guide's own lines; and an answer that nobody could judge moves nothing."""
    torch: Any = pytest.importorskip("torch")
    told: list[float | None] = []
    rows = trainers.rows("rlvr")
    assert set(rows["task"]) == {"even-1", "even-2", "even-3"} and not {"completion", "chosen"} & set(rows.column_names)
    options = {"num_generations": 8, "per_device_train_batch_size": 8, "max_completion_length": 8}

    class Told:
        """The reward, and what it said."""

        __name__ = "told"

        def __init__(self, tasks: Sequence[Task]) -> None:
            self.inner = reward(tasks, field="task")

        def __call__(self, **columns: Any) -> list[float | None]:
            told.extend(self.inner(**columns))
            return told[-len(columns["completions"]) :]

    judges = Told([question(number) for number in (1, 2, 3)])
    trainers.trained("GRPO", rows, options, reward_funcs=judges)
    assert set(told) == {0.0, 1.0}, "a group that is all right or all wrong teaches nothing"
    judges.inner.close()

    nobody = Told([replace(question(number), command=("no-such-program",)) for number in (1, 2, 3)])
    config = trainers.trl.GRPOConfig(**trainers.options(**options))
    trainer = trainers.trl.GRPOTrainer(
        tiny_model(trainers.tokenizer), nobody, args=config, train_dataset=rows, processing_class=trainers.tokenizer
    )
    before = {name: weights.detach().clone() for name, weights in trainer.model.named_parameters()}
    trainer.train()
    nobody.inner.close()
    assert set(told[-8:]) == {None}
    assert all(torch.equal(weights.detach(), before[name]) for name, weights in trainer.model.named_parameters())


def test_grpo_on_what_was_answered_and_rewarded_before(trainers: Trainers) -> None:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in trainers.rows("grpo"):
        groups.setdefault(row["prompt"][-1]["content"], []).append(row)
    assert all(len({row["group"] for row in group}) == 1 and group[0]["n"] == len(group) for group in groups.values())
    groups = {prompt: group for prompt, group in groups.items() if len(group) == 2}
    assert [[row["reward"] for row in group] for group in groups.values()] == [[0, 1], [0, 1], [0, 0]]
    tokenizer = trainers.tokenizer

    def replayed(prompts: Any, _trainer: Any) -> dict[str, Any]:
        """The answers of each group in their order, in the place of new ones."""
        taken = {prompt: iter(group) for prompt, group in groups.items()}
        answers = [next(taken[prompt[-1]["content"]]) for prompt in prompts]
        asked = [tokenizer.apply_chat_template(p, add_generation_prompt=True, return_dict=False) for p in prompts]
        said = [tokenizer(f"{row['completion'][0]['content']}</s>")["input_ids"] for row in answers]
        stored = [row["reward"] for row in answers]
        return {"prompt_ids": asked, "completion_ids": said, "logprobs": None, "stored": stored}

    def known(completions: Any, stored: list[float], **_: Any) -> list[float]:
        return stored

    questions = trainers.datasets.Dataset.from_list([{"prompt": group[0]["prompt"]} for group in groups.values()])
    options = {"num_generations": 2, "per_device_train_batch_size": 6}
    batch = trainers.trained("GRPO", questions, options, reward_funcs=known, rollout_func=replayed)
    heard = spoken(batch["completion_ids"], batch["completion_mask"], trainers)
    better = {row["completion"][0]["content"] + "</s>": row["reward"] == 1.0 for g in groups.values() for row in g}
    gained = [float(advantage) for advantage in batch["advantages"]]
    assert sorted(heard) == sorted(better) and sorted(map(round, gained)) == [-1, -1, 0, 0, 1, 1]
    assert all(better[text] is (gain > 0) for text, gain in zip(heard, gained, strict=True) if gain)
