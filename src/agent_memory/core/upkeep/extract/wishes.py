"""What the speaker wants: likes and dislikes, and what is to be done always or never."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_memory.core.upkeep.extract.claims import plain
from agent_memory.core.upkeep.extract.sentences import Mood, SaidSentence
from agent_memory.core.upkeep.extract.values import Wanted, Wish
from agent_memory.core.upkeep.extract.wording import POINTING

_REALLY = r"(?:(?:really|absolutely|generally|also|just|quite) )?"
_WHAT = r"(?P<what>[^,;]{2,80})"
_DO = (
    r"(?:use|run|answer|reply|write|push|commit|ask|check|add|include|show|keep|put|send|call|test|format|sign"
    r"|squash|rebase|merge|deploy|delete|touch"
    r"|edit|mention|tell|say|explain|avoid|start|stop|make|create|return|respond|speak|quote|cite|round|sort|log"
    r"|store|share|remove|change|open|close|install|skip|list|confirm|wait|assume|suggest|remind|address|name"
    r"|restart|reboot|force-push|page|drain|scale|roll|rotate|escalate|notify|ping)"
)
_PATTERNS: tuple[tuple[re.Pattern[str], Wanted], ...] = (
    (
        re.compile(
            rf"^i {_REALLY}(?:do not {_REALLY}(?:like|enjoy|care for)|dislike|hate|detest"
            rf"|can ?not stand) {_WHAT}",
            re.I,
        ),
        "dislikes",
    ),
    (re.compile(rf"^i (?:{_REALLY}prefer|would {_REALLY}prefer|would rather(?: use| have)?) {_WHAT}", re.I), "prefers"),
    (re.compile(rf"^i {_REALLY}(?:like|love|enjoy|adore) (?:also )?{_WHAT}", re.I), "likes"),
    (re.compile(rf"^(?:please )?always (?={_DO}\b){_WHAT}", re.I), "always"),
    (re.compile(rf"^(?:please )?(?:never|do not ever) (?={_DO}\b){_WHAT}", re.I), "never"),
)
_POINTS = re.compile(rf"^{POINTING}\b|\b(?:it|them|this|that|these|those|you|your|his|her|him|their)\b", re.I)
_CUT = re.compile(
    r"(?: [-–—] .*| (?:over|than|rather than|instead of|because|when|but|in general|so|too) .*| too| any ?more)$", re.I
)
_LEAD = re.compile(r"^(?:(?:and|but|so|well|also|by the way|btw|actually|in general|please note that)[, ]+)+", re.I)


def wishes(sentence: SaidSentence) -> Iterator[Wish]:
    """An order is a wish, too ("Never push to main"), and so is "I would prefer"; a question and a joke are none."""
    if sentence.mood in (Mood.QUESTION, Mood.JOKE, Mood.HEARSAY):
        return
    said = _LEAD.sub("", plain(sentence.text))
    for pattern, wanted in _PATTERNS:
        if match := pattern.match(said):
            what = _CUT.sub("", match["what"]).strip()
            if what and not _POINTS.search(what):
                yield Wish(wanted, what, sentence.start, sentence.end)
            return
