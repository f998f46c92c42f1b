"""A loop that goes round until a query brings the rows that it should. The database lets a query read, and no more.

python examples/sql_loop.py
"""

import sqlite3

from groundwire import Candidate, FeedbackGraph, Task
from groundwire.agents import LLMActor
from groundwire.models import ScriptedBackend
from groundwire.tools import Check

db = sqlite3.connect(":memory:")
db.executescript("CREATE TABLE sale(who, cups); INSERT INTO sale VALUES ('Ada', 2), ('Ada', 1), ('Bo', 1)")
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)


def only_read(action: int, *_: object) -> int:
    """Lets a query read."""
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


db.set_authorizer(only_read)


def right_rows(candidate: Candidate) -> str:
    """What is wrong with the rows of a query; empty where nothing is."""
    rows = db.execute(candidate.text).fetchall()
    return "" if rows == [("Ada", 3), ("Bo", 1)] else f"rows: {rows}"


model = ScriptedBackend(
    ["DROP TABLE sale", "SELECT who, cups FROM sale", "SELECT who, sum(cups) FROM sale GROUP BY who"]
)
app = FeedbackGraph.loop(LLMActor(model), Check(right_rows, fails_on=sqlite3.Error)).compile()  # or "openai/gpt-5-mini"
result = app.run(Task.of("SQL for sale(who, cups): how many cups each has bought, by name.", answer="query.sql"))
print(result.verdict, result.trials, result.text)
