# pyright: basic, reportMissingImports=false
"""groundwire's tasks as a taskset of verifiers: the reward is a sealed verdict, and no verdict is no reward.

python examples/verifiers_tasks.py   (pip install "groundwire[verifiers]")
"""

import asyncio
from tempfile import TemporaryDirectory

import verifiers.v1 as vf

from groundwire import Task
from groundwire.integrations.rl import verifiers_taskset


def loud(candidate) -> bool | str:
    if candidate.text == "?":
        raise RuntimeError("the check is broken")
    return candidate.text.isupper() or "not in capitals"


async def main() -> None:
    with TemporaryDirectory() as folder:
        # in a taskset package of yours this class is exported, and `eval`, `prime-rl` and the rest find it there
        loudly = verifiers_taskset([Task.of("Say hello loudly.")], check=loud, db=f"sqlite:///{folder}/ledger.db")
        (task,) = loudly(vf.TasksetConfig())
        for reply in ("hello", "HELLO", "?"):
            said = vf.MessageNode(message=vf.AssistantMessage(content=reply), sampled=True)
            about, by = vf.TraceTask(type="Task", data=task.data), vf.AgentInfo(config=vf.AgentConfig())
            trace = vf.Trace(task=about, agent=by, nodes=[said])
            try:
                await task.score(trace)
            except vf.TaskError as error:
                print(reply, error)
            print(reply, [reward and reward.value for reward in trace.rewards.values()])


asyncio.run(main())
