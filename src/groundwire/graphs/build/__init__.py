"""From what a person declares to a graph that runs: declarations, checks, the proof, and LangGraph's graph."""
