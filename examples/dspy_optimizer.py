# pyright: basic, reportMissingImports=false
"""A DSPy program whose metric is a sealed verdict: GEPA reflects on what a check said.

python examples/dspy_optimizer.py   (pip install "groundwire[dspy]")
"""

import json
import sys
from contextlib import redirect_stdout
from tempfile import TemporaryDirectory

import dspy
from dspy.lm15 import Message, Response, TextPart, Usage

from groundwire.integrations.gated import SealedMetric

LOUDLY = "Answer in capital letters."


class Scripted:
    """In a model's place: it shouts once its instructions say so, and proposes to say so once it is told why."""

    def complete(self, request):
        asked = f"{request.system} {[message.text for message in request.messages]}"
        proposes = "new_instruction" in asked and "not in capitals" in asked
        reply = {"new_instruction": LOUDLY} if proposes else {"answer": "HELLO" if LOUDLY in asked else "hello"}
        said = Message.assistant([TextPart(json.dumps(reply))])
        return Response(id=None, model="scripted", message=said, finish_reason="stop", usage=Usage())


model = dspy.LM("scripted", engine=Scripted(), cache=False)  # or dspy.LM("openai/gpt-5-mini")
dspy.configure(lm=model, adapter=dspy.JSONAdapter())
guests = [dspy.Example(question=f"Greet guest {n}.").with_inputs("question") for n in range(2)]
with TemporaryDirectory() as folder, redirect_stdout(sys.stderr):  # where DSPy's progress goes
    metric = SealedMetric(lambda c: c.text.isupper() or "not in capitals", db=f"sqlite:///{folder}/ledger.db")
    gepa = dspy.GEPA(metric, reflection_lm=model, max_metric_calls=12, num_threads=1)
    better = gepa.compile(dspy.Predict("question -> answer"), trainset=guests, valset=guests)
    score = metric(guests[0], better(**guests[0].inputs())).score
print(better.signature.instructions, score)
