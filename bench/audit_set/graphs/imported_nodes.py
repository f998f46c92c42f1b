from langgraph.graph import END, START, StateGraph

from .nodes import critique, decide, write
from .state import ArticleState

g = StateGraph(ArticleState)
g.add_node("write", write)
g.add_node("critique", critique)
g.add_edge(START, "write")
g.add_edge("write", "critique")
g.add_conditional_edges("critique", decide, {"again": "write", "enough": END})
graph = g.compile()
