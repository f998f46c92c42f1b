"""Agents that talk to one another: what ends a chat, who runs code or tools in it, and where a person speaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import Loop

BEFORE = """
import autogen
from autogen import AssistantAgent, ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent, register_function
import requests
llm_config = {"config_list": autogen.config_list_from_json("CONFIG")}
writer = AssistantAgent("writer", llm_config=llm_config)
critic = AssistantAgent(name="critic", llm_config=llm_config)
runner = UserProxyAgent("runner", human_input_mode="NEVER", code_execution_config={"work_dir": "coding"})
mute = UserProxyAgent("mute", human_input_mode="NEVER", code_execution_config=False,
                      is_termination_msg=lambda m: "TERMINATE" in m["content"])
def get(url: str) -> str:
    return requests.get(url).text
"""
SINCE = """
import asyncio
import requests
from autogen_agentchat.agents import AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent, UserProxyAgent
from autogen_agentchat.conditions import (FunctionalTermination, HandoffTermination, MaxMessageTermination,
    TextMentionTermination, TextMessageTermination)
from autogen_agentchat.teams import (DiGraphBuilder, GraphFlow, MagenticOneGroupChat, RoundRobinGroupChat,
    SelectorGroupChat, Swarm)
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from autogen_ext.models.openai import OpenAIChatCompletionClient
client = OpenAIChatCompletionClient(model="m")
async def get(url: str) -> str:
    return requests.get(url).text
writer = AssistantAgent("writer", model_client=client)
critic = AssistantAgent("critic", model_client=client)
reader = AssistantAgent("reader", model_client=client, tools=[get])
runner = CodeExecutorAgent("runner", code_executor=LocalCommandLineCodeExecutor(work_dir="coding"))
user = UserProxyAgent("user", input_func=input)
approved = TextMentionTermination("APPROVE")
"""


def loops(source: str, folder: Path) -> list[Loop]:
    """All loops of a program."""
    return list(audit_path(written(source, folder)).loops)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("runner.initiate_chat(writer, message='task')", "grounded"),
        ("mute.initiate_chat(writer, message='task')", "ungrounded"),
        ("mute.initiate_chat(writer, message='task', max_turns=4)", "ungrounded"),
        ("critic.initiate_chat(writer, message='task', max_turns=3)", "ungrounded"),
        ("UserProxyAgent('user').initiate_chat(writer, message='task')", "grounded"),
        (
            "def go(how):\n    user = UserProxyAgent('user', human_input_mode='NEVER', code_execution_config=how)\n"
            "    user.initiate_chat(writer, message='task')",
            "unknown",
        ),
        (
            "import sys\nuser = runner if sys.argv[1:] else mute\n"
            "chat = GroupChat([writer, user], [], speaker_selection_method='round_robin')",
            "unknown",
        ),
        (
            "def go(more):\n    user = UserProxyAgent('user', **more)\n    user.initiate_chat(writer, message='task')",
            "unknown",
        ),
        ("ConversableAgent('user', llm_config=False).initiate_chat(writer, message='task')", "partly"),
        (
            "register_function(get, caller=writer, executor=mute)\nmute.initiate_chat(writer, message='task')",
            "tool_loop",
        ),
        (
            "@mute.register_for_execution()\n@writer.register_for_llm(description='d')\ndef load(u: str) -> str:\n"
            "    return requests.get(u).text\nmute.initiate_chat(writer, message='task')",
            "tool_loop",
        ),
        (
            "@mute.register_for_execution()\n@writer.register_for_llm(description='d')\ndef echo(u: str) -> str:\n"
            "    return u\nmute.initiate_chat(writer, message='task')",
            "ungrounded",
        ),
        (
            "mute.register_nested_chats([{'recipient': critic, 'max_turns': 1}], trigger=writer)\n"
            "mute.initiate_chat(writer, message='task', max_turns=2)",
            "ungrounded",
        ),
        (
            "chat = GroupChat(agents=[writer, critic], messages=[], max_round=8)\n"
            "mute.initiate_chat(GroupChatManager(groupchat=chat, llm_config=llm_config), message='task')",
            "ungrounded",
        ),
        (
            "chat = GroupChat(agents=[writer, critic, runner], messages=[])\n"
            "runner.initiate_chat(GroupChatManager(groupchat=chat, llm_config=llm_config), message='task')",
            "partly",
        ),
        ("chat = GroupChat([writer, runner], [], speaker_selection_method='round_robin')", "grounded"),
        ("chat = GroupChat([writer, critic], [], speaker_selection_method='manual')", "grounded"),
        ("chat = GroupChat([writer, critic, UserProxyAgent('user', code_execution_config=False)], [])", "partly"),
        ("chat = GroupChat(agents, [])", "unknown"),
        (
            "person = UserProxyAgent('user', code_execution_config=False)\ndef turn(last, chat):\n"
            "    return person if last is writer else critic\n"
            "chat = GroupChat([writer, critic, person], [], speaker_selection_method=turn)",
            "partly",
        ),
    ],
)
def test_a_chat_of_autogen_before_0_4(source: str, wanted: str, tmp_path: Path) -> None:
    assert [str(x.verdict) for x in loops(f"{BEFORE}{source}\n", tmp_path)] == [wanted]


def test_each_agent_that_may_begin_a_chat_makes_one_of_its_own(tmp_path: Path) -> None:
    source = """import sys
if sys.argv[1:]:
    user = UserProxyAgent("user", human_input_mode="NEVER")
else:
    user = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
user.initiate_chat(writer, message="task")
"""
    assert {str(x.verdict) for x in loops(f"{BEFORE}{source}", tmp_path)} == {"grounded", "ungrounded"}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("team = RoundRobinGroupChat([writer, critic], termination_condition=approved)", "ungrounded"),
        ("team = RoundRobinGroupChat([writer, critic], max_turns=10)", "ungrounded"),
        ("team = RoundRobinGroupChat([writer, runner], termination_condition=approved)", "grounded"),
        ("team = RoundRobinGroupChat([writer, critic, runner], termination_condition=approved)", "partly"),
        ("team = RoundRobinGroupChat([writer, user], termination_condition=approved)", "grounded"),
        ("team = RoundRobinGroupChat([reader, critic], termination_condition=approved, max_turns=9)", "partly"),
        ("team = RoundRobinGroupChat([reader], termination_condition=TextMessageTermination('reader'))", "tool_loop"),
        ("team = RoundRobinGroupChat([writer], termination_condition=TextMessageTermination('writer'))", "ungrounded"),
        ("both = approved | MaxMessageTermination(12)\nteam = SelectorGroupChat([writer, critic], model_client=client, termination_condition=both)", "ungrounded"),  # noqa: E501
        ("team = SelectorGroupChat([writer, runner], model_client=client, termination_condition=approved)", "partly"),
        ("team = SelectorGroupChat([writer, user], model_client=client, termination_condition=approved)", "partly"),
        ("team = Swarm([writer, critic], termination_condition=HandoffTermination('user') | approved)", "ungrounded"),
        ("team = MagenticOneGroupChat([reader, runner], model_client=client)", "partly"),
        (
            "def ran(messages):\n    return requests.get('http://ci/status').ok\n"
            "team = RoundRobinGroupChat([writer, critic], termination_condition=FunctionalTermination(ran))",
            "grounded",
        ),
        (
            "def made(agents):\n    return RoundRobinGroupChat(agents, max_turns=20)\n",
            "unknown",
        ),
        (
            "inner = RoundRobinGroupChat([writer, critic], max_turns=1)\n"
            "both = SocietyOfMindAgent('s', team=inner, model_client=client)\n"
            "team = RoundRobinGroupChat([both, critic], max_turns=8)",
            "ungrounded",
        ),
    ],
)  # fmt: skip
def test_a_team_of_autogen_since_0_4(source: str, wanted: str, tmp_path: Path) -> None:
    assert [str(x.verdict) for x in loops(f"{SINCE}{source}\n", tmp_path)] == [wanted]


@pytest.mark.parametrize(
    "source",
    [
        f"{BEFORE}critic.initiate_chat(writer, message='task', max_turns=1)",
        f"{BEFORE}UserProxyAgent('u', human_input_mode='NEVER', max_consecutive_auto_reply=0).initiate_chat(writer)",
        f"{BEFORE}autogen.initiate_chats([{{'sender': mute, 'recipient': writer, 'max_turns': 1}}])",
        f"{SINCE}team = RoundRobinGroupChat([reader, writer, critic], max_turns=3)",
        f"{SINCE}team = RoundRobinGroupChat([writer], termination_condition=MaxMessageTermination(2))",
    ],
)
def test_where_nobody_speaks_twice_there_is_no_loop(source: str, tmp_path: Path) -> None:
    assert loops(source, tmp_path) == []


def test_a_graph_of_agents_goes_round_by_what_its_edges_ask(tmp_path: Path) -> None:
    flow = f"""{SINCE}
builder = DiGraphBuilder()
builder.add_node(writer).add_node(critic).add_node(runner)
builder.add_edge(writer, critic)
builder.add_edge(critic, writer, condition=lambda m: "APPROVE" not in m.to_model_text())
builder.add_edge(critic, runner, condition="APPROVE")
builder.add_edge(runner, writer, condition=lambda m: "exitcode: 1" in m.to_model_text())
flow = GraphFlow(participants=builder.get_participants(), graph=builder.build())
"""
    found = {x.path: str(x.verdict) for x in loops(flow, tmp_path)}
    assert found == {
        "writer → critic → writer": "ungrounded",
        "writer → critic → runner → writer": "grounded",
    }


def test_a_loop_around_a_chat_asks_a_model(tmp_path: Path) -> None:
    source = f"""{BEFORE}
def refine(task):
    while True:
        result = mute.initiate_chat(writer, message=task, max_turns=1)
        if "GOOD" in result.summary:
            return result
"""
    assert [(x.path, str(x.verdict)) for x in loops(source, tmp_path)] == [("refine ⟲", "ungrounded")]


def test_a_group_chat_of_semantic_kernel_ends_by_its_strategy(tmp_path: Path) -> None:
    source = """
from semantic_kernel.agents import AgentGroupChat, ChatCompletionAgent
from semantic_kernel.agents.strategies import TerminationStrategy
class Approval(TerminationStrategy):
    async def should_agent_terminate(self, agent, history):
        return "approved" in history[-1].content.lower()
writer = ChatCompletionAgent(service=s, name="writer")
reviewer = ChatCompletionAgent(service=s, name="reviewer")
chat = AgentGroupChat(agents=[writer, reviewer], termination_strategy=Approval(agents=[reviewer]))
"""
    (loop,) = loops(source, tmp_path)
    assert (loop.path, str(loop.verdict), loop.kind) == (
        "writer → reviewer → writer",
        "ungrounded",
        "model's judgement",
    )
