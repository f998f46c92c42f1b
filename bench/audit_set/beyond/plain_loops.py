"""Loops without any framework: a client, a `while`, and the model's own answer."""

import json
import os
import re
import subprocess

import anthropic
import requests
from openai import OpenAI

client = OpenAI(api_key=os.environ["OPENAI_API_KEY"])
claude = anthropic.Anthropic()


def ask(prompt, system="You help."):
    reply = client.chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
    )
    return reply.choices[0].message.content


def self_refine(task):
    draft = ask(task)
    while True:
        critique = ask("Criticise: " + draft)
        if "LGTM" in critique:
            return draft
        draft = ask(f"Improve {draft} by {critique}")


def scored(task, threshold=8, max_iterations=5):
    best = ask(task)
    for i in range(max_iterations):
        said = ask("Score from 1 to 10: " + best)
        score = int(re.search(r"\d+", said).group())
        if score >= threshold:
            break
        best = ask("Better: " + best)
    return best


def repair(task):
    code = ask(task)
    for attempt in range(4):
        done = subprocess.run(["python", "-c", code], capture_output=True, text=True)
        if done.returncode == 0:
            return code
        code = ask("Repair this: " + code + done.stderr)
    return None


TOOLS = [{"name": "fetch", "description": "Fetches", "input_schema": {"type": "object"}}]


def run_tool(name, arguments):
    if name == "fetch":
        return requests.get(arguments["url"]).text
    return "unknown tool"


def agent(messages):
    while True:
        response = claude.messages.create(model="claude-sonnet-4", max_tokens=1000, tools=TOOLS, messages=messages)
        messages.append({"role": "assistant", "content": response.content})
        if response.stop_reason != "tool_use":
            return response
        results = []
        for block in response.content:
            if block.type == "tool_use":
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": run_tool(block.name, block.input)})
        messages.append({"role": "user", "content": results})


def chat():
    history = []
    while True:
        said = input("> ")
        if said == "quit":
            break
        history.append({"role": "user", "content": said})
        answer = client.chat.completions.create(model="gpt-4o", messages=history)
        history.append({"role": "assistant", "content": answer.choices[0].message.content})
        print(answer.choices[0].message.content)


def summaries(texts):
    return [ask("Summarise: " + t) for t in texts]


def labels(texts):
    out = []
    for text in texts:
        out.append(ask("Label: " + text))
    return out


def as_json(prompt):
    for _ in range(3):
        try:
            return json.loads(ask(prompt))
        except json.JSONDecodeError:
            prompt += " Only JSON."
    raise ValueError("no JSON")


def rounds(topic):
    text = topic
    for _ in range(3):
        text = ask("Argue for " + text)
        text = ask("Argue against " + text)
    return text


class Researcher:
    def __init__(self, model="gpt-4o"):
        self.model = model
        self.client = OpenAI()
        self.notes = []

    def _ask(self, prompt):
        reply = self.client.chat.completions.create(model=self.model, messages=[{"role": "user", "content": prompt}])
        return reply.choices[0].message.content

    def _search(self, query):
        return requests.get("https://example.org", params={"q": query}).text

    def research(self, topic):
        done = False
        while not done:
            query = self._ask("What to search for on " + topic + str(self.notes))
            self.notes.append(self._search(query))
            done = self._ask("Enough? yes or no " + str(self.notes)).strip().lower() == "yes"
        return self._ask("Report " + str(self.notes))

    def write(self, topic):
        text = self._ask(topic)
        satisfied = False
        tries = 0
        while not satisfied and tries < 10:
            satisfied = "satisfied" in self._ask("Are you satisfied with " + text)
            text = self._ask("Rewrite " + text)
            tries += 1
        return text
