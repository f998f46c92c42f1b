"""Reads graphs that exist as objects. Nothing is called but plain attributes; LangGraph is never imported here."""
