"""The tense of a question: whether it asks of the past or of the present, by the verb that it hangs on.

Words alone mislead: "the tool *used to* deploy" and "the *hosted* cluster" are of the present, "we *need*" only looks
like a past, and what happened in "after it *passed* review" is not what is asked for. So the first finite verb
decides, outside of clauses that say when and behind words such as "do you know"; an "is" gives way to a past that
follows ("what *is* the port that we *used* in March?").
"""

from __future__ import annotations

import re
from typing import Literal

CLAUSE = re.compile(
    r"(?:^|(?<=[\s,(]))(?:back )?(?P<side>before|prior to|until|till|after|following|during|when|while"
    r"|at the time of|at the time)\s+(?P<said>[^,?;!\s][^,?;!]{0,199})",
    re.IGNORECASE,
)
ASKS = re.compile(r"^\W{0,9}(?:who|whose|which|what|where|how)\b", re.IGNORECASE)
ASKS_WHEN = re.compile(r"^when (?:did|do|does|was|were|is|are|has|have|had|will|can|should)\b", re.IGNORECASE)

_NO_PAST = r"(?:over|un|re)?(?:need|feed|speed|seed|breed|bleed|heed|weed|embed|exceed|proceed|succeed|shed|shred)"
_FORM = rf"(?!{_NO_PAST}\b)(?:\w{{2,}}ed|ran|held|kept|paid|built|sent|took|made|chose|led|went)\b"
_SUBJECT = r"\b(?:I|we|you|he|she|it|they|who)"
_WHOSE = r"(?:the|an?|our|my|your|his|her|their|its|whose)"
_BE = r"(?:is|are|am|was|were|be|been|being|gets?|got|can|may|isn|aren|wasn|weren)"
_USED_TO = (
    rf"(?:{_SUBJECT}|\b(?:there|what|that))\s+(?:still\s+)?used to\b"
    rf"|^\W{{0,9}}(?:which|what|whose|how many)(?:\s+(?!{_BE}\b)\w+){{1,2}}\s+used to\b"
    rf"|\b(?!{_BE}\b)\w+\s+used to (?:be|have|own|live|belong)\b"
)
_VERB = re.compile(
    rf"(?P<is>\b(?:is|are|am|isn['’]t|aren['’]t)\b(?:\s+{_SUBJECT}\b)?)"
    rf"|(?P<present>\b(?:do|does|has|have|will|shall|can|should|must|(?-i:may))\b(?:\s+{_SUBJECT}\b)?"
    r"|\bwho\s+(?!was\b)\w+[^\Ws]s\b"
    r"|^\W{0,9}(?:please\s+)?(?:deploy|fix|write|add|update|remove|create|make|review|implement|refactor|check|configure"
    r"|install|migrate|rewrite|delete)\b)"
    r"|(?P<past>\b(?:was|were|did|had|wasn['’]t|weren['’]t|didn['’]t|hadn['’]t)\b"
    rf"|{_USED_TO}|{_SUBJECT}\s+(?:still\s+)?{_FORM}|\b{_FORM}(?=\s+{_WHOSE}\b)|\b(?:ran|took|chose|went)\b)",
    re.IGNORECASE,
)
_TELL_ME = re.compile(
    r"^\W{0,9}(?:(?:do|did|can|could|would|will)\s+you\s+|I\s+(?:need|want|would like)\s+to\s+)?(?:please\s+)?"
    r"(?:still\s+)?(?:know|remember|recall|tell|say|show|remind|find out)(?:\s+(?:me|us))?\s+",
    re.IGNORECASE,
)
_OVER = re.compile(
    rf"{_USED_TO}|\bdid(?:n['’]t)?(?:\s+\w+){{1,6}}?\s+use to\b|\bpreviously\b|\bformerly\b|\bback then\b"
    r"|\bin the past\b|\bin those days\b|\bat that time\b"
    rf"|\b{_WHOSE} (?:previous|former|prior)\b|^\W{{0,9}}(?:previous|former)(?=(?:\s+\w+){{1,2}}\s+(?:of|for|at|in)\b)"
    r"|\b(?:before|earlier)\W*$",
    re.IGNORECASE,
)
_USE_TO = re.compile(r"used? to", re.IGNORECASE)
_PHRASE = re.compile(
    rf"\W{{0,9}}(?:{_WHOSE}\s+)?(?!(?:take|get|make|keep|think|dispose|beware)\b)\w+(?:\s+\w+)?\s+of(?:\s+\w+){{1,5}}?"
    rf"\s+(?:before|prior to|until|till|during|at the time of)\s+{_WHOSE}\s+\w+(?:\s+\w+)?\W*$",
    re.IGNORECASE,
)


def tense(text: str) -> Literal["past", "present"] | None:
    """None where no verb tells."""
    main = _main(text)
    return _decided(_TELL_ME.sub("", main)) or _decided(main)


def over(text: str) -> str | None:
    """The words for what is over."""
    found = _OVER.search(text)
    if found is None:
        return None
    used = _USE_TO.search(found[0])
    return used[0] if used else found[0].strip(" ?.!")


def names_something_past(text: str) -> bool:
    """Whether it is no sentence, only what was at some time: "owner of the cluster before the move"."""
    return _PHRASE.match(text) is not None


def _decided(text: str) -> Literal["past", "present"] | None:
    found: Literal["past", "present"] | None = None
    for verb in _VERB.finditer(text):
        if verb["past"]:
            return "past"
        found = "present"
        if verb["present"]:
            break
    return found


def _main(text: str) -> str:
    """Without the clauses that say when; all of it where nothing else would be left."""
    left = CLAUSE.sub(lambda found: found[0] if ASKS_WHEN.match(found[0]) else " ", text)
    return left if re.search(r"\w{3}", left) else text
