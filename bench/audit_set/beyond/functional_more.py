"""More of the functional API."""

import json

import requests
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import MemorySaver
from langgraph.func import entrypoint, task

llm = ChatOpenAI()
checkpointer = MemorySaver()


@task
async def ask(question):
    return (await llm.ainvoke(question)).content


@task
def rate(text):
    return float(llm.invoke("Rate from 0 to 10: " + text).content)


@task
def prices(product):
    return requests.get("https://example.org/price/" + product).json()["price"]


@entrypoint(checkpointer=checkpointer)
async def scored(question):
    best, score = "", 0.0
    while score < 8:
        best = await ask(question)
        score = rate(best).result()
    return best


@entrypoint(checkpointer=checkpointer)
async def priced(product):
    offer = await ask("An offer for " + product)
    tries = 0
    while tries < 5:
        tries += 1
        if prices(product).result() < 100:
            return offer
        offer = await ask("A lower one than " + offer)
    return offer


@entrypoint()
async def as_json(question):
    while True:
        reply = await ask(question)
        try:
            return json.loads(reply)
        except json.JSONDecodeError:
            question = "Only JSON! " + question


@entrypoint()
async def deepen(question):
    notes = ""
    for _ in range(3):
        query = await ask(question + notes)
        notes += requests.get("https://example.org/search", params={"q": query}).text
        if "enough" in await ask("Is it enough? " + notes):
            break
    return notes


@entrypoint()
async def critic(question):
    answer = await ask(question)
    critique = await ask("Criticise: " + answer)
    while "no problems" not in critique.lower():
        answer = await ask(answer + critique)
        critique = await ask("Criticise: " + answer)
    return answer
