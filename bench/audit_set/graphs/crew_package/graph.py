from typing import TypedDict

from langgraph.graph import END, START, StateGraph

from crew_package import nodes


class Song(TypedDict):
    theme: str
    lyrics: str
    good: bool


def create_workflow():
    wf = StateGraph(Song)
    wf.add_node("write_lyrics", nodes.write_lyrics)
    wf.add_node("rate_lyrics", nodes.rate_lyrics)
    wf.add_edge(START, "write_lyrics")
    wf.add_edge("write_lyrics", "rate_lyrics")
    wf.add_conditional_edges("rate_lyrics", is_good, {"yes": END, "no": "write_lyrics"})
    return wf


def is_good(state):
    return "yes" if state["good"] else "no"


app = create_workflow().compile()
