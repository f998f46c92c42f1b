import openai
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

client = openai.OpenAI()


class State(TypedDict):
    brief: str
    slogan: str


def ask(prompt: str) -> str:
    r = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": prompt}])
    return r.choices[0].message.content


def slogans(state: State):
    slogan = ask("Slogan for " + state["brief"])
    opinion = ask("Say OK or improve: " + slogan)
    rounds = 0
    while "OK" not in opinion and rounds < 5:
        slogan = ask(f"Improve {slogan} given {opinion}")
        opinion = ask("Say OK or improve: " + slogan)
        rounds += 1
    return {"slogan": slogan}


builder = StateGraph(State)
builder.add_node("slogans", slogans)
builder.add_edge(START, "slogans")
builder.add_edge("slogans", END)
graph = builder.compile()
