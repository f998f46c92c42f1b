"""What a test rests on goes by data flow: what is compared with what, under which key, after which statement."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import Grounding, Loop

ROUND = """
class Review(BaseModel):
    {field}: float
class S(TypedDict):
    task: str
    text: str
    {field}: float
LIMIT = float(json.loads(Path("limits.json").name or "0.5"))
def write(state):
    return {{"text": llm.invoke(state["task"]).content}}
def look(state):
    {body}
def route(state):
    return END if {test} else "write"
g = StateGraph(S)
g.add_node("write", write)
g.add_node("look", look)
g.add_edge(START, "write")
g.add_edge("write", "look")
g.add_conditional_edges("look", route, ["write", END])
graph = g.compile()
"""

OWN_NUMBER = 'return {{"{field}": llm.with_structured_output(Review).invoke(state["text"]).{field}}}'
DISTANCE = """wanted = [int(n) for n in state["task"].split()]
    used = [int(n) for n in state["text"].split()]
    return {{"{field}": 1 / (1 + abs(sum(used) - sum(wanted)))}}"""


def only_loop(source: str, folder: Path) -> Loop:
    """The loop of a graph that has one."""
    (loop,) = audit_path(written(source, folder)).loops
    return loop


def judged(body: str, test: str, folder: Path, field: str = "value") -> Loop:
    """The loop of write and look, with this body of look and this test in its router."""
    filled = body.format(field=field)
    return only_loop(ROUND.format(field=field, body=filled, test=test.format(field=field)), folder)


@pytest.mark.parametrize("field", ["score", "merit", "temperature", "n"])
def test_a_models_own_number_against_a_given_limit_is_its_word_whatever_it_is_called(
    field: str, tmp_path: Path
) -> None:
    loop = judged(OWN_NUMBER, 'state["{field}"] >= state["limit"]', tmp_path, field)
    assert loop.verdict is Grounding.UNGROUNDED


@pytest.mark.parametrize("field", ["score", "dist", "rating", "n"])
def test_a_number_that_code_works_out_against_what_was_given_is_a_check(field: str, tmp_path: Path) -> None:
    loop = judged(DISTANCE, 'state["{field}"] >= state["limit"]', tmp_path, field)
    assert loop.verdict is Grounding.GROUNDED
    assert loop.kind == "check"


NESTED = """
class S(TypedDict):
    text: str
    talk: dict
def write(state):
    text = llm.invoke(state["text"]).content
    {body}
def reply(state):
    return {{"text": llm.invoke(state["text"]).content}}
def route(state):
    return END if state["talk"]["{tested}"] {test} else "reply"
g = StateGraph(S)
g.add_node("write", write)
g.add_node("reply", reply)
g.add_edge(START, "write")
g.add_conditional_edges("write", route, ["reply", END])
g.add_edge("reply", "write")
graph = g.compile()
"""
TALK = {
    "written out": 'return {"talk": {"count": state["talk"]["count"] + 1, "said": state["talk"]["said"] + text}}',
    "made first": 'new = {"count": state["talk"]["count"] + 1, "said": text}\n    return {"talk": new}',
    "spread": 'return {"talk": {**state["talk"], "count": state["talk"]["count"] + 1, "said": text}}',
    "by get": 'talk = state.get("talk", {})\n    return {"talk": {"count": talk.get("count", 0) + 1, "said": text}}',
    "in place": 'state["talk"]["count"] += 1\n    state["talk"]["said"] = text\n    return {"talk": state["talk"]}',
    "by another name": 'talk = state["talk"]\n    talk["count"] += 1\n    talk["said"] = text\n'
    '    return {"talk": talk}',
}


@pytest.mark.parametrize("body", TALK.values(), ids=TALK)
def test_a_counter_beside_a_models_text_in_one_dict_is_a_counter(body: str, tmp_path: Path) -> None:
    loop = only_loop(NESTED.format(body=body, tested="count", test=">= 4"), tmp_path)
    assert (loop.verdict, loop.kind) == (Grounding.UNGROUNDED, "fixed rounds")
    assert loop.cap == "capped 4"


@pytest.mark.parametrize("body", TALK.values(), ids=TALK)
def test_a_models_text_beside_a_counter_in_one_dict_is_its_word(body: str, tmp_path: Path) -> None:
    loop = only_loop(NESTED.format(body=body, tested="said", test='== "done"'), tmp_path)
    assert (loop.verdict, loop.kind) == (Grounding.UNGROUNDED, "model's judgement")


JUDGE = """
class S(TypedDict):
    text: str
    ok: bool
def write(state):
    return {{"text": llm.invoke(state["text"]).content}}
def judge(state):
    {body}
def route(state):
    {route}
g = StateGraph(S)
g.add_node("write", write)
g.add_node("judge", judge)
g.add_edge(START, "write")
g.add_edge("write", "judge")
g.add_conditional_edges("judge", route, ["write", END])
graph = g.compile()
"""
SAYS = 'return {"ok": llm.invoke("good? " + state["text"]).content == "yes"}'
BY_KEY = 'return END if state["ok"] else "write"'


@pytest.mark.parametrize(
    "body",
    [
        SAYS,
        f"try:\n        {SAYS}\n    except Exception:\n        return {{'ok': False}}",
        f"try:\n        text = open('style.txt').read()\n    except OSError:\n        text = ''\n    {SAYS}",
        f"try:\n        open('style.txt').read()\n        {SAYS}\n    except Exception:\n"
        "        return {'ok': False}",
    ],
    ids=["none", "round the model", "before the model", "round both"],
)
def test_a_try_that_is_about_something_else_grounds_nothing(body: str, tmp_path: Path) -> None:
    loop = only_loop(JUDGE.format(body=body, route=BY_KEY), tmp_path)
    assert loop.verdict in {Grounding.UNGROUNDED, Grounding.PARTLY}
    assert loop.verdict is Grounding.UNGROUNDED or "open" in loop.why


PARSED = """try:
        said = json.loads(state["text"])
    except ValueError:
        return {}
    return END if said["ok"] else "write"
"""


def test_a_reply_of_the_right_form_does_not_ground_what_it_says(tmp_path: Path) -> None:
    judge = 'return {"text": llm.invoke("good? " + state["text"]).content}'
    ends = only_loop(JUDGE.format(body=judge, route=PARSED.format("END")), tmp_path)
    assert (ends.verdict, ends.kind) == (Grounding.UNGROUNDED, "model's judgement")


TWO_QUESTIONS = """
class S(TypedDict):
    text: str
def write(state):
    return {{"text": llm.invoke(state["text"]).content}}
def route(state):
    {body}
g = StateGraph(S)
g.add_node("write", write)
g.add_edge(START, "write")
g.add_conditional_edges("write", route, {{"fine": END, "again": "write"}})
graph = g.compile()
"""


@pytest.mark.parametrize(
    "body",
    [
        """said = llm.invoke("true? " + state["text"]).content
    if said == "yes":
        said = llm.invoke("useful? " + state["text"]).content
        if said == "yes":
            return "fine"
        return "again"
    return "fine" """,
        """said = state["text"]
    if said == "no":
        said = said.lower()
        if said != "no":
            return "again"
    return "fine" """,
        """mark = {"said": "yes"}
    mark["said"] = llm.invoke("true? " + state["text"]).content
    if mark["said"] == "yes":
        mark["said"] = llm.invoke("useful? " + state["text"]).content
        if mark["said"] != "yes":
            return "again"
    return "fine" """,
    ],
    ids=["asked again", "changed", "under a key"],
)
def test_the_same_test_of_a_name_that_was_bound_anew_is_another_test(body: str, tmp_path: Path) -> None:
    assert only_loop(TWO_QUESTIONS.format(body=body), tmp_path).verdict is Grounding.UNGROUNDED


FIRST_OPEN = """
class S(TypedDict):
    plan: dict
def plan(state):
    return {{"plan": llm.with_structured_output(dict).invoke("plan")}}
def work(state):
    return {{"plan": llm.with_structured_output(dict).invoke(state["plan"])}}
def route(state):
    found = None
    {loop}
    if not found:
        return END
    return "work" if found["kind"] == "work" else END
g = StateGraph(S)
g.add_node("plan", plan)
g.add_node("work", work)
g.add_edge(START, "plan")
g.add_conditional_edges("plan", route, ["work", END])
g.add_conditional_edges("work", route, ["work", END])
graph = g.compile()
"""


@pytest.mark.parametrize(
    "loop",
    [
        'for step in state["plan"]["steps"]:\n        if not step["done"]:\n            found = step\n'
        "            break",
        'for step in state["plan"]["steps"]:\n        if step["done"]:\n            continue\n        found = step',
        'for at in (0, 1, 2):\n        if not state["plan"][at]:\n            found = state["plan"][at]\n'
        "            break",
        'at = 0\n    while True:\n        step = state["plan"]["steps"][at]\n        at += 1\n'
        '        if not step["done"]:\n            found = step\n            break',
    ],
    ids=["break", "continue", "few items", "while"],
)
def test_what_is_bound_before_a_loop_is_left_is_bound_after_it(loop: str, tmp_path: Path) -> None:
    found = audit_path(written(FIRST_OPEN.format(loop=loop), tmp_path)).loops
    assert [x.path for x in found] == ["work → work"]
    assert found[0].verdict is not Grounding.GROUNDED


ASKED = """
def write(state: MessagesState):
    return {{"messages": [llm.invoke(state["messages"])]}}
def review(state: MessagesState):
    out = []
    for call in state["messages"][-1].tool_calls:
        {body}
    return {{"messages": out}}
g = StateGraph(MessagesState)
g.add_node("write", write)
g.add_node("review", review)
g.add_edge(START, "write")
g.add_conditional_edges("write", lambda s: "review" if s["messages"][-1].tool_calls else END, ["review", END])
g.add_edge("review", "write")
graph = g.compile()
"""


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("out.append(interrupt(call))", Grounding.GROUNDED),
        (
            'if call["name"] != "send":\n            continue\n        out.append(interrupt(call))',
            Grounding.PARTLY,
        ),
        ('if call["name"] == "stop":\n            break\n        out.append(interrupt(call))', Grounding.PARTLY),
    ],
    ids=["always", "unless continued", "unless left"],
)
def test_a_person_who_can_be_skipped_is_not_asked_each_round(body: str, verdict: Grounding, tmp_path: Path) -> None:
    assert only_loop(ASKED.format(body=body), tmp_path).verdict is verdict


AGAIN = """
def work(state):
    text = state["text"]
    for attempt in range(5):
        said = llm.invoke(text).content
        {body}
    return {{"text": said}}
g = StateGraph(dict)
g.add_node("work", work)
g.add_edge(START, "work")
g.add_edge("work", END)
graph = g.compile()
"""


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("if said:\n            break", Grounding.GROUNDED),
        ("if said is not None:\n            break", Grounding.GROUNDED),
        ('if "good" in said:\n            break', Grounding.UNGROUNDED),
        (
            'code = said.split("#")[1] if "#" in said else None\n        if code is None:\n            break',
            Grounding.UNGROUNDED,
        ),
    ],
    ids=["empty", "none", "content", "a part of it"],
)
def test_only_whether_there_is_a_reply_at_all_is_a_matter_of_form(
    body: str, verdict: Grounding, tmp_path: Path
) -> None:
    loop = only_loop(AGAIN.format(body=body), tmp_path)
    assert (loop.path, loop.verdict) == ("work ⟲", verdict)


FOUND = {
    "return": "for n in range(len(text)):\n  if text[n] == '{':\n   return json.loads(text[n:])\n return None",
    "at once": "for line in text.splitlines():\n  return json.loads(line)\n return None",
    "while": "while text:\n  if text[0] == '{':\n   return json.loads(text)\n  text = text[1:]\n return None",
    "unrolled": "for mark in ('json', 'JSON'):\n  if mark in text:\n   return json.loads(text)\n return None",
    "else": "for line in text.splitlines():\n  if line:\n   return json.loads(line)\n else:\n  return None",
    "twice": "for x in text.splitlines():\n  for w in x.split():\n   if w:\n    return json.loads(w)\n return None",
}


@pytest.mark.parametrize("found", FOUND)
def test_what_is_found_in_a_loop_is_still_the_models_after_a_test_whether_anything_was(
    found: str, tmp_path: Path
) -> None:
    source = f"""
def first(text):
 {FOUND[found]}
class S(TypedDict):
    text: str
    wanted: str
    way: str
def write(state):
    return {{"text": llm.invoke("write").content}}
def look(state):
    said = first(llm.invoke(state["text"]).content)
    if said is None:
        return {{"way": "stop"}}
    kept = [x for x in said.get("sources") if x in state["wanted"]]
    return {{"way": "stop" if said.get("label") == "supported" and kept else "again"}}
g = StateGraph(S)
g.add_node("write", write)
g.add_node("look", look)
g.add_edge(START, "write")
g.add_edge("write", "look")
g.add_conditional_edges("look", lambda s: s["way"], {{"stop": END, "again": "write"}})
graph = g.compile()
"""
    loop = only_loop(source, tmp_path)
    assert loop.verdict in {Grounding.UNGROUNDED, Grounding.PARTLY} and "a model" in loop.why


def test_where_a_loop_surely_returns_nothing_comes_after_it(tmp_path: Path) -> None:
    body = """for kind in ("a", "b"):
        return {{"value": float(llm.invoke(state["text"]).content)}}
    return {{"value": subprocess.run(["make"]).returncode}}"""
    assert judged(body, 'state["value"] > 3', tmp_path).verdict is Grounding.UNGROUNDED
