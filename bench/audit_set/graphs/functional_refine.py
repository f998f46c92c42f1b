from langchain.chat_models import init_chat_model
from langgraph.func import entrypoint, task
from pydantic import BaseModel

llm = init_chat_model("anthropic:claude-3-5-haiku-latest")


class Feedback(BaseModel):
    grade: str
    feedback: str


evaluator = llm.with_structured_output(Feedback)


@task
def make_joke(topic: str, feedback: Feedback | None):
    if feedback:
        msg = llm.invoke(f"Joke about {topic}, but heed {feedback.feedback}")
    else:
        msg = llm.invoke(f"Joke about {topic}")
    return msg.content


@task
def grade_joke(joke: str):
    return evaluator.invoke(f"Grade the joke {joke}")


@entrypoint()
def joke_workflow(topic: str):
    feedback = None
    while True:
        joke = make_joke(topic, feedback).result()
        feedback = grade_joke(joke).result()
        if feedback.grade == "funny":
            break
    return joke
