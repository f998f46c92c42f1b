import subprocess

from langchain_openai import ChatOpenAI
from langgraph.func import entrypoint, task

llm = ChatOpenAI(model="o4-mini")


@task
def write(spec: str, errors: str) -> str:
    return llm.invoke(f"C program: {spec}\n{errors}").content


@task
def build(source: str) -> tuple[bool, str]:
    done = subprocess.run(["gcc", "-x", "c", "-o", "/tmp/out", "-"], input=source, text=True, capture_output=True)
    return done.returncode == 0, done.stderr


@entrypoint()
def compile_until_clean(spec: str) -> str:
    errors = ""
    while True:
        source = write(spec, errors).result()
        ok, errors = build(source).result()
        if ok:
            return source
