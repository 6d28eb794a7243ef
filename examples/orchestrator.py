"""An orchestrator: takes a goal, plans tasks, decides what to do for each, does it with tools, and reflects. T9.

    python examples/orchestrator.py                                # a scripted model answers, over HTTP
    python examples/orchestrator.py --url http://localhost:11434/v1 --model qwen2.5:7b "Release 2.1"

Before each model call it looks whether it knows what to do: a pattern that worked for just this spares the call. Else
the prompt has what memory knows, failures included. The goal is pursued three times, and the server's log is shown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from typing import Any

from agent_memory import AgentMemory
from agent_memory.engines.openai.chat import OpenAIChat
from agent_memory.models import Decision, Goal, Pattern
from agent_memory.models.kinds.work import Task
from agent_memory.ports.chat import ChatMessage, ChatModel, ChatRequest
from agent_memory.testing.wire import FakeOpenAI

TASKS = {"type": "array", "items": {"type": "string"}}
PLAN = {"type": "object", "properties": {"tasks": TASKS}, "required": ["tasks"]}
TOOL = {"type": "string", "enum": ["run_tests", "bump_version", "upload", "sign_and_upload"]}
ACT = {"type": "object", "properties": {"tool": TOOL, "reason": {"type": "string"}}, "required": ["tool"]}


def use(tool: str) -> str:
    """The tools; what they raise is an outcome, too."""
    if tool == "upload":
        raise RuntimeError("the registry refuses what is not signed")
    return {"run_tests": "212 passed", "bump_version": "2.0 -> 2.1", "sign_and_upload": "2.1 is public"}[tool]


class Orchestrator:
    def __init__(self, memory: AgentMemory, model: ChatModel) -> None:
        self.memory, self.model, self.run = memory, model, ""

    def pursue(self, text: str) -> bool:
        """One run for the goal; says whether it was reached."""
        memory = self.memory
        self.run = memory.runs.start("release", text, model=self.model.model).id
        goal = memory.add_goal(Goal(description=text))
        planned, plan = self.decide(f"plan the goal: {text}", PLAN)
        for title in planned["tasks"]:
            memory.tasks.add(Task(description=title, goal_id=goal.id, max_attempts=1))
        failed = []
        while (claimed := memory.tasks.claim("orchestrator")).task is not None:
            task, token = claimed
            action, pattern = self.decide(f"do the task: {task.description}", ACT)
            decision = memory.state.log_decision(
                Decision(
                    decision=f"use {action['tool']}",
                    context=task.description,
                    decided_by=self.model.model,
                    reason=action.get("reason"),
                )
            )
            output, worked = self.act(action["tool"])
            memory.state.record_outcome(decision.id, output if worked else f"failed: {output}", worked)
            memory.state.update_pattern_stats(pattern.id, worked)
            if worked:
                memory.tasks.finish(token, output)
            else:
                memory.tasks.fail(token, output)
                failed.append(task.description)
        memory.state.update_pattern_stats(plan.id, not failed)
        memory.goals.update(goal.id, status="abandoned" if failed else "completed")
        memory.runs.end(self.run, "reached" if not failed else f"failed: {', '.join(failed)}", success=not failed)
        memory.reflect({"success": not failed, "task_type": "release", "summary": text, "failed": failed})
        return not failed

    def decide(self, situation: str, schema: dict[str, Any]) -> tuple[dict[str, Any], Pattern]:
        """What to do: as it worked before, else as the model says, which is told what memory knows."""
        known = self.memory.state.find_pattern(situation)
        if known is not None and known.trigger == situation and known.success_rate >= 0.5:
            self.memory.runs.step(self.run, f"{situation}: as before")
            return json.loads(known.action), known
        context = self.memory.assemble_context(situation, 1500)
        prompt = [ChatMessage("system", f"You release software.\n\n{context.text}"), ChatMessage("user", situation)]
        answer = self.model.complete(ChatRequest(prompt, schema=schema, max_tokens=500, temperature=0.0))
        tokens = (answer.usage.prompt or 0) + (answer.usage.completion or 0)
        self.memory.runs.step(self.run, f"{situation}: {answer.text}", tokens=tokens)
        pattern = self.memory.state.store_pattern(Pattern(trigger=situation, action=answer.text))
        return json.loads(answer.text), pattern

    def act(self, tool: str) -> tuple[str, bool]:
        begun = time.monotonic()
        try:
            output, worked = use(tool), True
        except RuntimeError as error:
            output, worked = str(error), False
        took = round(1000 * (time.monotonic() - begun))
        self.memory.record_tool_usage(tool, {}, output, worked, took, task_type="release")
        return output, worked


def scripted(body: Any) -> dict[str, Any]:
    """A model that knows little, and reads what it is told."""
    told, asked = (message["content"] for message in body["messages"])
    if asked.startswith("plan"):
        return {"content": json.dumps({"tasks": ["run all tests", "raise the version number", "publish the package"]})}
    tool = "run_tests" if "tests" in asked else "bump_version" if "version" in asked else "upload"
    if tool == "upload" and "refuses what is not signed" in told:
        tool = "sign_and_upload"
    return {"content": json.dumps({"tool": tool, "reason": f"it fits {asked!r}"})}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("goal", nargs="?", default="release 2.1")
    parser.add_argument("--url", help="an OpenAI-compatible endpoint")
    parser.add_argument("--model", default="scripted")
    given = parser.parse_args()
    with FakeOpenAI() as service, tempfile.TemporaryDirectory() as folder:
        service.say = scripted
        model = OpenAIChat(model=given.model, base_url=given.url or service.url)
        for number in (1, 2, 3):
            with AgentMemory("ada", store=f"{folder}/memory.db") as memory:  # a new process would know as much
                reached = Orchestrator(memory, model).pursue(given.goal)
            print(f"run {number}: {'reached' if reached else 'not reached'}, model calls: {len(service.requests)}")
            for request in service.requests:
                print("  asked:", request.body["messages"][-1]["content"])
            service.requests.clear()


if __name__ == "__main__":
    main()
