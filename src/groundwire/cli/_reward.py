"""`groundwire reward serve`: rewards for trainers in other processes, at an address of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from groundwire.cli._loopback import HOST, listener_on, token_of
from groundwire.cli._repair import open_store
from groundwire.cli._suite import TaskSource
from groundwire.core._errors import ConfigError
from groundwire.core._settings import Settings
from groundwire.training.rewards._judging import RewardJudge, RewardRules
from groundwire.training.rewards._ledger import RewardLedger

TOKEN = "GROUNDWIRE_REWARD_TOKEN"


@dataclass(frozen=True)
class ServedReward:
    """What is served.

    Args:
        source: where the tasks come from.
        rules: what earns a reward.
        port: on this machine; 0: any that is free.
        width: programs that run at once; None: as many as there are processors.
        records: all that is judged goes into the ledger.
        model: what the policy is called there.
        as_json: the address and the token are printed as one JSON object.
    """

    source: TaskSource
    rules: RewardRules
    port: int = 0
    width: int | None = None
    records: bool = False
    model: str = "policy"
    as_json: bool = False


def serve_rewards(asked: ServedReward, settings: Settings) -> int:
    """Serves until it is interrupted.

    Returns:
        0.

    Raises:
        ConfigError: the port is taken, the token is too short, or the extra `training` is not installed.
        TaskError, RecordingError: the tasks can't be read.
    """
    try:
        import uvicorn

        from groundwire.training.rewards._serving import reward_app
    except ImportError as error:
        raise ConfigError(
            f"A server of rewards needs {error.name}.", do='pip install "groundwire[training]"'
        ) from error
    token = token_of(os.environ, TOKEN)
    tasks = {item.task.id: item.task for item in asked.source.items()}
    store = open_store(settings) if asked.records else None
    about = {
        "tasks": len(tasks),
        "case_s": asked.rules.case_s,
        "hidden": asked.rules.hidden,
        "partial": asked.rules.partial,
    }
    listener = listener_on(asked.port)
    address = f"http://{HOST}:{listener.getsockname()[1]}"

    async def work() -> None:
        ledger = RewardLedger(store, model=asked.model, config=about) if store is not None else None
        judge = RewardJudge(tasks, rules=asked.rules, sandbox=settings.sandbox, width=asked.width, ledger=ledger)
        app = reward_app(judge, token=token, about=about)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, ws="none")
        try:
            await uvicorn.Server(config).serve(sockets=[listener])
        finally:
            if store is not None:
                await store.aclose()

    _say(address, token, len(tasks), as_json=asked.as_json)
    asyncio.run(work())
    return 0


def _say(address: str, token: str, tasks: int, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"url": address, "token": token, "tasks": tasks}))
    else:
        console = Console(highlight=False)
        console.print(Text(f"rewards: {address}   {tasks} tasks"), soft_wrap=True)
        console.print(Text(f"token: {token}"), soft_wrap=True)
        console.print(
            Text("POST /v1/rewards with  Authorization: Bearer TOKEN.  Only this machine is answered. Ctrl-C ends it.",
                 style="dim"), soft_wrap=True,
        )  # fmt: skip
    sys.stdout.flush()
