"""A loop that goes round until the answer fits a JSON schema.

python examples/json_loop.py
"""

import json

from jsonschema import ValidationError, validate

from groundwire import FeedbackGraph, Task
from groundwire.agents import LLMActor
from groundwire.models import ScriptedBackend
from groundwire.tools import Check

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
model = ScriptedBackend(['{"total": "12"}', '```json\n{"total": 12}\n```'])  # or "openai/gpt-5-mini"
fits = Check(lambda c: validate(json.loads(c.text), SCHEMA), fails_on=(ValidationError, ValueError), name="fits")
app = FeedbackGraph.loop(LLMActor(model), fits).compile()
result = app.run(Task.of(f"Two coffees at 4 and a cake at 4: the bill, by {SCHEMA}.", answer="bill.json"))
print(result.verdict, result.trials, result.text)
