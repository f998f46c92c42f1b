"""DSPy: a metric whose score is a sealed verdict, and modules that judge what they hand over.

Source: https://dspy.ai (metrics, modules, `dspy.GEPA`, which reads a metric's `feedback` into its reflection).
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Literal, cast

from groundwire.agents.patching._evidence import may_be_shown
from groundwire.core._contexts import Tool
from groundwire.core._errors import ConfigError
from groundwire.core._signals import Verdict
from groundwire.core._tasks import Task
from groundwire.graphs import EpisodeResult, FeedbackApp
from groundwire.integrations.gated._output_gate import (
    CheckFunction,
    FailsOn,
    OutputGate,
    OutputRefused,
    OutputRuling,
    text_of_output,
    waited,
)

EXTRA = 'pip install "groundwire[dspy]"'
HOLDS = "The output passed its check."
WITHHELD = "The output failed what judges it, of which no more may be said."
THOUGHTS = ("reasoning", "rationale")
"""Output fields that DSPy's own modules put before the answer."""
ADDED = "gate_"
KEPT_RULINGS = 1024
OutputOf = str | Callable[[Any], object] | None
NoVerdictAs = Literal["stop", "error"]
_Base: Any
_Prediction: Any
try:
    _dspy: Any = importlib.import_module("dspy")
    _Base, _Prediction, _missing = _dspy.Module, _dspy.Prediction, False
except ImportError:
    _dspy, _Base, _Prediction, _missing = None, object, object, True


class MetricStopped(BaseException):
    """There is no verdict on an output, so an evaluation or an optimizer's run is ended.

    It is no `Exception`, since DSPy counts those as a score: in `Evaluate` and `GEPA` a metric that raises one is a
    failure of the program's.

    Args:
        why: for people.
        ruling: on the output; None where judging it raised an error, which is the cause.
    """

    def __init__(self, why: object, ruling: OutputRuling | None = None) -> None:
        super().__init__(str(why))
        self.ruling = ruling


class _Score(_Prediction):
    """A score with feedback that is also true or false: DSPy's own is true whenever it has fields, a FAIL's too, and
    BootstrapFewShot would take that for a demonstration worth keeping."""

    def __bool__(self) -> bool:
        return bool(self.score >= 1)


class SealedMetric:
    """A metric for DSPy's evaluations and optimizers: 1 for a sealed PASS, 0 for a sealed FAIL.

        metric = SealedMetric(Pytest(), task=task_of, output="code")
        dspy.GEPA(metric=metric, reflection_lm=lm, auto="light").compile(program, trainset=examples)

    What it gives has `score` and `feedback`, which GEPA reflects on: the evidence of what failed, as data, and of
    hidden tests not a word. It is true for a PASS alone. The same output to the same example is judged once.

    Where there is no verdict (the sandbox broke, the tests are flaky, nothing was collected) nothing is scored: DSPy
    would count an error as the program's failure, and adds up no None.

    Args:
        check: as for `OutputGate`; None: the tests of the task.
        output: the field of a prediction that is judged, or a function of the prediction. None: its only field, a
            module's reasoning aside.
        task: gives the task for an example; None: a task whose prompt is the example's inputs.
        fails_on: exceptions of `check` that are a FAIL.
        no_verdict: `stop`: `MetricStopped` ends the evaluation or the optimization, also where the check itself raises
            an error; `error`: an exception that DSPy counts as it does (the failure score in `Evaluate` and `GEPA`, no
            demonstration in `BootstrapFewShot`), and `unjudged` has the ruling.
        sandbox: where tests run, as `--sandbox` takes it.
        db: the ledger; None: the user's own.

    Raises:
        ConfigError: DSPy is not installed, nothing judges, or an argument is out of range.
        MetricStopped: from a call.
        OutputRefused: from a call, with `no_verdict="error"`; then also what judging raises, and ConfigError where the
            output can't be told.
    """

    def __init__(
        self,
        check: Tool | CheckFunction | None = None,
        *,
        output: OutputOf = None,
        task: Callable[[Any], Task] | None = None,
        fails_on: FailsOn = (),
        no_verdict: NoVerdictAs = "stop",
        sandbox: str | None = None,
        db: str | None = None,
    ) -> None:
        _check_installed()
        if no_verdict not in ("stop", "error"):
            raise ConfigError(f"no_verdict is {no_verdict!r:.40}.", do='Give "stop" or "error".')
        self.unjudged: list[OutputRuling] = []
        """On outputs without a verdict."""
        self._of = output
        self._task = task or _task_of_inputs
        self._stops = no_verdict == "stop"

        def gate_of(task: Task) -> OutputGate:
            return OutputGate(check, tries=1, task=lambda _: task, fails_on=fails_on, sandbox=sandbox, db=db)

        self._gate = gate_of
        if check is None and task is None:
            raise ConfigError("Nothing judges the output.", do="Give SealedMetric a check, or tasks that have tests.")
        if check is not None:
            OutputGate(check, tries=1, fails_on=fails_on)  # a check that is none is refused at once
        self._rulings: OrderedDict[tuple[str, str], OutputRuling] = OrderedDict()
        self._lock = Lock()

    def __call__(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> Any:
        """Judges a prediction, as a metric of DSPy's."""
        try:
            ruling = self.ruling(example, prediction)
        except Exception as error:
            if self._stops:
                raise MetricStopped(f"{type(error).__name__}: {error}") from error
            raise
        if ruling.verdict is Verdict.NONE:
            refused = OutputRefused(ruling)
            raise MetricStopped(refused, ruling) if self._stops else refused
        return _Score(
            score=1.0 if ruling.verdict is Verdict.PASS else 0.0,
            feedback=_feedback(ruling),
            signal=ruling.signal.id if ruling.signal else "",
            episode=ruling.episode,
        )

    def ruling(self, example: Any, prediction: Any) -> OutputRuling:
        """What became of a prediction, with its signal.

        Args:
            example: DSPy's.
            prediction: what a program made of it.
        """
        task = self._task(example)
        text = text_of_output(_output_of(prediction, self._of))
        known = (task.describe(), text)
        with self._lock:
            if known in self._rulings:
                return self._rulings[known]
        ruling = self._gate(task).judge(text, prompt=task.prompt)
        with self._lock:
            if ruling.verdict is Verdict.NONE:
                self.unjudged.append(ruling)
            else:
                self._rulings[known] = ruling
                if len(self._rulings) > KEPT_RULINGS:
                    self._rulings.popitem(last=False)
        return ruling


def _check_installed() -> None:
    if _missing:
        raise ConfigError("DSPy, 3.4 or newer, is not installed.", do=EXTRA)


def _feedback(ruling: OutputRuling) -> str:
    if ruling.verdict is Verdict.PASS:
        return HOLDS
    signal = ruling.signal
    return ruling.feedback if signal is None or may_be_shown(signal) else WITHHELD


def _task_of_inputs(example: Any) -> Task:
    fields = cast("Mapping[str, object]", example.inputs().toDict())
    return Task.of("\n".join(f"{name}: {value}" for name, value in fields.items()))


def _output_of(prediction: Any, of: OutputOf) -> object:
    if callable(of):
        return _plain(of(prediction))
    names = [str(name) for name in prediction.keys()]  # noqa: SIM118  DSPy's predictions are no mappings
    wanted = [of] if of else [name for name in names if name not in THOUGHTS and not name.startswith(ADDED)]
    if len(wanted) != 1 or wanted[0] not in names:
        raise ConfigError(
            f"Which field of a prediction is judged can't be told: it has {', '.join(names) or 'none'}.",
            do='Name one, output="answer", or give a function of the prediction.',
        )
    return _plain(prediction[wanted[0]])


def _plain(output: object) -> object:
    """`dspy.Code` as its text."""
    return cast("Any", output).code if isinstance(output, _dspy.Code) else output


# Modules.


class GroundedModule(_Base):
    """A module around another one: its output is judged, and after a sealed FAIL alone it is asked again.

        program = dspy.ChainOfThought("question, feedback -> answer")
        module = GroundedModule(program, OutputGate(check, tries=3))
        module(question="…").answer

    The program has an input for the gate's feedback, which is empty at first. An optimizer finds its predictors under
    `program`, as in every module of DSPy's.

    Args:
        program: the module that is asked.
        gate: judges; its tries are the calls.
        output: as for `SealedMetric`.
        feedback: the program's input that the gate's feedback goes into.
        prompt: what the outputs answer, of the inputs; None: all of them, each with its name.
        refuse: True: an output that did not pass is an error, as everywhere at the gate. False: it is handed over with
            `gate_verdict="fail"`, for the time that an optimizer needs failures to learn from.

    Raises:
        ConfigError: DSPy is not installed, or the program has no such input; from a call: the output can't be told.
        OutputRefused: from a call: no output passed, or there is no verdict.
    """

    def __init__(
        self,
        program: Any,
        gate: OutputGate,
        *,
        output: OutputOf = None,
        feedback: str = "feedback",
        prompt: Callable[[Mapping[str, Any]], str] | None = None,
        refuse: bool = True,
    ) -> None:
        _check_installed()
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  it is DSPy's
        predictors = program.predictors()
        if predictors and not any(feedback in predictor.signature.input_fields for predictor in predictors):
            raise ConfigError(
                f"The program has no input {feedback!r}, so it can't be told what failed.",
                do=f'Add one to its signature:  "question, {feedback} -> answer"',
            )
        self.program = program
        self._gate = gate
        self._of = output
        self._feedback = feedback
        self._prompt = prompt or _prompt_of_inputs
        self._refuse = refuse

    def forward(self, **inputs: Any) -> Any:
        """Asks until an output passes; the prediction has `gate_verdict` and `gate_episode` besides its own fields."""
        prompt, ruling = self._prompt(inputs), None
        while True:
            prediction = self.program(**inputs, **self._told(ruling))
            ruling = self._gate.judge(_output_of(prediction, self._of), prompt=prompt, after=ruling)
            if not ruling.again:
                return self._handed_over(prediction, ruling)

    async def aforward(self, **inputs: Any) -> Any:
        """`forward` for `acall`."""
        prompt, ruling = self._prompt(inputs), None
        while True:
            prediction = await self.program.acall(**inputs, **self._told(ruling))
            ruling = await self._gate.ajudge(_output_of(prediction, self._of), prompt=prompt, after=ruling)
            if not ruling.again:
                return self._handed_over(prediction, ruling)

    def _told(self, ruling: OutputRuling | None) -> Mapping[str, str]:
        return {self._feedback: ruling.feedback if ruling else ""}

    def _handed_over(self, prediction: Any, ruling: OutputRuling) -> Any:
        if ruling.verdict is Verdict.NONE or (self._refuse and ruling.verdict is Verdict.FAIL):
            raise OutputRefused(ruling)
        prediction["gate_verdict"], prediction["gate_episode"] = str(ruling.verdict), ruling.episode
        return prediction


def _prompt_of_inputs(inputs: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in inputs.items())


class GraphModule(_Base):
    """A module that runs a graph of groundwire's, as one step of a DSPy program.

        fix = GraphModule(app, lambda code, tests: Task.of("…", files={…}), output="code")
        fix(code=…, tests=…).code

    Args:
        app: a compiled graph.
        task: gives the task for the inputs, which are named in the call.
        output: the prediction's field for the answer of a verified candidate. It is empty unless the verdict is PASS,
            and where the candidate writes several files; `patch` has those.

    Raises:
        ConfigError: DSPy is not installed.
        Exception: from a call, as `FeedbackApp.arun`.
    """

    def __init__(self, app: FeedbackApp, task: Callable[..., Task], *, output: str = "answer") -> None:
        _check_installed()
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  it is DSPy's
        self._run: Callable[[Task], Any] = lambda task: app.arun(task)  # a function is copied by name alone
        self._task = task
        self._output = output

    def forward(self, **inputs: Any) -> Any:
        """Runs an episode; the prediction has the answer, `verdict`, `stop_reason`, `patch` and `episode`."""
        return self._prediction(waited(self._run(self._task(**inputs))))

    async def aforward(self, **inputs: Any) -> Any:
        """`forward` for `acall`."""
        return self._prediction(await self._run(self._task(**inputs)))

    def _prediction(self, result: EpisodeResult) -> Any:
        one_file = result.best is not None and len(result.best.candidate.changes) == 1
        return _dspy.Prediction(
            **{self._output: result.text if one_file else ""},
            verdict=str(result.verdict),
            stop_reason=str(result.stop_reason),
            patch=result.patch_bytes.decode("utf-8", "backslashreplace"),
            episode=f"{result.run_id}/{result.episode_id}",
        )
