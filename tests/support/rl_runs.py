# pyright: basic, reportMissingImports=false
"""verifiers and OpenEnv with groundwire: a program that their Python runs; prints what came of each as JSON.

rl_runs.py FOLDER: the ledger is FOLDER/l.db.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import uvicorn
import verifiers.v1 as vf
from fastapi import FastAPI, Request
from openenv.core import GenericEnvClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from verifiers.v1.runtimes import SubprocessConfig, provision_runtime

from groundwire import NoVerdict, Origin, Task, Tree, Verdict
from groundwire import Observation as Seen
from groundwire.agents.programs._plain_functions import FunctionActor, FunctionCritic
from groundwire.core import Hidden, attempt
from groundwire.graphs import episodic
from groundwire.integrations.rl import openenv_app, openenv_world, verifiers_taskset, verifiers_world
from groundwire.memory import SqlStore

TEST = "from slug import slug\n\ndef test_slug():\n    assert slug('A b') == 'a-b'\n"
HIDDEN = "from slug import slug\n\ndef test_more():\n    assert slug('C D e') == 'c-d-e'\n"
RIGHT = "def slug(text):\n    return text.lower().replace(' ', '-')\n"
CHEATED = "def slug(text):\n    return 'a-b'\n"
LOUD = Task.of("Say hello loudly.", id="loud")
SLUG = Task.of(
    "Write slug().", id="slug", files={"test_slug.py": TEST}, answer="slug.py", test="pytest -q test_slug.py"
)
CODE = {
    "a.py": "def one():\n    return 2\n",
    "b.py": "",
    "test_a.py": "from a import one\n\ndef test_one():\n    assert one() == 1\n",
}


def loud(candidate) -> bool | str:
    return candidate.text.isupper() or "not in capitals"


def nobody_knows(candidate) -> Seen:
    return Seen(verdict=Verdict.NONE, origin=Origin.VERIFIER, reason=NoVerdict.RUNNER_CRASHED)


def with_hidden() -> Task:
    hidden = Hidden(("pytest", "-q", "checks"), Tree({"checks/test_more.py": HIDDEN.encode()}))
    return replace(SLUG, id="hidden", hidden=hidden)


class Sums(vf.Taskset):
    def load(self):
        for a, b in ((2, 2), (3, 4)):
            yield Sum(SumData(prompt=f"{a} + {b}?", answer=str(a + b)), self.config.task)


class SumData(vf.TaskData):
    answer: str = ""


class Sum(vf.Task[SumData]):
    @vf.reward
    async def right(self, task, trace) -> float:
        if trace.last_reply == "crash":
            raise RuntimeError("the scorer broke")
        return float(trace.last_reply == task.answer)


class Boxed(Sums):
    def load(self):
        yield InABox(SumData(prompt="?"), self.config.task)


class InABox(Sum):
    @vf.reward
    async def ran(self, trace, runtime) -> float:
        return 1.0


class Press(Action):
    button: str


class Shown(Observation):
    text: str = ""


class Buttons(Environment):
    """Red, then blue; another button ends it; `hang` never answers, `break` breaks, `mute` gives no reward."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **more):
        self.pressed = []
        return Shown(text=f"A vault, {seed}.")

    def step(self, action, timeout_s=None, **more):
        if action.button == "hang":
            threading.Event().wait(4)
        if action.button == "break":
            raise RuntimeError("it broke")
        if action.button == "mute":
            return Shown(text="Dark.", done=True, reward=None)
        self.pressed.append(action.button)
        if self.pressed == ["red", "blue"]:
            return Shown(text="Open.", done=True, reward=1.0)
        over = self.pressed != ["red"]
        return Shown(text="Locked." if over else "Click.", done=over, reward=0.0)

    @property
    def state(self):
        return State(step_count=len(self.pressed))


def served(app) -> str:
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    held.listen()
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="websockets-sansio"))
    threading.Thread(target=server.run, kwargs={"sockets": [held]}, daemon=True).start()
    return f"http://127.0.0.1:{held.getsockname()[1]}"


SAID = """
from groundwire import NoVerdict, Observation, Origin, Task, Verdict
from groundwire.integrations.rl import verifiers_taskset


def judged(candidate):
    if candidate.text == "?":
        return Observation(verdict=Verdict.NONE, origin=Origin.VERIFIER, reason=NoVerdict.RUNNER_CRASHED)
    return candidate.text.isupper() or "not in capitals"


TASKS = [Task.of(f"Say {{word}} loudly.", id=word) for word in ("HELLO", "hello", "?")]
Said = verifiers_taskset(TASKS, check=judged, db="{db}")
__all__ = ["Said"]
"""
ASKING = '''
import json, sys
import verifiers.v1 as vf

PROGRAM = """
import json, sys, urllib.request
url, key, model, prompt = sys.argv[1:]
body = json.dumps({"model": model, "messages": [{"role": "user", "content": prompt}]}).encode()
headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body, headers)).read()
"""


class Asking(vf.Harness[vf.HarnessConfig]):
    """One question, asked by a program in the runtime."""

    NEEDS_CONTAINER = False
    EXECUTES_CODE = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None):
        return await runtime.run_program([sys.executable, "-c", PROGRAM, endpoint, secret, ctx.model, data.prompt], {})


__all__ = ["Asking"]
'''


def model_server(asked: list[str]):
    """An endpoint as OpenAI's, which says what it is asked to say, and how."""
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def complete(request: Request):
        body = await request.json()
        asked.append(body["model"])
        word = body["messages"][-1]["content"].split()[1]
        message = {"role": "assistant", "content": word}
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        about = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return {**about, "choices": [choice], "usage": usage}

    return app


class Runs:
    def __init__(self, folder: Path) -> None:
        self.db = f"sqlite:///{folder / 'l.db'}"
        self.folder = folder

    async def told(self, name: str, run: Callable) -> None:
        came: dict[str, object] = {"output": None, "error": ""}
        try:
            came["output"] = await run()
        except Exception as error:
            cause = error.__cause__
            came["error"] = f"{type(error).__name__}: {error}"
            came["cause"] = type(cause).__name__ if cause else ""
        print(json.dumps({"name": name, **came}, default=str), flush=True)

    async def scored(self, task, reply: str, runtime=None):
        message = vf.MessageNode(message=vf.AssistantMessage(content=reply), sampled=True)
        data = vf.TraceTask(type="task", data=task.data)
        trace = vf.Trace(task=data, agent=vf.AgentInfo(config=vf.AgentConfig()), nodes=[message])
        try:
            await task.score(trace, runtime)
        except vf.TaskError as error:
            return [str(error)[:90], dict(trace.rewards)]
        told = trace.info["groundwire"]
        return [trace.reward, told["verdict"], told["stop_reason"], bool(told["signal"]), told["episode"]]

    def taskset(self, *tasks, **options):
        return list(verifiers_taskset(tasks, db=self.db, **options)(vf.TasksetConfig()))

    async def verifiers(self) -> None:
        (loud_task,) = self.taskset(LOUD, check=loud)
        (unknown,) = self.taskset(LOUD, check=nobody_knows)
        slug, hidden = self.taskset(SLUG, with_hidden())

        async def in_a_runtime(content: str):
            task = Task("one", prompt="Mend one().", tree=Tree({path: text.encode() for path, text in CODE.items()}))
            (ours,) = self.taskset(task)
            async with provision_runtime(SubprocessConfig()) as runtime:
                await ours.setup(None, runtime)
                there = (await runtime.run(["sh", "-c", "ls *.py | tr '\\n' ' '"], {})).stdout
                await runtime.write("a.py", content.encode())
                return [there, *(await self.scored(ours, "", runtime))]

        async def shown():
            return [slug.data.prompt, hidden.data.model_dump_json()]

        async def twice():
            verifiers_taskset([LOUD, LOUD])

        await self.told("vf_pass", lambda: self.scored(loud_task, "HELLO"))
        await self.told("vf_fail", lambda: self.scored(loud_task, "hello"))
        await self.told("vf_empty", lambda: self.scored(loud_task, ""))
        await self.told("vf_unknown", lambda: self.scored(unknown, "HELLO"))
        await self.told("vf_hidden", lambda: self.scored(hidden, CHEATED))
        await self.told("vf_files", lambda: in_a_runtime("def one():\n    return 1\n"))
        await self.told("vf_files_as_they_were", lambda: in_a_runtime(CODE["a.py"]))
        await self.told("vf_shown", shown)
        await self.told("vf_twice", twice)

    async def rollouts(self) -> None:
        """Whole rollouts of its own evaluation: a model behind an address, a harness's program, rewards in its file."""
        (self.folder / "said.py").write_text(SAID.format(db=self.db))
        (self.folder / "asking.py").write_text(ASKING)
        asked: list[str] = []
        url = served(model_server(asked))
        # as `vf-eval said …` is called
        client = ["--client.base-url", f"{url}/v1", "--client.api-key-var", "SCRIPTED_KEY"]
        harness = ["--env.agent.harness.id", "asking", "--env.agent.runtime.type", "subprocess"]
        where = ["--output-dir", str(self.folder / "out"), "--run.name", "one", "--no-push", "--no-rich"]
        command = [
            sys.executable,
            "-c",
            "from verifiers.v1.cli.eval.main import main; main()",
            "said",
            "-m",
            "scripted",
        ]
        path = os.pathsep.join([str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "SCRIPTED_KEY": "none", "PYTHONPATH": path}
        process = await asyncio.create_subprocess_exec(
            *command, *client, *harness, *where, cwd=self.folder, env=environment, stdout=sys.stderr.fileno()
        )
        assert await process.wait() == 0
        rows = [json.loads(line) for line in (self.folder / "out" / "one" / "traces.jsonl").read_text().splitlines()]
        # they end in any order
        told = sorted((self.of_trace(trace) for row in rows for trace in row["traces"]), key=str)

        async def seen():
            return [told, asked]

        await self.told("rollouts", seen)

    @staticmethod
    def of_trace(trace):
        kept = trace["info"]["groundwire"]
        scores = {name: reward and reward["score"] for name, reward in trace["rewards"].items()}
        about = [trace["task"]["data"]["id"], scores, trace["ok"], kept["verdict"], bool(kept["signal"])]
        return [*about, [error["message"] for error in trace["errors"]]]

    async def verifiers_in(self) -> None:
        world = verifiers_world(Sums(vf.TasksetConfig()), name="sums")

        def played(*answers: str, seed: int = 1):
            async def run():
                task = world.task(seed)
                left = iter(answers)
                actor, critic = FunctionActor(acting(left)), FunctionCritic(lambda _: "Add again.")
                app = episodic(actor, critic, world.make).compile(store=SqlStore(self.db))
                try:
                    result = await app.arun(task)
                finally:
                    await app.store.aclose()
                return [task.id, str(result.verdict), str(result.stop_reason), result.trials, result.oracle]

            return run

        async def boxed():
            verifiers_world(Boxed(vf.TasksetConfig()))

        async def other():
            verifiers_world(object())

        await self.told("world_vf", played("6", "7"))
        await self.told("world_vf_broken", played("crash", "crash"))
        await self.told("world_vf_boxed", boxed)
        await self.told("world_vf_other", other)

    async def openenv(self) -> None:
        url = served(openenv_app([LOUD], check=loud, tries=2, db=self.db))
        dark = served(openenv_app([LOUD], check=nobody_knows, db=self.db))
        null = served(openenv_app([LOUD], check=nobody_knows, no_verdict="null", db=self.db))
        files = served(openenv_app([SLUG, with_hidden()], db=self.db))

        def steps(address, *actions, **reset):
            async def run():
                async with GenericEnvClient(base_url=address) as client:
                    seen = [await client.reset(**reset)]
                    seen += [await client.step(action) for action in actions]
                    return [[one.done, one.reward, one.observation] for one in seen]

            return run

        async def left():
            """A client that is gone in the middle of an episode takes nothing with it."""
            client = GenericEnvClient(base_url=url)
            await client.connect()
            await client.reset()
            await client.step({"text": "hello"})
            await client._ws.close()
            return (await steps(url, {"text": "HELLO"})())[-1][:2]

        await self.told("oe_tries", steps(url, {"text": "hello"}, {"text": "HELLO"}))
        await self.told("oe_over", steps(url, {"text": "HELLO"}, {"text": "HELLO"}))
        await self.told("oe_unknown", steps(dark, {"text": "HELLO"}))
        await self.told("oe_null", steps(null, {"text": "HELLO"}))
        await self.told("oe_hidden", steps(files, {"text": CHEATED}, seed=3))
        await self.told("oe_files", steps(files, {"files": {"slug.py": RIGHT}}, task="slug"))
        await self.told("oe_test_file", steps(files, {"files": {"test_slug.py": ""}}, task="slug"))
        await self.told("oe_other_task", steps(files, task="../x"))
        await self.told("oe_odd", steps(url, {"text": 3}))
        await self.told("oe_gone", left)

    async def openenv_in(self) -> None:
        url = served(create_fastapi_app(Buttons, Press, Shown, max_concurrent_envs=8))
        world = openenv_world(url, action="button", won_if="reward>=1", text="text", timeout_s=2, name="vault")

        def played(*presses: str):
            async def run():
                task = await asyncio.to_thread(world.task, 5)
                app = episodic(
                    FunctionActor(acting(iter(presses))), FunctionCritic(lambda _: "Another one."), world.make
                ).compile(store=SqlStore(self.db))
                try:
                    result = await app.arun(task)
                finally:
                    await app.store.aclose()
                return [str(result.verdict), str(result.stop_reason), result.trials]

            return run

        async def nobody():
            there = openenv_world("http://127.0.0.1:9", action="x", won_if="reward>=1")
            await asyncio.to_thread(there.task, 0)

        async def address():
            openenv_world("localhost", action="x", won_if="reward>=1")

        await self.told("world_oe", played("blue", "red", "blue"))
        await self.told("world_oe_hangs", played("hang", "hang"))
        await self.told("world_oe_breaks", played("break", "break"))
        await self.told("world_oe_mute", played("mute", "mute"))
        await self.told("world_oe_nobody", nobody)
        await self.told("world_oe_address", address)


def acting(left):
    """An actor that does what is left, one thing a step; a new trial begins anew."""
    done: dict[int, list[str]] = {}

    def act(context):
        try:
            done.setdefault(context.trial, []).append(next(left))
        except StopIteration:
            return None
        return attempt(context.task, context.trial, done[context.trial])

    return act


async def main(folder: Path) -> None:
    runs = Runs(folder)
    for part in (runs.verifiers, runs.rollouts, runs.verifiers_in, runs.openenv, runs.openenv_in):
        await part()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
