"""Flows of CrewAI: methods that listen to one another and to what a router says."""

import subprocess
from typing import Optional

from crewai import Agent, Crew, Process, Task
from crewai.flow.flow import Flow, listen, or_, router, start
from crewai.tools import tool
from crewai_tools import SerperDevTool
from litellm import completion
from pydantic import BaseModel


class PostReviewCrew:
    def crew(self) -> Crew:
        critic = Agent(role="critic", goal="find faults", backstory="strict")
        task = Task(description="Judge {post}", expected_output="a verdict", agent=critic)
        return Crew(agents=[critic], tasks=[task], process=Process.sequential)


class WriterCrew:
    def crew(self) -> Crew:
        author = Agent(role="author", goal="write", backstory="witty")
        task = Task(description="Write on {topic}. {feedback}", expected_output="a post", agent=author)
        return Crew(agents=[author], tasks=[task])


class SearchCrew:
    def crew(self) -> Crew:
        scout = Agent(role="scout", goal="search", backstory="curious", tools=[SerperDevTool()])
        return Crew(agents=[scout], tasks=[Task(description="Search {topic}", expected_output="facts", agent=scout)])


class PostState(BaseModel):
    post: str = ""
    feedback: Optional[str] = None
    valid: bool = False
    retry_count: int = 0


class PostFlow(Flow[PostState]):
    @start("retry")
    def write_post(self):
        result = WriterCrew().crew().kickoff(inputs={"topic": "cats", "feedback": self.state.feedback})
        self.state.post = result.raw

    @router(write_post)
    def evaluate_post(self):
        if self.state.retry_count > 3:
            return "max_retry_exceeded"
        result = PostReviewCrew().crew().kickoff(inputs={"post": self.state.post})
        self.state.valid = result["valid"]
        self.state.feedback = result["feedback"]
        self.state.retry_count += 1
        if self.state.valid:
            return "complete"
        return "retry"

    @listen("complete")
    def save(self):
        with open("post.txt", "w") as file:
            file.write(self.state.post)

    @listen("max_retry_exceeded")
    def give_up(self):
        print("Gave up", self.state.post)


class BuildState(BaseModel):
    code: str = ""
    log: str = ""
    passed: bool = False


class BuildFlow(Flow[BuildState]):
    @start()
    def plan(self):
        return completion(model="gpt-4o", messages=[{"role": "user", "content": "plan"}])

    @listen(or_(plan, "fix"))
    def implement(self):
        reply = completion(model="gpt-4o", messages=[{"role": "user", "content": self.state.log}])
        self.state.code = reply["choices"][0]["message"]["content"]

    @listen(implement)
    def test(self):
        done = subprocess.run(["python", "-c", self.state.code], capture_output=True, text=True)
        self.state.log = done.stderr
        self.state.passed = done.returncode == 0

    @router(test)
    def decide(self):
        if self.state.passed:
            return "ship"
        return "fix"

    @listen("ship")
    def ship(self):
        print(self.state.code)


class ChatFlow(Flow):
    @start("again")
    def reply(self):
        answer = completion(model="gpt-4o", messages=self.state["messages"])
        self.state["messages"].append(answer)

    @router(reply)
    def ask(self):
        said = input("> ")
        if said == "bye":
            return "end"
        self.state["messages"].append({"role": "user", "content": said})
        return "again"

    @listen("end")
    def close(self):
        print("bye")


class FactFlow(Flow[PostState]):
    @start("deeper")
    def search(self):
        self.state.post = SearchCrew().crew().kickoff(inputs={"topic": "cats"}).raw

    @router(search)
    def enough(self):
        reply = completion(model="gpt-4o", messages=[{"role": "user", "content": "Enough? " + self.state.post}])
        if "yes" in reply.choices[0].message.content.lower():
            return "done"
        return "deeper"

    @listen("done")
    def finish(self):
        return self.state.post


class StraightFlow(Flow):
    @start()
    def outline(self):
        return completion(model="gpt-4o", messages=[{"role": "user", "content": "outline"}])

    @listen(outline)
    def chapter(self, outline):
        return completion(model="gpt-4o", messages=[{"role": "user", "content": str(outline)}])


class RoundsFlow(Flow[PostState]):
    @start("next_round")
    def speak(self):
        self.state.post = completion(model="gpt-4o", messages=[{"role": "user", "content": self.state.post}])
        self.state.retry_count += 1

    @router(speak)
    def count(self):
        return "next_round" if self.state.retry_count < 4 else "over"

    @listen("over")
    def report(self):
        return self.state.post
