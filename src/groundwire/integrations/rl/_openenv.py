"""OpenEnv: our tasks behind its server, a server of its as a world.

Source: https://github.com/meta-pytorch/OpenEnv (`Environment`, `Action`, `Observation`, the client).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, cast

from groundwire.agents.programs._plain_functions import candidate_of
from groundwire.core._contexts import Tool
from groundwire.core._errors import ConfigError
from groundwire.core._scene import Scene, Status
from groundwire.core._signals import Verdict
from groundwire.core._tasks import Task
from groundwire.integrations.gated import OutputGate, OutputRefused, OutputRuling
from groundwire.integrations.rl._tasks import CheckFunction, checked_tasks, gate_of, part_of, reward_of, shown
from groundwire.tools import World
from groundwire.tools.environments.gymnasium import End, rule_of

EXTRA = "openenv"
ANSWER_S = 60.0
CONNECT_S = 10.0
NoVerdictAs = Literal["error", "null"]


def openenv_app(
    tasks: Iterable[Task],
    *,
    check: Tool | CheckFunction | None = None,
    fails_on: type[Exception] | tuple[type[Exception], ...] = (),
    tries: int = 1,
    no_verdict: NoVerdictAs = "error",
    sandbox: str | None = None,
    db: str | None = None,
    sessions: int = 8,
) -> Any:
    """Our tasks as an OpenEnv server: `reset` gives a task, `step` judges what is handed in by its tests.

        app = openenv_app(tasks)      # uvicorn module:app

    `reset(seed=…)` takes the task of that number, `reset(task=…)` the one of that id. An action has `text`, for a task
    that lets one file be written, or `files`, texts by their paths (null: the file goes). The reward is a sealed
    verdict: 1 for a PASS, 0 for a FAIL. A client can't read the hidden tests.

    Args:
        tasks: with their tests.
        check: judges instead of these; as for `OutputGate`.
        fails_on: exceptions of `check` that are a FAIL.
        tries: steps of an episode; after a sealed FAIL alone there is another.
        no_verdict: what a step without a verdict is: an `error`, which no client can take for a reward; or `null`, for
            clients that leave such steps out (many take it for 0).
        sandbox: where tests run, as `--sandbox` takes it.
        db: the ledger; None: the user's own.
        sessions: clients at a time.

    Returns:
        An application of FastAPI's.

    Raises:
        ConfigError: OpenEnv is not installed, there is no task, two have one id, or an argument is out of range.
        TaskError: a task is a world.
    """
    known = checked_tasks(tasks)
    if no_verdict not in ("error", "null") or sessions < 1:
        raise ConfigError("openenv_app got an argument out of range.", do='no_verdict="error" or "null", sessions ≥ 1.')
    gates = [gate_of(task, check, tries=tries, fails_on=fails_on, sandbox=sandbox, db=db) for task in known]
    interfaces = part_of("openenv.core.env_server.interfaces", EXTRA)
    types = part_of("openenv.core.env_server.types", EXTRA)
    server = part_of("openenv.core.env_server.http_server", EXTRA)
    pydantic = part_of("pydantic", EXTRA)

    submission = pydantic.create_model(
        "Submission",
        __base__=types.Action,
        text=(str, ""),
        files=(dict[str, str | None], {}),
    )
    judged = pydantic.create_model(
        "Judged",
        __base__=types.Observation,
        task=(str, ""),
        prompt=(str, ""),
        verdict=(str, ""),
        feedback=(str, ""),
        signal=(str, ""),
        ledger=(str, ""),
        detail=(str, ""),
    )

    class GroundwireEnvironment(interfaces.Environment):
        """Hands out a task, and judges what is handed in."""

        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]  it is OpenEnv's
            self._session = _Session(known, gates, no_verdict, judged)

        def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> Any:
            return self._session.reset(seed, str(more.get("task") or ""))

        def step(self, action: Any, timeout_s: float | None = None, **more: Any) -> Any:
            return self._session.step(action.text, action.files)

        @property
        def state(self) -> Any:
            return types.State(episode_id=self._session.episode or None, step_count=self._session.steps)

    return server.create_fastapi_app(GroundwireEnvironment, submission, judged, max_concurrent_envs=sessions)


class _Session:
    """One client's episode."""

    def __init__(
        self, tasks: tuple[Task, ...], gates: list[OutputGate], no_verdict: NoVerdictAs, observation: Callable[..., Any]
    ) -> None:
        self._tasks = tasks
        self._gates = gates
        self._null = no_verdict == "null"
        self._observation = observation
        self._number = -1
        self._after: OutputRuling | None = None
        self._over = True
        self.episode = ""
        self.steps = 0

    def reset(self, seed: int | None, id: str) -> Any:
        ids = [task.id for task in self._tasks]
        if id and id not in ids:
            raise ConfigError(f"There is no task {id!r:.80}.", do=f"There are {', '.join(ids[:20])}.")
        self._number = ids.index(id) if id else (seed or 0) % len(ids)
        self._after, self._over, self.episode, self.steps = None, False, "", 0
        task = self._tasks[self._number]
        return self._observation(task=task.id, prompt=shown(task))

    def step(self, text: str, files: Mapping[str, str | None]) -> Any:
        if self._over:
            raise ConfigError("The episode is over, or has not begun.", do="Call reset first.")
        task = self._tasks[self._number]
        # a file that may not be changed is refused here, before anything is judged
        output = candidate_of(dict(files) if files else text, task, openenv_app)
        ruling = self._gates[self._number].judge(output, prompt=task.prompt, after=self._after)
        self._over, self.episode = not ruling.again, ruling.episode
        self._after = ruling if ruling.again else None
        self.steps += 1
        if ruling.verdict is Verdict.NONE and not self._null:
            raise OutputRefused(ruling)
        return self._observation(
            done=self._over,
            reward=None if ruling.verdict is Verdict.NONE else reward_of(ruling),
            task=task.id,
            verdict=str(ruling.verdict),
            feedback=ruling.feedback,
            signal=ruling.signal.to_json() if ruling.signal else "",
            ledger=ruling.episode,
            detail=ruling.detail,
        )


# Theirs, as a world.


def openenv_world(
    url: str,
    *,
    action: str | Callable[[str], Mapping[str, Any]],
    won_if: str | Callable[[End], bool],
    text: str | Callable[[Mapping[str, Any]], str] = "",
    reset: Mapping[str, Any] | None = None,
    prompt: str = "Reach the goal.",
    actions: int = 30,
    name: str = "",
    timeout_s: float = ANSWER_S,
) -> World:
    """A server of OpenEnv's as a world for `episodic` and `learn`.

        WORLD = openenv_world("http://localhost:8000", action="message", won_if="reward>=1")

    OpenEnv says that an episode is done, not that it is won: `won_if` does. A server that is gone, answers with an
    error or not in time is no verdict.

    Args:
        url: its address.
        action: the field of an action that gets the text; or a function that gives the whole action. A text that is a
            JSON object is the whole action, where a field is named.
        won_if: when it is won, once it is done: `reward>=1` (of the last action), `return>=3`, or a function, as for
            `GymnasiumEnvironment`.
        text: the field of an observation that is shown; or a function; empty: the whole of it as JSON.
        reset: arguments of `reset` besides the seed.
        prompt: what is asked for, the form of an action included.
        actions: the most actions of one trial.
        name: the world's; empty: by its address.
        timeout_s: wall seconds for an answer.

    Raises:
        ConfigError: OpenEnv is not installed, the address is none, or the rule can't be read.
    """
    part_of("openenv.core", EXTRA)
    if not url.startswith(("http://", "https://", "ws://", "wss://")):
        raise ConfigError(f"This is no server's address: {url!r:.80}.", do="Write http://… or ws://….")
    if timeout_s <= 0:
        raise ConfigError(f"timeout_s is {timeout_s:g}.", do="Give seconds.")
    rule_of(won_if)
    return World(
        name=name or f"openenv:{url}",
        make=lambda: OpenEnvWorld(
            url, action=action, won_if=won_if, text=text, reset=dict(reset or {}), timeout_s=timeout_s
        ),
        prompt=prompt,
        actions=actions,
    )


class OpenEnvWorld:
    """A session with a server; see `Environment`. Made by `openenv_world`, whose arguments these are."""

    def __init__(
        self,
        url: str,
        *,
        action: str | Callable[[str], Mapping[str, Any]],
        won_if: str | Callable[[End], bool],
        text: str | Callable[[Mapping[str, Any]], str],
        reset: Mapping[str, Any],
        timeout_s: float,
    ) -> None:
        client = part_of("openenv.core", EXTRA).GenericEnvClient
        self._client: Any = client(base_url=url, connect_timeout_s=CONNECT_S, message_timeout_s=timeout_s).sync()
        self._action = action
        self._rule = rule_of(won_if)
        self._shown = text
        self._reset = reset
        self._total = 0.0

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        self._total = 0.0
        return self._scene(self._client.reset(seed=seed, **self._reset))

    def act(self, action: str) -> Scene:
        """See `Environment`."""
        return self._scene(self._client.step(self._payload(action)))

    def _payload(self, text: str) -> Mapping[str, Any]:
        if callable(self._action):
            return self._action(text)
        try:
            whole: Any = json.loads(text)
        except ValueError:
            whole = None
        return cast("Mapping[str, Any]", whole) if isinstance(whole, dict) else {self._action: text}

    def _scene(self, result: Any) -> Scene:
        observation: Mapping[str, Any] = result.observation
        reward = float(result.reward or 0.0)
        if reward != reward or abs(reward) == float("inf"):
            raise ValueError(f"the reward is {reward}")
        self._total += reward
        event = f"Reward: {reward:g}." if reward else ""
        status = Status.RUNNING
        if result.done:
            if result.reward is None:
                return Scene(self._text(observation), Status.ENDED, event="It is done, and gave no reward.")
            end = End(True, False, reward, self._total, observation)
            status = self._rule(end)
        return Scene(self._text(observation), status, event=event)

    def _text(self, observation: Mapping[str, Any]) -> str:
        if callable(self._shown):
            return self._shown(observation)
        if self._shown:
            return str(observation[self._shown])
        return json.dumps(observation, ensure_ascii=False, indent=1, default=str)

    def close(self) -> None:
        """See `Environment`."""
        self._client.close()
