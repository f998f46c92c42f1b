"""Ten small tasks in Harbor's form, on the local Python image: files, programs and Python, each with its solution."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from services import IMAGE

from groundwire.core._contexts import ToolContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Sandbox

PYTEST = """#!/bin/sh
cd /app
if PYTHONPATH=/app python3 -m pytest -q -p no:cacheprovider /tests/test_it.py; then r=1; else r=0; fi
echo $r > /logs/verifier/reward.txt
"""


def shell(check: str) -> str:
    """A verifier that gives 1 where a line of shell holds."""
    return f"#!/bin/sh\nif {check}; then r=1; else r=0; fi\necho $r > /logs/verifier/reward.txt\n"


GREETING = {"environment/hello.py": "def greet(name):\n    return 'Hello ' + who\n"}
TASKS: Mapping[str, Mapping[str, str]] = {
    "write-a-file": {
        "instruction.md": "Write the word hello into /app/hello.txt.\n",
        "solution/solve.sh": "#!/bin/sh\necho hello > /app/hello.txt\n",
        "tests/test.sh": shell('[ "$(cat /app/hello.txt)" = hello ]'),
    },
    "sort-lines": {
        "instruction.md": "Sort the lines of names.txt into sorted.txt.\n",
        "environment/names.txt": "Zoe\nAda\nMia\n",
        "solution/solve.sh": "#!/bin/sh\ncd /app && sort names.txt > sorted.txt\n",
        "tests/test.sh": shell('[ "$(cat /app/sorted.txt | tr -d "\\n")" = AdaMiaZoe ]'),
    },
    "delete-a-file": {
        "instruction.md": "Delete old.log and keep new.log.\n",
        "environment/old.log": "1\n",
        "environment/new.log": "2\n",
        "solution/solve.sh": "#!/bin/sh\nrm /app/old.log\n",
        "tests/test.sh": shell("[ ! -e /app/old.log ] && [ -e /app/new.log ]"),
    },
    "fix-a-function": {
        "instruction.md": "greet() in hello.py raises an error. Make it greet.\n",
        **GREETING,
        "solution/solve.sh": "#!/bin/sh\nsed -i 's/who$/name/' /app/hello.py\n",
        "tests/test.sh": PYTEST,
        "tests/test_it.py": "from hello import greet\n\ndef test_greet():\n    assert greet('Ada') == 'Hello Ada'\n",
    },
    "a-program": {
        "instruction.md": "Write a program count.py that prints the number of lines on its input.\n",
        "solution/solve.sh": "#!/bin/sh\ncd /app\n"
        "printf 'import sys\\nprint(len(sys.stdin.readlines()))\\n' > count.py\n",
        "tests/test.sh": shell('[ "$(printf "a\\nb\\nc\\n" | python3 /app/count.py)" = 3 ]'),
    },
    "json-rewards": {
        "instruction.md": "Write the object {\"total\": 42} into /app/out.json.\n",
        "solution/solve.sh": "#!/bin/sh\necho '{\"total\": 42}' > /app/out.json\n",
        "tests/test.sh": "#!/bin/sh\nexec python3 /tests/check.py\n",
        "tests/check.py": "import json, os\n"
        "there = os.path.exists('/app/out.json')\n"
        "right = there and json.load(open('/app/out.json')) == {'total': 42}\n"
        "json.dump({'reward': int(right), 'there': int(there)}, open('/logs/verifier/reward.json', 'w'))\n",
    },
    "half-done": {
        "instruction.md": "Write 1 into a.txt and 2 into b.txt.\n",
        "environment/a.txt": "1\n",
        "solution/solve.sh": "#!/bin/sh\necho 2 > /app/b.txt\n",
        "tests/test.sh": "#!/bin/sh\nn=0\ngrep -q 1 /app/a.txt && n=$((n+5))\n"
        "grep -q 2 /app/b.txt 2>/dev/null && n=$((n+5))\n"
        "[ $n = 10 ] && echo 1.0 > /logs/verifier/reward.txt || echo 0.$n > /logs/verifier/reward.txt\n",
    },
    "a-made-image": {
        "instruction.md": "made.txt was made when the image was built. Copy it to copy.txt.\n",
        "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nRUN echo made > made.txt\n",
        "solution/solve.sh": "#!/bin/sh\ncp /app/made.txt /app/copy.txt\n",
        "tests/test.sh": shell('[ "$(cat /app/copy.txt)" = made ]'),
    },
    "a-package": {
        "instruction.md": "Give the package shop a module prices with a function total(list).\n",
        "environment/shop/__init__.py": "",
        "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nCOPY shop shop/\n",
        "solution/solve.sh": "#!/bin/sh\nprintf 'def total(xs):\\n    return sum(xs)\\n' > /app/shop/prices.py\n",
        "tests/test.sh": PYTEST,
        "tests/test_it.py": "from shop.prices import total\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    },
    "with-a-report": {
        "instruction.md": "double() in twice.py is to double.\n",
        "environment/twice.py": "def double(x):\n    return x + 2\n",
        "solution/solve.sh": "#!/bin/sh\nprintf 'def double(x):\\n    return 2 * x\\n' > /app/twice.py\n",
        "tests/test.sh": "#!/bin/sh\nPYTHONPATH=/app exec python3 /tests/check.py\n",
        "tests/check.py": "import json\nfrom twice import double\n"
        "tests = [{'name': f'double_{n}', 'status': 'passed' if double(n) == 2 * n else 'failed', 'duration': 1}\n"
        "         for n in (2, 5)]\n"
        "json.dump({'results': {'tests': tests}}, open('/logs/verifier/ctrf.json', 'w'))\n"
        "right = all(one['status'] == 'passed' for one in tests)\n"
        "print(int(right), file=open('/logs/verifier/reward.txt', 'w'))\n",
    },
}  # fmt: skip


APART = '[verifier]\ntimeout_sec = 60.0\nenvironment_mode = "separate"\n'
OWN_IMAGE = f"FROM {IMAGE}\nWORKDIR /work\nCOPY . /tests/\n"
APART_TASKS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "a-copy-with-one-file": (
        f'artifacts = ["/app/out.txt", "/app/missing.txt"]\n{APART}',
        {
            "instruction.md": "Write hello into out.txt and anything into other.txt.\n",
            "solution/solve.sh": "#!/bin/sh\ncd /app && echo hello > out.txt && echo more > other.txt\n",
            "tests/test.sh": shell('[ "$(cat /app/out.txt)" = hello ] && [ ! -e /app/other.txt ]'),
        },
    ),
    "an-image-of-its-own": (
        f'artifacts = [{{ source = "/app", exclude = ["*.log", "cache"] }}]\n{APART}',
        {
            "instruction.md": "greet() raises an error. Make it greet, and write run.sh, which greets Ada.\n",
            **GREETING,
            "solution/solve.sh": "#!/bin/sh\ncd /app && sed -i 's/who$/name/' hello.py && echo x > a.log\n"
            "mkdir -p lib/cache && echo x > lib/cache/x && echo y > lib/kept\n"
            "printf '#!/bin/sh\\nexec python3 -c \"import hello; print(hello.greet(\\047Ada\\047))\"\\n' > run.sh\n"
            "chmod +x run.sh\n",
            "tests/Dockerfile": OWN_IMAGE,
            "tests/test.sh": shell(
                'cd /app && [ "$(./run.sh)" = "Hello Ada" ] && [ ! -e a.log ] && [ ! -e lib/cache ] && [ -e lib/kept ]'
            ),
        },
    ),
    "what-a-command-collects": (
        f"{APART}[[verifier.collect]]\ncommand = 'python3 /app/say.py > /logs/artifacts/said.txt'\n"
        "[verifier.environment.env]\nWANTED = 'ha'\n",
        {
            "instruction.md": "Write say.py, which prints ha.\n",
            "solution/solve.sh": "#!/bin/sh\necho 'print(\"ha\")' > /app/say.py\n",
            "tests/test.sh": shell('[ "$(cat /logs/artifacts/said.txt)" = "$WANTED" ] && [ ! -e /app/say.py ]'),
        },
    ),
    "the-first-claim-stays": (
        f'artifacts = ["/app/a.txt", "/app"]\n{APART}',
        {
            "instruction.md": "Write a.txt and b.txt.\n",
            "environment/old.txt": "old\n",
            "solution/solve.sh": "#!/bin/sh\ncd /app && echo a > a.txt && echo b > b.txt\n",
            "tests/test.sh": shell("[ -e /app/a.txt ] && [ ! -e /app/b.txt ] && [ ! -e /app/old.txt ]"),
        },
    ),
}
"""Verifiers with an environment of their own: `task.toml`, and the other files."""
STEPPED_TASKS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "half-of-two": (
        '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n',
        {
            "steps/one/instruction.md": "Write 1 into a.txt.\n",
            "steps/one/solution/solve.sh": "#!/bin/sh\necho 1 > /app/a.txt\n",
            "steps/one/tests/test.sh": shell("[ -e /app/a.txt ]"),
            "steps/two/instruction.md": "Write 2 into a.txt.\n",
            "steps/two/solution/solve.sh": "#!/bin/sh\necho 3 > /app/a.txt\n",
            "steps/two/tests/test.sh": shell('[ "$(cat /app/a.txt)" = 2 ]'),
        },
    ),
    "the-last-counts": (
        'multi_step_reward_strategy = "final"\n'
        '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n[steps.verifier]\nenv = { WANTED = "two" }\n',
        {
            "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\n"
            "RUN printf '#!/bin/sh\\nexec sh \"$@\"\\n' > /bin/bash && chmod +x /bin/bash\n",
            "tests/test.sh": "#!/bin/sh\nexec sh /tests/check.sh\n",
            "tests/check.sh": shell("[ -e /app/never ]"),
            "steps/one/instruction.md": "Do nothing; nothing helps.\n",
            "steps/one/solution/solve.sh": "#!/bin/sh\necho 1 > /app/a.txt\n",
            "steps/two/instruction.md": "Write two into b.txt.\n",
            "steps/two/workdir/notes.txt": "n\n",
            "steps/two/workdir/setup.sh": 'rm /app/a.txt\necho made > made.txt\nrm -- "$0"\n',
            "steps/two/solution/solve.sh": "#!/bin/sh\necho two > /app/b.txt\n",
            "steps/two/tests/check.sh": shell(
                'cd /app && [ "$(cat b.txt)" = "$WANTED" ] && [ -e notes.txt ] && [ -e made.txt ] && [ ! -e a.txt ]'
                " && [ ! -e setup.sh ]"
            ),
        },
    ),
    "a-step-that-has-to-be": (
        '[[steps]]\nname = "one"\nmin_reward = { there = 1.0 }\n[[steps]]\nname = "two"\n[steps.verifier]\n'
        'environment_mode = "separate"\n[[steps.artifacts]]\nsource = "/app/made"\n',
        {
            "environment/old.txt": "old\n",
            "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nCOPY old.txt .\nRUN echo made > by_image.txt\n",
            "steps/one/instruction.md": "Delete old.txt and by_image.txt.\n",
            "steps/one/solution/solve.sh": "#!/bin/sh\nrm /app/old.txt /app/by_image.txt\n",
            "steps/one/tests/test.sh": "#!/bin/sh\nif [ -e /app/old.txt ]; then r=0; else r=1; fi\n"
            'echo "{\\"there\\": $r, \\"more\\": 1}" > /logs/verifier/reward.json\n',
            "steps/two/instruction.md": "Write it into made/x.\n",
            "steps/two/solution/solve.sh": "#!/bin/sh\ncd /app\n[ ! -e by_image.txt ] && mkdir made && echo > made/x\n",
            "steps/two/tests/test.sh": "#!/bin/sh\ncd /app\nif [ -e made ] && [ -e old.txt ]; then r=1; else r=0; fi\n"
            'echo "{\\"there\\": $r}" > /logs/verifier/reward.json\n',
        },
    ),
}
"""Several steps: `task.toml`, and the other files."""
HELLO_STEPS: tuple[str, Mapping[str, str]] = (
    '[[steps]]\nname = "one"\nmin_reward = 1.0\n[[steps]]\nname = "two"\n',
    {
        "environment/old.txt": "old\n",
        "steps/one/instruction.md": "Write 1 into a.txt.\n",
        "steps/one/tests/test.sh": shell("[ -e /app/a.txt ]"),
        "steps/two/instruction.md": "Write 2 into b.txt and delete brought.txt.\n",
        "steps/two/workdir/brought.txt": "x\n",
        "steps/two/tests/test.sh": shell("cd /app && [ -e a.txt ] && [ -e b.txt ] && [ ! -e brought.txt ]"),
    },
)
"""Two steps that need no image."""


def write_task(folder: Path, files: Mapping[str, str], *, config: str = "[verifier]\ntimeout_sec = 60.0\n") -> Path:
    """Writes a task; a Dockerfile that copies everything, where it brings none."""
    whole = {"task.toml": f'version = "1.0"\n{config}', "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\n"}
    if any(path.startswith("environment/") for path in files):
        whole["environment/.dockerignore"] = "Dockerfile\n.dockerignore\n"
        whole["environment/Dockerfile"] += "COPY . .\n"
    for path, text in (whole | dict(files)).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def write_tasks(folder: Path) -> list[Path]:
    """All ten."""
    return [write_task(folder / name, files) for name, files in TASKS.items()]


def tool_context() -> ToolContext:
    """For a tool that opens its own environment and asks no model."""

    async def opened() -> Sandbox:
        raise ConfigError("The run's sandbox was asked for.")

    async def asked(backend: Backend, request: Request) -> Completion:
        raise ConfigError(f"{backend.model} was asked ({request.purpose}).")

    return ToolContext(sandbox=opened, call=asked)
