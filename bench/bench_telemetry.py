"""What telemetry costs, and what a viewer of others' makes of it: Arize Phoenix, from an environment of its own.

    .venv/bin/python bench/bench_telemetry.py [--episodes 300] [--rounds 5]
    .venv/bin/python bench/bench_telemetry.py --phoenix ENV/bin/phoenix [--episodes 300] [--picture FILE.png]

Without `--phoenix`: processor time of this process for an episode of three attempts (model, critic and verifier answer
at once), off and on by turns; on, spans and metrics go to a receiver on loopback that throws them away.

With it: Phoenix is started on loopback, the same episodes are sent to it, 16 at a time, then a run of two workers below
a span of somebody else's; then Phoenix is asked over its own API for all that it has, which is compared with the
ledger: spans, their places in the tree, tokens, evaluations. `pip install arize-phoenix` into a fresh environment makes
one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from overhead_parts import TASK, TRIALS, ours

from groundwire.core import Signal
from groundwire.memory import InMemoryStore

PROGRAM = Path(sys.executable).with_name("groundwire")
PROJECT = "groundwire"
TRACE = "0af7651916cd43dd8448eb211c80319c"
WORLDS = 8
PAGE = 1000
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Episodes:
    """The same episode, again and again, in one process."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        self.app = ours().compile(store=self.store)
        self.signals = self.tokens = 0

    async def run(self, many: int, at_once: int = 1) -> None:
        """Runs `many` of them, and counts what the ledger has of them."""
        tasks = [replace(TASK, id=f"task-{number}") for number in range(many)]
        for result in await self.app.abatch(tasks, at_once=at_once):
            assert result.trials == TRIALS, result.stop_reason
            records = await self.store.records(result.episode_id)
            self.signals += sum(isinstance(record, Signal) for record in records)
            self.tokens += result.tokens


def receiver() -> str:
    """The address of what takes OTLP and throws it away, until this process ends: only then the last of it is sent."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def cost(episodes: int, rounds: int) -> None:
    """Prints what an episode costs off and on."""
    took: dict[str, list[float]] = {"off": [], "on": []}
    url = receiver()
    for turn in range(rounds + 1):
        for name in took:
            os.environ.pop(ENDPOINT, None)
            if name == "on":
                os.environ[ENDPOINT] = url
            ran = Episodes()
            began = time.process_time()
            asyncio.run(ran.run(episodes))
            if turn:  # the first one imports
                took[name].append(1000 * (time.process_time() - began) / episodes)
    ratios = [on / off for off, on in zip(took["off"], took["on"], strict=True)]
    for name, found in took.items():
        print(f"{name}: {statistics.median(found):.2f} ms of CPU an episode of {TRIALS} attempts")
    print(f"on / off: {statistics.median(ratios):.2f} (median of {rounds} rounds of {episodes} episodes)")


@contextmanager
def phoenix(program: Path) -> Generator[str]:
    """Phoenix, with a database of its own, until the block ends."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, grpc = one.getsockname()[1], other.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        told = {
            "PHOENIX_WORKING_DIR": folder, "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(grpc), "PHOENIX_TELEMETRY_ENABLED": "false",
        }  # fmt: skip
        with (Path(folder) / "log").open("w") as log:
            server = subprocess.Popen([program, "serve"], env={**os.environ, **told}, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            _wait_for(address, server)
            yield address
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if server.poll() is not None:
            sys.exit(f"Phoenix ended with {server.returncode}")
        try:
            if httpx.get(f"{address}/healthz", timeout=5).is_success:
                return
        except httpx.HTTPError:
            time.sleep(1)
    sys.exit("Phoenix did not come up within 5 minutes")


def all_spans(address: str) -> Iterator[dict[str, Any]]:
    """Every span that Phoenix has of the project, by its own API."""
    cursor = ""
    while True:
        asked = {"limit": PAGE, **({"cursor": cursor} if cursor else {})}
        page = httpx.get(f"{address}/v1/projects/{PROJECT}/spans", params=asked, timeout=60).raise_for_status().json()
        yield from page["data"]
        cursor = page.get("next_cursor") or ""
        if not cursor:
            return


def written(address: str) -> list[dict[str, Any]]:
    """All that it was sent: it writes a little later, so it is asked until no more comes."""
    before = -1
    spans: list[dict[str, Any]] = []
    while len(spans) != before:
        before = len(spans)
        time.sleep(8)
        spans = list(all_spans(address))
    return spans


def send(address: str, episodes: int) -> Episodes:
    """Sends the episodes and a run of two workers, each from a process's own exporter."""
    os.environ |= environment(address)
    ran = Episodes()
    asyncio.run(ran.run(episodes, at_once=16))
    from groundwire.telemetry import _sdk as sdk

    # what a process does at its end
    provider: Any = sdk._of_the_environment().tracer  # pyright: ignore[reportPrivateUsage]
    provider.span_processor.force_flush()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            PROGRAM,
            "run",
            "episodic",
            "--world",
            "maze",
            "--episodes",
            str(WORLDS),
            "--workers",
            "2",
            "--max-trials",
            "2",
        ]
        told = {"TRACEPARENT": f"00-{TRACE}-b7ad6b7169203331-01", "XDG_STATE_HOME": folder, "XDG_DATA_HOME": folder}
        done = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True)
        assert done.returncode in (0, 4), (done.returncode, done.stdout[-500:], done.stderr[-2000:])
    return ran


def environment(address: str) -> Mapping[str, str]:
    """What docs/integrations/telemetry.md tells users to set, and room for spans that come all at once."""
    return {
        ENDPOINT: address,
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_RESOURCE_ATTRIBUTES": f"openinference.project.name={PROJECT}",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        # no user's episodes are as quick as these: by default the exporter drops what is beyond 2,048 that wait
        "OTEL_BSP_MAX_QUEUE_SIZE": "65536",
    }


def seen(address: str, episodes: int, ran: Episodes) -> int:
    """Compares what Phoenix has with the ledger.

    Returns:
        How many of the comparisons failed.
    """
    spans = written(address)
    batch = [span for span in spans if span["context"]["trace_id"] != TRACE]
    theirs = [span for span in spans if span["context"]["trace_id"] == TRACE]
    known = {span["context"]["span_id"]: span for span in spans}
    kinds = Counter(span["span_kind"] for span in batch)
    astray = sum(
        span["attributes"]["session.id"] != _above(span, known)["attributes"].get("session.id")
        for span in batch
        if span["span_kind"] == "LLM"
    )
    events = [event for span in batch for event in span["events"] if event["name"] == "gen_ai.evaluation.result"]
    labels = Counter(event["attributes"]["gen_ai.evaluation.score.label"] for event in events)
    tokens = sum(span["attributes"].get("llm.token_count.total", 0) for span in batch)
    query = "{ projects { edges { node { name traceCount tokenCountTotal } } } }"
    told = httpx.post(f"{address}/graphql", json={"query": query}, timeout=60).raise_for_status().json()
    projects = {edge["node"]["name"]: edge["node"] for edge in told["data"]["projects"]["edges"]}
    calls = 2 * TRIALS - 1
    agents = sum(span["span_kind"] == "AGENT" for span in theirs)
    compared: Sequence[tuple[str, object, object]] = (
        ("episodes (AGENT)", kinds["AGENT"], episodes),
        ("model calls (LLM)", kinds["LLM"], episodes * calls),
        ("judgings (TOOL)", kinds["TOOL"], episodes * TRIALS),
        ("model calls under another episode", astray, 0),
        ("evaluations", sum(labels.values()), ran.signals),
        ("of them pass, fail", (labels["pass"], labels["fail"]), (episodes, episodes * (TRIALS - 1))),
        ("tokens, by its spans", tokens, ran.tokens),
        ("tokens, by its own count of the project", projects[PROJECT]["tokenCountTotal"], ran.tokens),
        ("traces", projects[PROJECT]["traceCount"], episodes + 1),
        ("episodes of two workers in the caller's trace", agents, WORLDS),
    )  # fmt: skip
    for what, found, wanted in compared:
        print(f"{'ok  ' if found == wanted else 'DIFF'} {what}: {found}, of the ledger {wanted}")
    return sum(found != wanted for _, found, wanted in compared)


def _above(span: dict[str, Any], known: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    while span["span_kind"] != "AGENT" and span["parent_id"] in known:
        span = known[span["parent_id"]]
    return span


def picture(address: str, path: Path) -> None:
    """One trace as Phoenix shows it."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    trace = next(s["context"]["trace_id"] for s in all_spans(address) if s["context"]["trace_id"] != TRACE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{address}/redirects/traces/{trace}")
        page.get_by_text("execute_tool test").last.click()
        page.wait_for_timeout(2000)
        page.screenshot(path=path)
        browser.close()


def main() -> int:
    """Measures one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--phoenix", type=Path, help="its program, in an environment of its own")
    parser.add_argument("--picture", type=Path, help="where to keep a picture of one trace")
    told = parser.parse_args()
    if told.phoenix is None:
        cost(told.episodes, told.rounds)
        return 0
    with phoenix(told.phoenix) as address:
        ran = send(address, told.episodes)
        wrong = seen(address, told.episodes, ran)
        if told.picture is not None:
            picture(address, told.picture)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
