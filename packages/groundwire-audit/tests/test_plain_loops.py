"""Loops of plain functions that ask a model: which of them are reported, and as what."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire_audit._discover import audit_path
from groundwire_audit._errors import AuditError
from groundwire_audit._rules import change_for

CLIENT = """
import json, subprocess, os, time
from openai import OpenAI
client = OpenAI()
def ask(prompt):
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content
"""


def verdicts(source: str, folder: Path) -> dict[str, str]:
    """Function → verdict of its one loop."""
    path = folder / "program.py"
    path.write_text(CLIENT + source)
    return {g.name: str(x.verdict) for g in audit_path(path).graphs for x in g.loops}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            "text = ask('write')\n    while 'DONE' not in ask('done? ' + text):\n        text = ask('better ' + text)",
            "ungrounded",
        ),
        (
            "while True:\n        text = ask('write')\n        if ask('ok?').strip() == 'yes':\n            break",
            "ungrounded",
        ),
        (
            "while True:\n        code = ask('code')\n        if subprocess.call(['python', '-c', code]) == 0:\n            return code",  # noqa: E501
            "grounded",
        ),
        ("while (said := input('> ')) != 'quit':\n        print(ask(said))", "grounded"),
        (
            "for _ in range(3):\n        try:\n            return json.loads(ask('json'))\n        except ValueError:\n            continue",  # noqa: E501
            "grounded",
        ),
        (
            "for attempt in range(5):\n        text = ask('write')\n        if 'good' in ask(text):\n            break",
            "ungrounded",
        ),
    ],
)
def test_a_loop_that_tests_the_models_own_answer(body: str, wanted: str, tmp_path: Path) -> None:
    assert verdicts(f"def work():\n    {body}\n", tmp_path) == {"work": wanted}


@pytest.mark.parametrize(
    "test",
    [
        "said.startswith('DONE')",
        "said.strip().upper().endswith('DONE')",
        "said.find('DONE') != -1",
        "said.splitlines()[0] == 'DONE'",
        "re.findall('DONE', said)",
        "re.findall(pattern, said)",
        "reply.approved",
        "reply['approved']",
        "not reply.objections",
        "not said.strip()",
    ],
)
def test_what_is_drawn_out_of_a_reply_is_what_the_model_says(test: str, tmp_path: Path) -> None:
    source = f"""
import re
def work(pattern: str):
    while True:
        reply = client.chat.completions.create(model="m", messages=[])
        said = reply.choices[0].message.content
        if {test}:
            break
"""
    assert verdicts(source, tmp_path) == {"work": "ungrounded"}


def test_the_field_of_a_program_of_dspy_is_what_the_model_says(tmp_path: Path) -> None:
    source = """
import dspy
class Judge(dspy.Module):
    def __init__(self):
        super().__init__()
        self.judge = dspy.ChainOfThought("text -> ok: bool")
    def forward(self, text):
        return self.judge(text=text)
class Writer(dspy.Module):
    def __init__(self):
        super().__init__()
        self.write, self.good = dspy.Predict("topic -> text"), Judge()
    def forward(self, topic):
        for _ in range(3):
            text = self.write(topic=topic).text
            if self.good(text).ok:
                break
        return text
"""
    assert verdicts(source, tmp_path) == {"Writer.forward": "ungrounded"}


TOOLS = """
def run(call):
    return subprocess.run(call.function.arguments, capture_output=True).stdout
def work(messages: list):
    turns = 0
    while turns < 10:
        reply = client.chat.completions.create(model="m", messages=messages, tools=[]).choices[0].message
        {body}
        turns += 1
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            "if not reply.tool_calls:\n            break\n        messages += [run(c) for c in reply.tool_calls]",
            "tool_loop",
        ),
        (
            "if reply.tool_calls:\n            messages += [run(c) for c in reply.tool_calls]\n            if 'end' in [c.function.name for c in reply.tool_calls]:\n                break",  # noqa: E501
            "partly",
        ),
    ],
    ids=["only with a tool", "without one too"],
)
def test_a_way_round_on_which_no_tool_is_asked_for_is_no_tool_loop(body: str, wanted: str, tmp_path: Path) -> None:
    assert verdicts(TOOLS.format(body=body), tmp_path) == {"work": wanted}


@pytest.mark.parametrize(
    "call",
    [
        "client.chat.completions.create(model='m', messages=[text])",
        "client.messages.create(model='m', max_tokens=9, messages=[text])",
        "client.responses.create(model='m', input=text)",
        "client.models.generate_content(model='m', contents=text)",
    ],
)
def test_a_client_that_is_handed_in_is_known_by_how_it_is_called(call: str, tmp_path: Path) -> None:
    source = f"def work(text, client):\n    while 'yes' not in {call}.text:\n        pass\n"
    assert verdicts(source, tmp_path) == {"work": "ungrounded"}


def test_messages_that_are_sent_to_people_are_asked_of_no_model(tmp_path: Path) -> None:
    source = "def work(client):\n    while client.messages.create(to='+4', body='x').status != 'sent':\n        pass\n"
    assert verdicts(source, tmp_path) == {}


def test_a_flag_or_number_that_a_caller_may_set_is_not_what_it_is_by_default(tmp_path: Path) -> None:
    source = """
class Review:
    def __init__(self, judge: bool = False):
        self.judge = judge
    def again(self, text):
        while self.judge:
            if "done" in ask(text):
                break
def work(text, rounds=1):
    if rounds > 1:
        for _ in range(rounds - 1):
            if "done" in ask(text):
                break
"""
    assert verdicts(source, tmp_path) == {"work": "ungrounded", "Review.again": "ungrounded"}


def test_methods_that_are_added_to_a_client_are_followed(tmp_path: Path) -> None:
    source = """
class Client(OpenAI):
    def until(self, text):
        while "yes" not in self.responses.create(model="m", input=text).output_text:
            pass
"""
    assert verdicts(source, tmp_path) == {"Client.until": "ungrounded"}


def test_whoever_asks_a_model_in_its_step_is_no_environment(tmp_path: Path) -> None:
    source = """
class Player:
    def reset(self):
        self.text = ""
    def step(self):
        self.text = ask(self.text)
        return "won" in self.text
def work():
    player = Player()
    while not player.step():
        pass
"""
    assert verdicts(source, tmp_path) == {"work": "ungrounded"}


@pytest.mark.parametrize(
    "body",
    [
        "for text in texts:\n        print(ask(text))",
        "for i in range(len(texts)):\n        print(ask(texts[i]))",
        "for i in range(0, len(texts), 10):\n        print(ask(str(texts[i : i + 10])))",
        "for text in texts:\n        time.sleep(1)\n    return ask('x')",
        "while texts:\n        ask(texts.pop())",
        "for chunk in client.chat.completions.create(model='m', messages=texts, stream=True):\n        print(chunk)",
    ],
)
def test_going_through_given_things_is_no_finding(body: str, tmp_path: Path) -> None:
    assert verdicts(f"def work(texts: list):\n    {body}\n", tmp_path) == {}


def test_a_loop_is_named_after_the_method_that_holds_it_and_seen_with_its_callers_arguments(tmp_path: Path) -> None:
    source = """
class Writer:
    def __init__(self, judge):
        self.judge = judge
    def until(self, good):
        text = ask("write")
        while not good(text):
            text = ask("again")
        return text
    def work(self):
        return self.until(lambda text: "yes" in ask("good? " + text))
"""
    assert verdicts(source, tmp_path) == {"Writer.until": "ungrounded"}


def test_a_loop_of_a_graphs_node_is_reported_once(tmp_path: Path) -> None:
    source = """
from langgraph.graph import StateGraph, START, END
def node(state):
    while True:
        text = ask("write")
        if "yes" in ask(text):
            return {"text": text}
graph = StateGraph(dict)
graph.add_node("node", node)
graph.add_edge(START, "node")
app = graph.compile()
"""
    assert verdicts(source, tmp_path) == {"app": "ungrounded"}


def test_a_loop_of_a_tool_is_reported_though_only_an_agent_calls_it(tmp_path: Path) -> None:
    source = """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
def write(topic: str) -> str:
    text = ask(topic)
    while "yes" not in ask("good? " + text):
        text = ask("better " + text)
    return text
agent = create_agent(ChatOpenAI(), tools=[write])
"""
    assert verdicts(source, tmp_path)["write"] == "ungrounded"


def test_a_loop_of_a_class_that_wires_some_other_graph_is_reported(tmp_path: Path) -> None:
    source = """
import networkx
class Search:
    def __init__(self, client):
        self.client, self.graph = client, networkx.DiGraph()
    def run(self, depth=1):
        for i in range(depth):
            self.graph.add_edge(i, i + 1)
            if "end" in ask("end?"):
                break
def work(client):
    Search(client).run()
"""
    assert verdicts(source, tmp_path) == {"Search.run": "ungrounded"}


def test_what_a_try_gives_back_is_given_back_only_where_nothing_was_raised(tmp_path: Path) -> None:
    source = """
import statistics
def checked(text):
    try:
        return True, statistics.mean(text)
    except Exception:
        return False, None
def work():
    for _ in range(3):
        ok, value = checked(ask("numbers"))
        if ok:
            return value
"""
    assert verdicts(source, tmp_path) == {"work": "grounded"}


def test_a_script_and_a_notebook_hold_loops_too(tmp_path: Path) -> None:
    script = "text = ask('write')\nwhile 'yes' not in ask(text):\n    text = ask('again')\n"
    assert verdicts(script, tmp_path) == {"program": "ungrounded"}
    guarded = "def main():\n    while 'yes' not in ask('x'):\n        pass\nif __name__ == '__main__':\n    main()\n"
    assert verdicts(guarded, tmp_path) == {"main": "ungrounded"}


def test_a_function_can_be_named_as_the_target(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        f"{CLIENT}def a():\n    while 'y' not in ask('x'):\n        pass\ndef b():\n    while 'y' not in ask('x'):\n        pass\n"  # noqa: E501
    )
    assert [g.name for g in audit_path(path, wanted="b").graphs] == ["b"]
    with pytest.raises(AuditError, match="a, b"):
        audit_path(path, wanted="c")


def test_a_person_who_is_asked_on_every_round_that_goes_on_is_asked_though_a_way_out_does_not(tmp_path: Path) -> None:
    source = """
def chat():
    while True:
        try:
            said = input("> ")
        except EOFError:
            break
        print(ask(said))
"""
    assert verdicts(source, tmp_path) == {"chat": "grounded"}


@pytest.mark.parametrize(
    ("test", "wanted"), [("'kind' in found", "grounded"), ("'yes' in found['kind']", "ungrounded")]
)
def test_whether_a_parsed_reply_has_a_key_is_its_form_and_what_lies_there_is_not(
    test: str, wanted: str, tmp_path: Path
) -> None:
    source = f"def work():\n    while True:\n        found = json.loads(ask('x'))\n        if {test}:\n            return found\n"  # noqa: E501
    assert verdicts(source, tmp_path) == {"work": wanted}


def test_embeddings_are_no_model(tmp_path: Path) -> None:
    source = "def work(n):\n    for i in range(n):\n        got = client.embeddings.create(model='e', input=str(i))\n        if got:\n            break\n"  # noqa: E501
    assert verdicts(source, tmp_path) == {}


def test_counting_tokens_asks_no_model(tmp_path: Path) -> None:
    source = """
import litellm
def cut(text: str, limit: int):
    while litellm.token_counter(model="m", text=text) > limit:
        text = text[: len(text) // 2]
    return text
"""
    assert verdicts(source, tmp_path) == {}


def test_a_comment_on_one_loop_leaves_out_that_loop_alone(tmp_path: Path) -> None:
    loop = "while True:{comment}\n        text = ask('write')\n        if 'yes' in ask(text):\n            break"
    first = loop.format(comment="  # groundwire: ignore[ungrounded-loop] it is read by an editor")
    path = tmp_path / "program.py"
    path.write_text(f"{CLIENT}def work():\n    {first}\n    {loop.format(comment='')}\n")
    assert [x.suppressed for x in audit_path(path).loops] == ["it is read by an editor", ""]


def test_what_ends_a_plain_loop_is_no_limit_of_langgraph(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"{CLIENT}def work():\n    while 'yes' not in ask('good?'):\n        ask('write')\n")
    (loop,) = audit_path(path).loops
    assert loop.cap == "no cap"
    assert "compile(" not in change_for(loop)


def test_rounds_that_nothing_ends_early_are_a_fixed_number_whatever_goes_wrong_in_them(tmp_path: Path) -> None:
    source = """
def work(count: int):
    found = []
    for _ in range(count):
        try:
            found.append(json.loads(ask("an idea")))
        except ValueError:
            continue
    return found
"""
    path = tmp_path / "program.py"
    path.write_text(CLIENT + source)
    (loop,) = audit_path(path).loops
    assert (str(loop.verdict), loop.kind, str(loop.level)) == ("ungrounded", "fixed rounds", "note")


def test_what_is_not_in_sight_of_a_plain_loop_is_asked_for_where_it_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"{CLIENT}def work(good):\n    while not good(ask('write')):\n        pass\n")
    (loop,) = audit_path(path).loops
    assert str(loop.verdict) == "unknown"
    assert "--role" not in change_for(loop)


OVER_HTTP = """
import os
from urllib.request import Request, urlopen
import httpx
import requests
URL = os.getenv("MODEL_URL", "x")
def refine(ask, task):
    draft = ask(task)
    while "GOOD" not in ask("Is it good? " + draft):
        draft = ask("Mend it: " + draft)
    return draft
"""


@pytest.mark.parametrize(
    "call",
    [
        "requests.post('http://localhost:11434/api/generate', json={'model': 'm', 'prompt': p}).json()['response']",
        "requests.post(URL, json={'model': 'm', 'messages': [p]}).json()['choices'][0]['message']['content']",
        "httpx.Client().post(f'{URL}/v1/chat/completions', content=p).json()['choices'][0]['message']['content']",
        "json.loads(urlopen(Request('https://api.openai.com/v1/responses', data=p.encode())).read())['output']",
    ],
)
def test_a_model_behind_an_address_is_a_model_and_no_outside_service(call: str, tmp_path: Path) -> None:
    source = f"{OVER_HTTP}def said(p):\n    return {call}\ndef main(task):\n    return refine(said, task)\n"
    assert set(verdicts(source, tmp_path).values()) == {"ungrounded"}


def test_a_service_that_is_no_model_stays_outside(tmp_path: Path) -> None:
    source = (
        f"{OVER_HTTP}"
        + """
from openai import OpenAI
client = OpenAI()
def main(task):
    for _ in range(3):
        reply = client.responses.create(model="m", input=task).output_text
        if requests.post("http://ci.example/build", json={"files": reply}).json()["passed"]:
            return reply
"""
    )
    assert set(verdicts(source, tmp_path).values()) == {"grounded"}


def test_whether_a_models_server_answered_is_a_fact(tmp_path: Path) -> None:
    source = (
        f"{OVER_HTTP}"
        + """
def ask(p):
    for _ in range(3):
        reply = requests.post("http://localhost:11434/api/chat", json={"model": "m", "messages": [p]})
        if reply.status_code == 200:
            return reply.json()
"""
    )
    assert set(verdicts(source, tmp_path).values()) == {"grounded"}


def test_a_call_with_a_prompt_and_a_setting_of_models_asks_one(tmp_path: Path) -> None:
    source = """
from prompts.backends import wrapper
def refine(task):
    draft = wrapper.Api.call(prompt=task, engine="e", max_tokens=300)
    while "fine" not in wrapper.Api.call(prompt=draft, engine="e", max_tokens=9):
        draft = wrapper.Api.call(prompt=draft, engine="e", max_tokens=300)
    return draft
"""
    assert set(verdicts(source, tmp_path).values()) == {"ungrounded"}


ACTS = """
import re
import httpx
from openai import OpenAI
client = OpenAI()
def ask(messages):
    return client.responses.create(model="m", input=messages).output_text
def search(text):
    return httpx.get("https://example.org", params={"q": text}).text
TOOLS = {"search": search}
"""


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            "def run(messages):\n    for _ in range(9):\n        reply = ask(messages)\n"
            "        found = re.search(r'Action: (\\w+): (.*)', reply)\n"
            "        if not found:\n            return reply\n"
            "        name, text = found.groups()\n        messages.append(TOOLS[name](text))",
            "tool_loop",
        ),
        (
            "def run(messages):\n    while True:\n        reply = ask(messages)\n        if 'Final Answer' in reply:\n"
            "            break\n        messages.append(search(reply))\n    return reply",
            "tool_loop",
        ),
        (  # the search comes first, and the model judges what was found
            "def run(messages):\n    while True:\n        messages.append(search(messages[-1]))\n"
            "        reply = ask(messages)\n        if 'enough' in reply:\n            return messages",
            "partly",
        ),
        (  # one model judges what another one wrote
            "def run(messages):\n    while True:\n        draft = ask(messages)\n"
            "        verdict = ask(['Good?', draft])\n"
            "        if 'good' in verdict:\n            return draft\n        messages.append(search(verdict))",
            "partly",
        ),
    ],
)
def test_a_model_that_chooses_an_action_or_to_end_advances_on_what_its_actions_bring(
    source: str, wanted: str, tmp_path: Path
) -> None:
    assert set(verdicts(f"{ACTS}{source}\n", tmp_path).values()) == {wanted}


CALLED = """
def run(messages):
    reply = client.messages.create(model="m", messages=messages, tools=SCHEMAS)
    while reply.stop_reason == "tool_use":
        block = next(b for b in reply.content if b.type == "tool_use")
        messages.append({"role": "user", "content": called(block.name, block.input)})
        reply = client.messages.create(model="m", messages=messages, tools=SCHEMAS)
    return reply
"""


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [
        ("    orders = {'1': 'sent', '2': 'lost'}\n    return orders.get(given['order'], 'none')", "tool_loop"),
        ("    return given['a'] * given['b']", "tool_loop"),
        ("    return 'You said: ' + given['text']", "ungrounded"),
    ],
)
def test_a_plain_loop_over_tool_calls_needs_a_tool_that_works_something_out(
    tool: str, wanted: str, tmp_path: Path
) -> None:
    source = (
        "from anthropic import Anthropic\nclient = Anthropic()\nSCHEMAS = [{'name': 'tool'}]\n"
        f"def tool(given):\n{tool}\ndef called(name, given):\n    if name == 'tool':\n        return tool(given)\n"
    )
    assert set(verdicts(f"{source}{CALLED}", tmp_path).values()) == {wanted}


@pytest.mark.parametrize("limit", ["n", "self.settings.rounds"])
def test_a_count_against_a_number_that_is_handed_in_is_a_count(limit: str, tmp_path: Path) -> None:
    source = f"""
class Writer:
    def __init__(self, settings):
        self.settings = settings
    def write(self, task, n):
        draft, at = ask(task), 0
        while at < {limit}:
            if "fine" in ask("Fine? " + draft):
                break
            draft = ask("Mend " + draft)
            at += 1
        return draft
"""
    assert set(verdicts(source, tmp_path).values()) == {"ungrounded"}
