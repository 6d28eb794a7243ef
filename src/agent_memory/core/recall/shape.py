"""What a query is: a question to a memory, or prose: an alert or a ticket that somebody pasted, a paragraph, a claim.

A question to a memory of conversations is about who said what and when. Prose names days and people in passing, its
question marks ask somebody else, and what answers it is a document. Prose is

- a paragraph: `PARAGRAPH` words or more, unless it is one long question, or speaks of what was said ("you told me");
- a claim: a sentence of `SENTENCE` words or more that does not ask, in nobody's name ("I", "you"), about no day,
  nobody who speaks in this memory, and nothing that is over ("previous owner of the cluster").

Everything else is a question, a few key words included: where the two cannot be told apart, nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import timedelta

from agent_memory.core.recall.question import AskedQuestion
from agent_memory.core.recall.tense import names_something_past, over
from agent_memory.models.answer import Shape

PARAGRAPH, SENTENCE = 35, 5  # words
DAYS = timedelta(days=92)  # a period up to a quarter; a bare year is a detail of a claim

_ASKS = re.compile(
    r"\W*(?:(?:in|on|at|for|with|from|to|by|of|about|since|until)\s+)?(?:what|which|who|whom|whose|where|when|why|how|did"
    r"|does|do|is|are|was|were|has|have|had|will|would|can|could|should|might|may|tell|show|find|list|give|remind|recall"
    r"|remember|search|look|summari[sz]e|explain|describe|compare)\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"[?\u061f]")
_ANOTHER_SENTENCE = re.compile(r"[.!?\u061f]\s+\w")
_IN_PERSON = re.compile(r"\b(?:I|[Mm](?:e|y|ine)|[Ww]e|us|[Oo]urs?|[Yy]ou(?:rs?)?)\b")  # US is a country
_WAS_SAID = re.compile(
    r"\b(?:I|we|you) (?:just |already |once )?(?:said|told|talked|spoke|discussed|mentioned|agreed|decided|promised"
    r"|suggested|recommended|explained|gave me)\b|\byou (?:still )?remember\b|\b(?:our|my) (?:last |earlier )?"
    r"(?:chat|conversation|discussion|talk)s?\b",
    re.IGNORECASE,
)


def shape(asked: AskedQuestion, speakers: Collection[str]) -> Shape:
    """`speakers`: whom it names of those who speak in what its reader sees."""
    text = asked.text
    many = len(text.split())
    asks = _ASKS.match(text) is not None
    if many >= PARAGRAPH:
        alone = asks and _ANOTHER_SENTENCE.search(text) is None
        return "question" if alone or _WAS_SAID.search(text) else "prose"
    asks = asks or _MARK.search(text) is not None or _IN_PERSON.search(text) is not None
    dated = any(one.end - one.start <= DAYS for one in asked.periods)
    if many < SENTENCE or asks or dated or speakers:
        return "question"
    return "question" if over(text) or names_something_past(text) else "prose"
