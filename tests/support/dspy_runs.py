# pyright: basic, reportMissingImports=false
"""DSPy with groundwire: a program that its Python runs; prints what came of each as JSON.

dspy_runs.py FOLDER: the ledger is FOLDER/l.db.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

os.environ["DSPY_CACHEDIR"] = str(Path(sys.argv[1]) / "dspy")  # it is read when DSPy is imported

import dspy
from dspy.lm15 import Message, Response, TextPart, Usage

from groundwire import FeedbackGraph, NoVerdict, Observation, Origin, Task, Tree, Verdict
from groundwire.core import Hidden
from groundwire.integrations.gated import GraphModule, GroundedModule, MetricStopped, OutputGate, SealedMetric
from groundwire.memory import SqlStore

logging.getLogger("dspy").setLevel(logging.CRITICAL)
LOUDLY = "Answer in capital letters."
TEST = "from slug import slug\n\ndef test_slug():\n    assert slug('A b') == 'a-b'\n"
HIDDEN = "from slug import slug\n\ndef test_more():\n    assert slug('C D e') == 'c-d-e'\n"
RIGHT = "def slug(text):\n    return text.lower().replace(' ', '-')\n"
CHEATED = "def slug(text):\n    return 'a-b'\n"
WRONG = "def slug(text):\n    return text\n"
SLUG = Task.of("Write slug().", id="slug", files={"test_slug.py": TEST}, answer="slug.py", test="pytest -q")
MORE = replace(
    SLUG, id="more", hidden=Hidden(("pytest", "-q", "checks"), Tree({"checks/test_more.py": HIDDEN.encode()}))
)


class Model:
    """Answers as it is told to; keeps what it was asked."""

    def __init__(self, answer: Callable[[str], dict]) -> None:
        self.answer, self.asked = answer, []

    def complete(self, request):
        self.asked.append(f"{request.system} {[message.text for message in request.messages]}")
        said = Message.assistant([TextPart(json.dumps(self.answer(self.asked[-1])))])
        return Response(id=None, model="scripted", message=said, finish_reason="stop", usage=Usage())

    async def acomplete(self, request):
        return self.complete(request)


class Awaited:
    def __init__(self, model: Model) -> None:
        self.model = model

    async def complete(self, request):
        return self.model.complete(request)


def lm(answer) -> dspy.LM:
    model = Model(answer)
    made = dspy.LM("scripted", engine=model, async_engine=Awaited(model), cache=False)
    made.model_of_ours = model
    return made


def shouting(asked: str) -> dict:
    """Shouts when it is told to, or told what failed."""
    return {"answer": "HELLO" if LOUDLY in asked or "failed this check" in asked else "hello"}


def proposing(asked: str) -> dict:
    return {"new_instruction": LOUDLY if "not in capitals" in asked else "Answer."}


def loud(candidate) -> bool | str:
    return candidate.text.isupper() or "not in capitals"


def nobody_knows(candidate) -> Observation:
    return Observation(verdict=Verdict.NONE, origin=Origin.VERIFIER, reason=NoVerdict.RUNNER_CRASHED)


def broken(candidate) -> bool:
    raise RuntimeError("the check is broken")


def guests(count: int) -> list:
    return [dspy.Example(question=f"Greet guest {n}.").with_inputs("question") for n in range(count)]


def coded(code: str):
    return dspy.Prediction(reasoning="I think so.", code=code)


class Runs:
    def __init__(self, folder: Path) -> None:
        self.db = f"sqlite:///{folder / 'l.db'}"

    def told(self, name: str, run: Callable) -> None:
        came = {"output": None, "error": ""}
        try:
            with redirect_stdout(sys.stderr):
                came["output"] = run()
        except (Exception, MetricStopped) as error:
            came["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps({"name": name, **came}), flush=True)

    def metric(self, check=loud, **options) -> SealedMetric:
        return SealedMetric(check, db=self.db, **options)

    def scores(self) -> None:
        (guest,) = guests(1)

        def both():
            metric = self.metric()
            found = [metric(guest, dspy.Prediction(answer=text)) for text in ("HELLO", "hello")]
            return [[one.score, bool(one), one.feedback, bool(one.signal)] for one in found]

        def slug(code, task=SLUG):
            def run():
                score = self.metric(None, task=lambda _: task)(guest, coded(code))
                return [score.score, score.feedback]

            return run

        def unclear():
            self.metric()(guest, dspy.Prediction(answer="A", other="B"))

        def typed():
            return self.metric()(guest, dspy.Prediction(code=dspy.Code(code="A"))).score

        self.told("scores", both)
        self.told("tests_pass", slug(RIGHT))
        self.told("tests_fail", slug(WRONG))
        self.told("hidden_fail", slug(CHEATED, MORE))
        self.told("unclear", unclear)
        self.told("typed", typed)
        self.told("nothing_judges", lambda: self.metric(None))

    def evaluations(self) -> None:
        dspy.configure(lm=lm(shouting), adapter=dspy.JSONAdapter())
        program = dspy.Predict("question -> answer")

        def evaluated(metric, threads=2):
            def run():
                result = dspy.Evaluate(devset=guests(3), metric=metric, num_threads=threads)(program)
                return [result.score, len(getattr(metric, "unjudged", []))]

            return run

        self.told("evaluate", evaluated(self.metric()))
        self.told("evaluate_unknown", evaluated(self.metric(nobody_knows)))
        self.told("evaluate_unknown_alone", evaluated(self.metric(nobody_knows), threads=1))
        self.told("evaluate_broken", evaluated(self.metric(broken)))
        self.told("evaluate_error", evaluated(self.metric(nobody_knows, no_verdict="error")))
        self.told("evaluate_none", evaluated(lambda example, prediction, trace=None: None))

    def optimizers(self) -> None:
        def bootstrap(check):
            def run():
                dspy.configure(lm=lm(lambda asked: {"answer": "A" if "guest 1" in asked else "b"}))
                tuned = dspy.BootstrapFewShot(metric=self.metric(check), max_labeled_demos=0).compile(
                    dspy.Predict("question -> answer"), trainset=guests(3)
                )
                return [[demo.question, demo.answer] for demo in tuned.demos]

            return run

        def gepa(check, task=None, answer=shouting, signature="question -> answer", **options):
            def run():
                seen, reflecting = [], lm(proposing)

                def watched(candidate):
                    seen.append(candidate.text)
                    return check(candidate)

                dspy.configure(lm=lm(answer), adapter=dspy.JSONAdapter())
                metric = self.metric(watched if check else None, task=task, **options)
                optimizer = dspy.GEPA(metric, reflection_lm=reflecting, max_metric_calls=10, num_threads=1)
                tuned = optimizer.compile(dspy.Predict(signature), trainset=guests(2), valset=guests(2))
                asked = "".join(reflecting.model_of_ours.asked)
                return [tuned.signature.instructions, sorted(seen), asked]

            return run

        def cheating(asked):
            return {"code": CHEATED}

        self.told("bootstrap", bootstrap(loud))
        self.told("bootstrap_unknown", bootstrap(nobody_knows))
        self.told("gepa", gepa(loud))
        self.told("gepa_unknown", gepa(nobody_knows))
        self.told("gepa_hidden", gepa(None, lambda _: MORE, cheating, "question -> code"))

    def modules(self) -> None:
        dspy.configure(lm=lm(shouting), adapter=dspy.JSONAdapter())

        def module(check=loud, **options):
            program = dspy.Predict("question, feedback -> answer")
            return GroundedModule(program, OutputGate(check, tries=2, db=self.db), **options)

        def answered(check=loud, **options):
            def run():
                said = module(check, **options)(question="Greet.")
                return [said.answer, said.gate_verdict]

            return run

        def awaited():
            return asyncio.run(module().acall(question="Greet.")).answer

        def evaluated():
            result = dspy.Evaluate(devset=guests(3), metric=self.metric(), num_threads=3)(module().deepcopy())
            return [result.score, [name for name, _ in module().named_predictors()]]

        def deaf():
            GroundedModule(dspy.Predict("question -> answer"), OutputGate(loud))

        def graph(code):
            def run():
                store = SqlStore(self.db)
                app = FeedbackGraph.loop(lambda context: code, lambda c: "replace" in c.text).compile(store=store)
                try:
                    made = GraphModule(app, lambda topic: replace(SLUG, prompt=topic), output="code").deepcopy()
                    said = made(topic="Write slug().")
                finally:
                    asyncio.run(store.aclose())
                return [said.code, said.verdict, said.stop_reason, "+def slug" in said.patch]

            return run

        self.told("module", answered())
        self.told("module_async", awaited)
        self.told("module_never", answered(lambda candidate: "too loud"))
        self.told("module_handed_over", answered(lambda candidate: "too loud", refuse=False))
        self.told("module_unknown", answered(nobody_knows, refuse=False))
        self.told("module_in_evaluate", evaluated)
        self.told("module_deaf", deaf)
        self.told("graph", graph(RIGHT))
        self.told("graph_fails", graph(WRONG))


if __name__ == "__main__":
    runs = Runs(Path(sys.argv[1]))
    for part in (runs.scores, runs.evaluations, runs.optimizers, runs.modules):
        part()
