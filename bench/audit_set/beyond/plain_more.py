"""More loops without a framework."""

import time

import litellm
import ollama
from anthropic import AsyncAnthropic
from openai import APIError, AsyncOpenAI, RateLimitError
from pydantic import BaseModel

aclient = AsyncOpenAI()


class Verdict(BaseModel):
    approved: bool
    comment: str


async def approve(text):
    reply = await aclient.beta.chat.completions.parse(
        model="gpt-4o", messages=[{"role": "user", "content": text}], response_format=Verdict
    )
    return reply.choices[0].message.parsed


async def until_approved(task):
    text = task
    verdict = await approve(text)
    while not verdict.approved:
        reply = await aclient.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": text + verdict.comment}]
        )
        text = reply.choices[0].message.content
        verdict = await approve(text)
    return text


def with_retries(prompt):
    for attempt in range(5):
        try:
            return litellm.completion(model="gpt-4o", messages=[{"role": "user", "content": prompt}])
        except (RateLimitError, APIError):
            time.sleep(2**attempt)
    raise RuntimeError("gave up")


def answer_holds(question, expected):
    reply = ""
    while expected not in reply:
        reply = ollama.chat(model="llama3", messages=[{"role": "user", "content": question}])["message"]["content"]
    return reply


def long_text(prompt):
    whole, finished = "", False
    while not finished:
        part = ollama.generate(model="llama3", prompt=prompt + whole)["response"]
        whole += part
        finished = "THE END" in part
    return whole


def judged_by(judge, prompt):
    while True:
        reply = litellm.completion(model="gpt-4o", messages=[{"role": "user", "content": prompt}])
        text = reply.choices[0].message.content
        if judge(text):
            return text
