"""`agent-memory rules hook`: a coding agent asks before it uses a tool, in the shape that it has for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("P4")


def ask(repository: Any, *words: str, **told: Any) -> tuple[int, Any, str]:
    given = {"cwd": str(repository.root), **told}
    ran = repository.ours("rules", "hook", *words, input=json.dumps(given))
    return ran.code, json.loads(ran.out), ran.err


def pre(repository: Any, tool: str, *words: str, **arguments: Any) -> tuple[int, Any, str]:
    return ask(repository, *words, hook_event_name="PreToolUse", tool_name=tool, tool_input=arguments)


def denied(answer: tuple[int, Any, str], rule: str) -> None:
    code, said, _ = answer
    assert code == 0
    inside = said["hookSpecificOutput"]
    assert inside["hookEventName"] == "PreToolUse"
    assert inside["permissionDecision"] == "deny"
    assert f"rule: {rule}, .memory/procedural.md:" in inside["permissionDecisionReason"]


def test_a_shell_command_is_judged_as_a_command(repository: Any) -> None:
    denied(pre(repository, "Bash", command="cd x && git merge main", description="merge"), "never-merge")
    assert pre(repository, "Bash", command="git rebase main") == (0, {}, "")


def test_what_is_allowed_leaves_the_agents_own_questions_alone(repository: Any) -> None:
    """An `allow` would skip them."""
    assert pre(repository, "Write", file_path="a.txt", content="x")[1] == {}
    code, said, _ = pre(repository, "Write", file_path="uv.lock", content="x")
    assert code == 0
    assert set(said) == {"systemMessage"}
    assert "Lock files are made, not edited." in said["systemMessage"]


def test_a_file_tool_is_judged_by_path_and_by_what_will_stand_there(repository: Any) -> None:
    path = str(repository.root / "logs/audit.log")
    denied(pre(repository, "Write", file_path=path, content="login\n"), "audit-request-id")
    assert pre(repository, "Write", file_path=path, content="request_id=1\n")[1] == {}
    repository.write("logs/audit.log", "a request_id=1\nb request_id=2\n")
    edit = {"file_path": path, "old_string": "request_id=2", "new_string": "request_id=3"}
    assert pre(repository, "Edit", **edit)[1] == {}
    denied(pre(repository, "Edit", **{**edit, "new_string": "nothing"}), "audit-request-id")
    denied(pre(repository, "Edit", **{**edit, "old_string": "not there", "new_string": "new"}), "audit-request-id")
    both = [{"old_string": "a", "new_string": "A"}, {"old_string": "request_id=2", "new_string": ""}]
    denied(pre(repository, "MultiEdit", file_path=path, edits=both), "audit-request-id")
    repository.write("logs/audit.log", "bad\n")
    assert pre(repository, "Read", file_path=path)[1] == {}
    assert pre(repository, "str_replace_based_edit_tool", command="view", path=path)[1] == {}
    denied(pre(repository, "search_replace", file_path=path, old_string="x", new_string="y"), "audit-request-id")
    denied(pre(repository, "made_up_tool", path=path), "audit-request-id")


def test_a_tool_is_judged_by_its_name_and_arguments(repository: Any) -> None:
    denied(pre(repository, "mcp__db__run", database="prod", query="DROP TABLE x"), "prod-db")
    assert pre(repository, "mcp__db__run", database="dev", query="DROP TABLE x")[1] == {}


def test_our_own_shape(repository: Any) -> None:
    denied(ask(repository, tool="sql", arguments={"database": "prod", "query": "delete from x"}), "prod-db")
    denied(ask(repository, tool="shell", arguments={"command": ["bash", "-lc", "git merge x"]}), "never-merge")


PATCH = "*** Begin Patch\n*** Update File: logs/audit.log\n+login\n*** End Patch"


@pytest.mark.parametrize("line", ["git merge x # *** Begin Patch", "*** Begin Patch\ngit merge x"])
def test_a_command_that_looks_like_a_patch_is_still_a_command(repository: Any, line: str) -> None:
    denied(pre(repository, "Bash", command=line), "never-merge")


def test_a_patch_is_found_wherever_a_shell_gets_it(repository: Any) -> None:
    denied(pre(repository, "shell", command=["apply_patch", PATCH]), "audit-request-id")
    line = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    denied(pre(repository, "shell", command=["bash", "-lc", line]), "audit-request-id")
    denied(pre(repository, "Bash", command=line), "audit-request-id")


def test_paths_are_found_inside_lists_and_under_other_names(repository: Any) -> None:
    one = {"path": "logs/audit.log", "content": "login"}
    denied(pre(repository, "mcp__fs__write_files", files=[one, {"path": "a", "content": "x"}]), "audit-request-id")
    assert pre(repository, "mcp__fs__write_files", files=[{**one, "content": "request_id=1"}])[1] == {}
    uri = f"file://{repository.root}/logs/audit.log"
    denied(pre(repository, "mcp__fs__save", uri=uri, text="login"), "audit-request-id")
    repository.write("bad.log", "login\n")
    denied(pre(repository, "move_file", source="bad.log", destination="logs/audit.log"), "audit-request-id")
    repository.write("good.log", "request_id=1\n")
    assert pre(repository, "move_file", source="good.log", destination="logs/audit.log")[1] == {}
    assert pre(repository, "create_directory", path="logs/audit.log")[1] == {}
    deep: Any = {"path": "a"}
    for _ in range(20):
        deep = {"in": deep}
    assert pre(repository, "mcp__fs__write", **deep)[0] == 2


def test_the_words_of_a_command_may_stand_apart_from_it(repository: Any) -> None:
    denied(pre(repository, "run", command="git", args=["merge", "x"]), "never-merge")
    denied(pre(repository, "run", command="git", args="merge x"), "never-merge")
    assert pre(repository, "run", command="git", args="rebase x")[1] == {}


def test_of_several_roots_it_may_be_any(repository: Any, tmp_path_factory: Any) -> None:
    roots = [str(tmp_path_factory.mktemp("other")), str(repository.root)]
    told = {"cwd": None, "tool_name": "Bash", "tool_input": {"command": "git merge x"}}
    denied(ask(repository, **told, workspace_roots=roots), "never-merge")
    assert ask(repository, **told, workspace_roots=str(repository.root))[0] == 2


def test_a_patch_names_its_files(repository: Any) -> None:
    patch = "*** Begin Patch\n*** Add File: logs/audit.log\n+login\n*** End Patch\n"
    denied(pre(repository, "apply_patch", command=patch), "audit-request-id")
    assert pre(repository, "apply_patch", command=patch.replace("login", "request_id=1"))[1] == {}


@pytest.mark.parametrize("form", ["auto", "gemini"])
def test_gemini(repository: Any, form: str) -> None:
    told = {"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": {"command": "git merge x"}}
    code, said, _ = ask(repository, "--format", form, **told)
    assert code == 0
    assert said["decision"] == "deny"
    assert "never-merge" in said["reason"]


@pytest.mark.parametrize(
    "told",
    [
        {"hook_event_name": "beforeShellExecution", "command": "git merge x"},
        {"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": {"command": "git merge x"}},
        {"hook_event_name": "beforeMCPExecution", "tool_name": "run", "tool_input": '{"command": "git merge x"}'},
    ],
)
def test_cursor(repository: Any, told: dict[str, Any]) -> None:
    code, said, _ = ask(repository, **told)
    assert code == 0
    assert said["permission"] == "deny"
    assert "never-merge" in said["user_message"]
    assert "never-merge" in said["agent_message"]
    assert ask(repository, hook_event_name="beforeShellExecution", command="ls")[1] == {}


def test_copilot(repository: Any) -> None:
    code, said, _ = ask(repository, toolName="bash", toolArgs=json.dumps({"command": "git merge x"}))
    assert code == 0
    assert said["permissionDecision"] == "deny"
    assert "never-merge" in said["permissionDecisionReason"]


def test_what_is_not_certain_can_be_left_to_the_user(repository: Any) -> None:
    denied(pre(repository, "Bash", command="git $WHAT"), "never-merge")
    _, said, _ = pre(repository, "Bash", "--ask", command="git $WHAT")
    assert said["hookSpecificOutput"]["permissionDecision"] == "ask"
    denied(pre(repository, "Bash", "--ask", command="git merge x"), "never-merge")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"git merge"',
        "{}",
        '{"tool_name": 7, "tool_input": {}}',
        '{"tool_name": "Bash", "tool_input": [1]}',
        '{"tool_name": "Bash", "tool_input": "{"}',
        '{"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/no/such/folder"}',
        "\x00",
        "[" * 100_000,
    ],
)
def test_what_cannot_be_read_is_a_no(repository: Any, text: str) -> None:
    ran = repository.ours("rules", "hook", input=text)
    assert ran.code == 2
    assert "cannot tell whether this is allowed, so it is not" in ran.err
    assert json.loads(ran.out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_half_of_a_character_is_what_the_agent_writes_for_it(repository: Any) -> None:
    """A text that was cut in the middle of an emoji is common, and harms nobody."""
    assert pre(repository, "Write", file_path="a.txt", content="cut: \ud83d")[:2] == (0, {})
    assert pre(repository, "Write", file_path="a.txt", content="whole: \ud83d\ude00")[:2] == (0, {})
    assert pre(repository, "mcp__db__query", database="prod", query="select '\ud83d'")[:2] == (0, {})
    denied(pre(repository, "mcp__db__query", database="prod", query="drop table x -- \ud83d"), "prod-db")
    denied(pre(repository, "Bash", command="echo '\ud83d'; git merge main"), "never-merge")
    told = {"toolName": "bash", "toolArgs": json.dumps({"command": "git merge \ud83d"})}
    assert ask(repository, **told)[1]["permissionDecision"] == "deny"


def test_what_cannot_be_read_is_named(repository: Any) -> None:
    code, _, said = ask(repository, toolName="bash", toolArgs="{")
    assert code == 2 and "the arguments of the tool are not JSON" in said
    for arguments in ({"file_path": "a\0b"}, {"input": "*** Begin Patch\n*** Add File: a\0b\n+x\n*** End Patch"}):
        code, _, said = pre(repository, "apply", **arguments)
        assert code == 2 and r"it names 'a\x00b', which is not a path" in said
