"""The text of a hook: POSIX sh that runs what was there before, then asks us. It refuses what nobody can check."""

from __future__ import annotations

import shlex

MARK = "# agent-memory hook"
CHECKED = (
    "applypatch-msg",
    "commit-msg",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "reference-transaction",
)
"""Hooks that ask us. `reference-transaction` is what stops a fast-forward, which calls no other hook in time."""
PASSED = (
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "prepare-commit-msg",
)
"""Hooks that only lead to those of another folder."""
READING = ("pre-push", "reference-transaction")  # that are told something on the standard input
DENIED = 9  # what `rules git-hook` ends with when a rule says no

_BEGIN = """\
#!/bin/sh
{mark}. Written by `agent-memory rules install-hooks`; the same with --uninstall takes it away.
kept={kept}
"""
_KEPT = """\
if [ -f "$kept" ] && [ -x "$kept" ]; then
	"$kept" "$@" || exit $?
fi
"""
_KEPT_READING = """\
input=$(cat)
told() { [ -z "$input" ] || printf '%s\\n' "$input"; }
if [ -f "$kept" ] && [ -x "$kept" ]; then
	told | "$kept" "$@" || exit $?
fi
"""
_MERGES = """\
# Of all changes of refs, those that begin a merge (nothing of the working tree is changed yet) or commit one.
[ "$1" = prepared ] || exit 0
case "$GIT_REFLOG_ACTION $input" in
merge*ORIG_HEAD* | pull*ORIG_HEAD*) ;;
*" HEAD"*) [ -f "${GIT_DIR:-.git}/MERGE_HEAD" ] || exit 0 ;;
*) exit 0 ;;
esac
"""
_ASK = """\
python={python}
ask() {{
	if [ -x "$python" ]; then
		"$python" -P -m agent_memory.interfaces.cli rules git-hook {name} "$@"
	elif command -v agent-memory >/dev/null 2>&1; then
		agent-memory rules git-hook {name} "$@"
	else
		echo "agent-memory is not where it was: $python" >&2
		return 127
	fi
}}
{call}
status=$?
case $status in
0) exit 0 ;;
{denied}) exit 1 ;;
esac
echo "agent-memory could not check the rules of this repository, so this is refused." >&2
echo "Install it again (agent-memory rules install-hooks), or take this hook away:" >&2
echo {undo} >&2
exit 1
"""


def script(name: str, kept: str, python: str, undo: str) -> str:
    """A hook: `kept` is what runs first, if it is there; `undo` is the command that takes ours away."""
    reading = name in READING
    parts = [_BEGIN.format(mark=MARK, kept=shlex.quote(kept)), _KEPT_READING if reading else _KEPT]
    if name not in CHECKED:
        return "".join([*parts, "exit 0\n"])
    if name == "reference-transaction":
        parts.append(_MERGES)
    call = 'told | ask "$@"' if reading else 'ask "$@"'
    asked = _ASK.format(
        python=shlex.quote(python), name=name, call=call, denied=DENIED, undo=shlex.quote(f"    {undo}")
    )
    return "".join([*parts, asked])
