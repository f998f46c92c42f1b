import operator
from typing import Annotated, List, Tuple, Union

from langchain_community.tools.tavily_search import TavilySearchResults
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel
from typing_extensions import TypedDict

agent_executor = create_react_agent(ChatOpenAI(model="gpt-4-turbo-preview"), [TavilySearchResults(max_results=3)])


class PlanExecute(TypedDict):
    input: str
    plan: List[str]
    past_steps: Annotated[List[Tuple], operator.add]
    response: str


class Plan(BaseModel):
    steps: List[str]


class Response(BaseModel):
    response: str


class Act(BaseModel):
    action: Union[Response, Plan]


planner = ChatPromptTemplate.from_messages([("placeholder", "{messages}")]) | ChatOpenAI(model="gpt-4o").with_structured_output(Plan)
replanner = ChatPromptTemplate.from_template("{input} {plan} {past_steps}") | ChatOpenAI(model="gpt-4o").with_structured_output(Act)


async def execute_step(state: PlanExecute):
    plan = state["plan"]
    task = plan[0]
    agent_response = await agent_executor.ainvoke({"messages": [("user", task)]})
    return {"past_steps": [(task, agent_response["messages"][-1].content)]}


async def plan_step(state: PlanExecute):
    plan = await planner.ainvoke({"messages": [("user", state["input"])]})
    return {"plan": plan.steps}


async def replan_step(state: PlanExecute):
    output = await replanner.ainvoke(state)
    if isinstance(output.action, Response):
        return {"response": output.action.response}
    else:
        return {"plan": output.action.steps}


def should_end(state: PlanExecute):
    if "response" in state and state["response"]:
        return END
    else:
        return "agent"


workflow = StateGraph(PlanExecute)
workflow.add_node("planner", plan_step)
workflow.add_node("agent", execute_step)
workflow.add_node("replan", replan_step)
workflow.add_edge(START, "planner")
workflow.add_edge("planner", "agent")
workflow.add_edge("agent", "replan")
workflow.add_conditional_edges("replan", should_end, ["agent", END])
app = workflow.compile()
