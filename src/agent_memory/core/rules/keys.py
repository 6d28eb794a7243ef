"""What can stand under a rule: the keys of its check, what each belongs to, and what `git config` may set."""

from __future__ import annotations

from types import MappingProxyType

from agent_memory.models.rules import Subject

LONGEST_SETTING = 200
SUBJECTS = MappingProxyType({subject.value: subject for subject in Subject})
CONDITIONS = MappingProxyType(
    {
        "contains": tuple(Subject),
        "every line": (Subject.COMMIT, Subject.PATH, Subject.TEXT),
        "with": (Subject.COMMAND,),
        "where": (Subject.TOOL,),
        "branch": (Subject.COMMAND, Subject.COMMIT, Subject.PATH, Subject.TOOL),
    }
)
"""Condition -> the subjects that it can be asked of."""

FIELDS = MappingProxyType(
    {"contains": "contains", "every line": "every_line", "with": "having", "branch": "branches", "unless": "unless"}
)
"""Key -> the field of a check that holds its patterns."""

WORDS = ("because", "fix")
KEYS = (*SUBJECTS, *CONDITIONS, "unless", *WORDS, "git config")
OTHERS = MappingProxyType(
    {
        "commands": "command",
        "commit": "commit message",
        "commit messages": "commit message",
        "message": "commit message",
        "paths": "path",
        "file": "path",
        "files": "path",
        "tools": "tool",
        "texts": "text",
        "contain": "contains",
        "each line": "every line",
        "every lines": "every line",
        "having": "with",
        "branches": "branch",
        "except": "unless",
        "reason": "because",
        "why": "because",
        "config": "git config",
    }
)
"""Other words for a key, which are understood and which `--fix` puts right."""

GIT_CONFIG = MappingProxyType(
    {
        name.lower(): name
        for name in (
            "branch.autoSetupMerge branch.autoSetupRebase commit.cleanup commit.gpgSign commit.verbose core.autocrlf "
            "core.eol core.ignoreCase core.safecrlf diff.algorithm diff.renames fetch.prune fetch.pruneTags "
            "init.defaultBranch merge.conflictStyle merge.ff merge.log pull.ff pull.rebase push.autoSetupRemote "
            "push.default push.followTags rebase.autoSquash rebase.autoStash rebase.updateRefs rerere.autoUpdate "
            "rerere.enabled tag.gpgSign tag.sort user.email user.name user.useConfigOnly"
        ).split()
    }
)
"""What a page may have set in a clone: nothing among it runs a program, names a file or opens a connection."""


def is_setting(value: str) -> bool:
    """Whether git can be given it as a value: some words, and no option."""
    return 0 < len(value) <= LONGEST_SETTING and value.isprintable() and not value.startswith("-")


def known(said: str) -> tuple[str | None, bool]:
    """The key that is meant, and whether it is spelled as it should be."""
    if said in KEYS:
        return said, True
    plain = " ".join(said.lower().replace("-", " ").replace("_", " ").split())
    found = plain if plain in KEYS else OTHERS.get(plain)
    return found, False
