"""Guesses a word from a word list; the answers come from code that knows the word."""
import random
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

WORDS = ["apple", "river", "violin", "castle"]
llm = ChatOpenAI()


class Game:
    def __init__(self):
        self.word = random.choice(WORDS)
        self.turns = 0

    def reset(self):
        self.__init__()

    def step(self, guess: str):
        self.turns += 1
        hit = guess == self.word
        common = sum(1 for a, b in zip(guess, self.word) if a == b)
        return {"hit": hit, "common": common}


game = Game()


class S(TypedDict):
    guess: str
    feedback: dict


def guess(state: S):
    return {"guess": llm.invoke(f"Guess a word, last feedback {state.get('feedback')}").content.strip().lower()}


def play(state: S):
    return {"feedback": game.step(state["guess"])}


g = StateGraph(S)
g.add_node("guess", guess)
g.add_node("play", play)
g.add_edge(START, "guess")
g.add_edge("guess", "play")
g.add_conditional_edges("play", lambda s: END if s["feedback"]["hit"] else "guess", ["guess", END])
graph = g.compile()
