import subprocess

from langchain_openai import ChatOpenAI
from langgraph.func import entrypoint, task

llm = ChatOpenAI(model="gpt-4o")


@task
def write_code(spec: str, failure: str | None = None) -> str:
    return llm.invoke(f"{spec}\n{failure or ''}").content


@task
def run_tests(code: str) -> tuple[bool, str]:
    with open("solution.py", "w") as fh:
        fh.write(code)
    p = subprocess.run(["python", "-m", "pytest", "-q"], capture_output=True, text=True)
    return p.returncode == 0, p.stdout


@entrypoint()
def tdd(spec: str) -> str:
    code = write_code(spec).result()
    passed, out = run_tests(code).result()
    while not passed:
        code = write_code(spec, out).result()
        passed, out = run_tests(code).result()
    return code
