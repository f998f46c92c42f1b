"""A small OpenAI-compatible server as a program: `python stub_model_server.py PORT MODE`; no dependency.

It says its own pid and that of a child in a session of its own, as `pids SERVER CHILD`. Modes: `serves`; `dies` with a
complaint before it listens; `hangs` without ever listening; `busy` (somebody has its port, the first time).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(200, {})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers.get("authorization") != f"Bearer {os.environ['VLLM_API_KEY']}":
            self._answer(401, {"error": {"message": "who are you?"}})
            return
        text = f"{os.getpid()} heard {asked['messages'][-1]['content']}"
        if asked.get("stream"):
            self._stream(text.split(" ", 1)[0])
            return
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
        self._answer(
            200,
            {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"], "choices": [choice],
             "usage": usage},
        )  # fmt: skip

    def _stream(self, text: str) -> None:
        """A token at a time, each twice as unsure as the one before; it ends when nobody listens any more."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number in range(1000):
            top = [{"token": text, "logprob": -(2.0**-number)}]
            tokens = [{"token": text, "logprob": top[0]["logprob"], "top_logprobs": top}]
            choice = {"index": 0, "delta": {"content": text}, "logprobs": {"content": tokens}, "finish_reason": None}
            try:
                self.wfile.write(f"data: {json.dumps({'id': '1', 'choices': [choice]})}\n\n".encode())
            except OSError:
                return
        self.close_connection = True

    def _answer(self, status: int, body: object) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        pass


def main(port: int, mode: str) -> None:
    """As the module says."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print(f"pids {os.getpid()} {child.pid}", flush=True)
    if mode == "dies":
        print("\x1b[31mValueError: the weights are gone\x1b[0m", file=sys.stderr)
        sys.exit(3)
    if mode == "hangs":
        time.sleep(600)
    if mode.startswith("busy"):
        mark = Path(mode.removeprefix("busy="))
        if not mark.exists():
            mark.touch()
            print("OSError: [Errno 98] Address already in use", file=sys.stderr)
            sys.exit(1)
    ThreadingHTTPServer(("127.0.0.1", port), _Handler).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
