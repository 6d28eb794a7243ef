"""Documents cut by their structure beside documents cut by size alone: is what answers a question among the first two?

python benchmarks/knowledge.py [--k 2] [--size 1200]

The documents are our own guides (`docs/guides`), the questions are ours, each with the guide and the words that answer
it. Every way to cut gets a store of its own and the same search (`memory.knowledge.search`). `document`: one of the
first k is from the right guide; `answer`: one of them holds the words; `torn`: code blocks and tables that no chunk
holds whole; `characters`: how much there is to read for a question.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from agent_memory import AgentMemory
from agent_memory.core.knowledge.chunk import chunks
from agent_memory.core.knowledge.structure import markdown
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"
GUIDES = Path(__file__).parents[1] / "docs" / "guides"
BATCH = 200
QUESTIONS = """
access | Nobody can grant what they do not have | Can an admin hand out rights that he lacks himself?
access | From the first key on, every call needs one | When do callers on the same machine begin to need an API key?
access | see what was refused and what recalls cost | Which permission lets me see refused calls?
agents | five newest results | What does an agent's recall add to what the search finds?
agents | the memory does not enforce them | Is the budget of an agent enforced?
cli | _AGENT_MEMORY_COMPLETE=bash_source | How do I get tab completion in my shell?
cli | is also `agent-memory NAMESPACE METHOD` | How can I call any Python method from the terminal?
client | after three attempts within about half a second | How often does the client retry when the server is unreachable?
client | A function cannot be sent | Can I pass my own token counter to a remote memory?
context | whose fence is longer than any run of backticks inside | How is prompt injection from recalled text prevented?
context | of 60 candidates | How many candidates are considered for a context?
context | about one token for four characters of a word | How are tokens estimated when I do not know the model?
decisions-and-patterns | (a comma separates | How do I say for which tasks a strategy applies?
decisions-and-patterns | and counts how often it worked | Where do I note what to do when the build fails, and whether it helped?
embedders | without torch, a model hub or a download | Do I need to download an embedding model?
embedders | distances between two models mean nothing | Why does my store refuse a different embedding model?
embedders | returns the rows and the tokens | How can my own embedder report what it costs?
embeddings | A query waits two seconds at most | What happens when the external vector store does not respond?
embeddings | nearest vectors at most | How many of the nearest vectors does a recall in a namespace look at?
enforcing | is missing, or larger than 8 MB, is unknown | What if a rule is about the content of a very large file?
enforcing | A `git pull` is a `git merge` unless it rebases | Does a rule against merging also stop git pull?
extending | registered as an entry point in `agent_memory.stores` | How do I register a storage backend that I wrote?
extending | A working set that is away costs the desk | What should a plugged-in part do when its service is down?
forgetting | a tombstone: the id, and when | What remains after a record was forgotten?
forgetting | `scrub_owed_since` | How do I see that erased data is still on the disk?
goals-and-tasks | anything the first worker then reports is refused with `LeaseLost` | What happens to a worker that was silent for too long?
goals-and-tasks | return the highest priority first, then the oldest | In which order are tasks handed out?
procedures-prompts | Trust applies to the folder **and** its origin together | Is a second clone of a trusted repository trusted, too?
procedures-prompts | agent-memory rules trusted | Which command lists the repositories that I trust?
procedures-shell | a part is known only at run time | How is a command judged that contains a variable?
procedures-versions | Worktrees share them | Where can I put rules that are only for my clone?
procedures-versions | A ref is whatever git takes for a commit | Can I read the rules of an older tag?
procedures | each heading is guidance, items below a heading | What happens with the CLAUDE.md that I already have?
recall | separates hits from what merely came out on top | Below which relevance is a hit not a real match?
recall | a runbook does not repeat a whole alert | How is a pasted alert searched for, unlike a question?
rest | answers 201 with the `id` | Which status code does storing a memory over HTTP give?
scale | about 80 a second for each core | How many recalls a second can one core answer over REST?
telemetry | spans wait in a queue | What happens to traces when the collector is down?
time | its end, so that you see how things stood | If I ask for how things were on a day, which moment of it is meant?
time | older news never overwrites newer | What if I hear late of something that was true earlier?
user-files | the preference ends now | What happens when I delete a line from my preferences file?
verifying | A row that cannot be read is left out | Does search still work with damaged rows?
"""  # noqa: E501


class Asked(NamedTuple):
    guide: str
    answer: str
    question: str


def flat(text: str) -> str:
    return " ".join(text.split())


def asked() -> list[Asked]:
    found = [Asked(*map(str.strip, line.split("|"))) for line in QUESTIONS.strip().splitlines()]
    gone = [one for one in found if one.answer not in flat((GUIDES / f"{one.guide}.md").read_text("utf-8"))]
    if gone:
        raise SystemExit("\n".join(f"{one.guide}.md does not say any more: {one.answer}" for one in gone))
    return found


def windows(text: str, size: int, overlap: int) -> list[str]:
    return [text[start : start + size] for start in range(0, max(len(text) - overlap, 1), size - overlap)]


def ways(size: int) -> dict[str, Callable[[str, str], list[str]]]:
    """How a guide is cut: its text and name to the texts that are stored."""

    def structured(text: str, name: str) -> list[str]:
        return [one.text for one in chunks(markdown(text), name, size)]

    def without_headings(text: str, name: str) -> list[str]:
        return [one.text.partition("\n\n")[2] or one.text for one in chunks(markdown(text), name, size)]

    return {
        "by structure, with headings (ours)": structured,
        "by structure, without the headings": without_headings,
        "by size": lambda text, name: windows(text, size, 0),
        "by size, a sixth repeated": lambda text, name: windows(text, size, size // 6),
    }


def torn(text: str, stored: Iterable[str]) -> tuple[int, int]:
    """How many code blocks and tables there are, and how many of them no chunk holds whole."""
    found = markdown(text)
    whole = [flat(found.text[part.start : part.end]) for part in found.parts if part.kind == "whole"]
    kept = [flat(one) for one in stored]
    return len(whole), sum(not any(one in chunk for chunk in kept) for one in whole)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--k", type=int, default=2)
    parser.add_argument("--size", type=int, default=1200)
    given = parser.parse_args()
    questions = asked()[: at_most(1000, 5)]
    guides = sorted(
        {one.guide for one in questions} if at_most(2, 1) == 1 else {file.stem for file in GUIDES.glob("*.md")}
    )
    print(f"{len(questions)} questions, {len(guides)} guides, the first {given.k}, {given.size} characters")
    print(f"{'how it is cut':36} {'chunks':>6} {'document':>9} {'answer':>7} {'torn':>9} {'characters':>11}")
    for name, cut in ways(given.size).items():
        with tempfile.TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/m.db") as memory:
            records, blocks, broken = [], 0, 0
            for guide in guides:
                text = (GUIDES / f"{guide}.md").read_text("utf-8")
                stored = cut(text, f"{guide}.md")
                all_of, lost = torn(text, stored)
                blocks, broken = blocks + all_of, broken + lost
                payload = {"document_id": guide}
                records += [
                    {"kind": "document_chunk", "text": one, "payload": payload} for one in stored if one.strip()
                ]
            for start in range(0, len(records), BATCH):
                memory.records.add_many(records[start : start + BATCH], embed=True)
            documents = answers = read = 0
            for one in questions:
                hits = memory.knowledge.search(one.question, given.k)
                documents += any(hit.metadata["document_id"] == one.guide for hit in hits)
                answers += any(one.answer in flat(hit.content) for hit in hits)
                read += sum(len(hit.content) for hit in hits)
        share = [f"{100 * number / len(questions):.0f} %" for number in (documents, answers)]
        cells = f"{len(records):6} {share[0]:>9} {share[1]:>7} {f'{broken} of {blocks}':>9}"
        print(f"{name:36} {cells} {read / len(questions):11.0f}")


if __name__ == "__main__":
    main()
