"""Claims of a statement: subject, predicate, object. A clause is matched with a table of verbs; what no verb fits is
passed over. Every pattern is bounded, and runs on a clause of a few hundred characters at most."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache

from agent_memory.core.upkeep.extract.names import known
from agent_memory.core.upkeep.extract.sentences import SaidSentence
from agent_memory.core.upkeep.extract.subjects import (
    ARTICLE,
    GOES_ON,
    RELATIVE,
    ClaimSubject,
    Clauses,
    bare,
    subject_of,
)
from agent_memory.core.upkeep.extract.values import Claimed, NamedEntity
from agent_memory.core.upkeep.extract.when import dates, since
from agent_memory.core.upkeep.extract.wording import (
    CONTRACTIONS,
    NAME,
    OFFICES,
    POINTING,
    ROLES,
    STANDINGS,
    STATES,
    STORES,
    SWAPPED,
    USED_FOR,
    VERBS,
    Verb,
)

_LEAD = re.compile(
    r"^(?:(?:by the way|btw|actually|well|so|and|but|also|yes|yeah|yep|ok|okay|hi|hello|hey|now|these days"
    r"|nowadays|currently|today|anyway|great"
    r"|thanks|fyi|note that|for the record|as of (?:now|today)|of course|in fact|no|nope|sorry|correction"
    r"|that is wrong|wrong|wait|great, thanks"
    r"|just so you know|remember that|please remember that|please note that|keep in mind that)[,:!]? +)+",
    re.I,
)
CORRECTING = re.compile(
    r"^(?:no[,. ]|nope|actually|correction|sorry,|wait,|scratch that|that(?:'s| is) wrong|wrong)", re.I
)
_INSTEAD = re.compile(
    r"^(?:(?:no|nope|wait|sorry|scratch that|correction|actually|oops|i mean)[,.:;]? +){0,4}(?:(?:it|that) (?:is"
    r"|was|should be)(?: actually| in fact| really)?"
    r"|(?:i|we) meant|make (?:it|that)|correction:) (?P<value>[^,;]{1,60})$",
    re.I,
)
_AFTER_CORRECTION = re.compile(r"^(?:correction|sorry, i mean)[:,] +(?P<value>[\w.'-]+(?: [\w.'-]+){0,2})$", re.I)
_GOING_ON = (
    r"(?:(?:live|work|depend|speak|use|run|listen|am|is|have|has|store|lead|manage)s?|joined|left|quit|moved"
    r"|relocated)\b"
)
_CLAUSES = re.compile(
    r"(?:,? (?:but|and|while)|;|,) (?:(?:now|these days|nowadays|currently|today|since then),? )?"
    r"(?=(?:I|we|it|he|she|they|my|our|the)\b"
    rf"|[\w-]{{1,40}} (?:runs|listens|depends) on )|,? and (?={_GOING_ON})"
)
_TAIL = re.compile(
    r"(?:,| [-–—]|;).*$| (?:because|so that|which|who|while|when|after|before|until|though|although|where"
    r"|instead of|with my|rather than|over gRPC|over HTTP"
    r"|right next to|but|via|in front of|by hand|as part of|in production)\b.*$"
)
_TRAIL = re.compile(
    r" (?:any ?more|now|currently|these days|at the moment|nowadays|too|as well|every day|right now|instead|again"
    r"|already|please|still|this week|originally|full[- ]time|part[- ]time)$",
    re.I,
)
_POINTS = re.compile(rf"{POINTING}\b", re.I)
_UNSURE = re.compile(r"\b(?:neither|nor|or|no more)\b", re.I)  # one of several, or none of them
_ADVERB = r"(?:also|now|currently|originally|still|just|actually|really|mostly|mainly|already|usually|always)"


_BULLET = re.compile(r"^(?:[-*•]|\d{1,2}\)) +")
_MARKED = re.compile(r"(`|\*\*)([\w./:@-]{1,60})\1")


def plain(said: str) -> str:
    """Without contractions ("isn't" is "is not"), and without what Markdown adds to it."""
    said = _MARKED.sub(r"\2", _BULLET.sub("", re.sub(" {2,}", " ", said)))
    for short, long in CONTRACTIONS:
        said = short.sub(long, said)
    return said.rstrip(" .!")


def claimed(sentence: SaidSentence, entities: Sequence[NamedEntity], so_far: Clauses) -> list[Claimed]:
    """What a statement claims, with what was claimed before it in mind."""
    text, corrects = plain(sentence.text), bool(CORRECTING.match(sentence.text))
    if value := _corrected(text):
        return _put_right(value, sentence, so_far)
    found: list[Claimed] = []
    people = {one.name for one in entities if one.type == "person"}
    subject = None
    for clause in _CLAUSES.split(_LEAD.sub("", text)):
        if len(clause) > 200:
            continue
        read = list(_read(clause, subject, people, sentence, so_far)) or list(_introduced(clause, sentence, so_far))
        if _not_yet(clause, read, so_far):
            continue
        for one in read:
            subject = one.subject
        found += [one._replace(corrects=corrects) for one in read]
    return found


def _not_yet(clause: str, read: Sequence[Claimed], so_far: Clauses) -> bool:
    """ "Next week Ivan is on call": not now, and the claim would not say when."""
    ahead = [one.words for one in dates(clause, so_far.said.at) if one.first > so_far.said.at]
    return any(words not in one.object for words in ahead for one in read)


def _corrected(text: str) -> str | None:
    match = _INSTEAD.match(text) or _AFTER_CORRECTION.match(text)
    if match is None or not (CORRECTING.match(text) or re.match(r"(?:i|we) meant|make ", text, re.I)):
        return None
    return str(match["value"])


def _put_right(value: str, sentence: SaidSentence, so_far: Clauses) -> list[Claimed]:
    """The last claim again, with another object: "it's 8080" after "port 80" is "port 8080"."""
    last = next((one for one in reversed(so_far.claims) if not one.negated), None)
    if last is None:
        return []
    new = ARTICLE.sub("", value.strip())
    if (number := re.search(r"\d[\d.,]*$", last.object)) and re.fullmatch(r"\d[\d.,]*", new):
        new = last.object[: number.start()] + new
    elif re.match(r"\d", last.object) and not re.match(r"\d|an?\b", new) and new.split()[0] not in _NUMBERS:
        return []
    if last in so_far.claims and last.start >= 0:
        so_far.claims.remove(last)
    return [last._replace(object=new, start=sentence.start, end=sentence.end, corrects=True)]


_NUMBERS = frozenset("one two three four five six seven eight nine ten".split())


def _introduced(clause: str, sentence: SaidSentence, so_far: Clauses) -> Iterator[Claimed]:
    """Who somebody is: "I'm Jonas", "Call me Sam"."""
    match = re.match(
        rf"(?:i am|call me|my name is) (?P<name>(?-i:{NAME}))$|(?:call me) (?P<call>(?-i:{NAME}))(?:,.*)?$",
        clause,
        re.I,
    )
    name = match and (match["name"] or match["call"])
    if name and known().get(name.split()[0]) not in ("ignored", "technology", "place"):
        yield _claim(so_far, so_far.said.speaker, "is called", name, sentence)._replace(single=True)


def _read(
    clause: str, before: str | None, people: set[str], sentence: SaidSentence, so_far: Clauses
) -> Iterator[Claimed]:
    clause = _without_opening(clause, so_far.said.at)
    yield from _relatives(clause, sentence, so_far)
    if before is not None and re.match(_GOING_ON, clause):
        clause = f"{GOES_ON} {clause}"
    if swapped := SWAPPED.match(clause):
        yield from _swapped(swapped, before, people, sentence, so_far)
        return
    if (stores := STORES.match(clause)) and (subject := subject_of(stores["s"], before, people, so_far)):
        value = _object(stores["o"], so_far.said.at)
        yield _claim(so_far, subject.name, f"stores {stores['what']} in", value, sentence)._replace(single=True)
        return
    for verb, pattern in _patterns():
        match = pattern.match(clause)
        if match and (made := list(_of_verb(verb, match, before, people, sentence, so_far))):
            yield from made
            return
    yield from _is(clause, before, people, sentence, so_far)


def _without_opening(clause: str, at: datetime) -> str:
    """ "Two weeks ago we hired …": the time stands first."""
    opening = re.match(r"(?:(?:in|on|since|at|during) )?", clause, re.I)
    begin = opening.end() if opening else 0
    for one in dates(clause, at):
        if clause.startswith(one.words, begin) and begin + len(one.words) < len(clause):
            return clause[begin + len(one.words) :].lstrip(", ")
    return clause


@cache
def _patterns() -> tuple[tuple[Verb, re.Pattern[str]], ...]:
    made = []
    for verb in VERBS:
        said = verb.said.replace("{roles}", ROLES)
        be = re.match(r"\(\?:is\|am(?:\|are)?\)|\(\?:is\|are(?:\|am)?\)", said)
        no = r"(?:(?P<no>(?:do|does|did|have|has) not|no longer|never) )?"
        if be:  # "is not owned by"
            said = said.replace(be[0], f"{be[0]}(?: (?P<not>not|no longer))?", 1)
        else:
            said = f"{no}(?:{said})"
        made.append(
            (
                verb,
                re.compile(
                    rf"^(?P<s>\x00"
                    rf"|.{{1,60}}?) (?:{_ADVERB} )?(?:{said}) ?(?<= )(?P<o>\S.{{0,160}})$",
                    re.I,
                ),
            )
        )
    return tuple(made)


def _of_verb(
    verb: Verb, match: re.Match[str], before: str | None, people: set[str], sentence: SaidSentence, so_far: Clauses
) -> Iterator[Claimed]:
    subject = subject_of(match["s"], before, people, so_far)
    rest = match["o"]
    shape = verb.object.replace("{roles}", ROLES).replace("{relatives}", RELATIVE)
    if (
        subject is None
        or not _fits(verb, subject)
        or (verb.capital and not rest[:1].isupper() and not rest.startswith("a "))
    ):
        return
    said = _object(rest, so_far.said.at, keep=verb.predicate in _TIMED)
    if not said or _POINTS.match(said) or _UNSURE.search(said) or re.fullmatch(shape, said) is None:
        return
    groups = match.groupdict()
    negated = verb.negated or bool(groups.get("no") or groups.get("not"))
    single = verb.single and not negated

    def claim(about: str, predicate: str, value: str) -> Claimed:
        made = _claim(so_far, about, predicate, value, sentence)
        return made._replace(negated=negated, single=single, confidence=verb.confidence)

    if verb.inverse:
        yield claim(bare(said), verb.predicate, subject.name)
        return
    if verb.predicate == "works as" and " at " in said:
        said, _, place = said.partition(" at ")
        yield claim(subject.name, "works at", place)
    predicate = verb.predicate
    if predicate == "uses":
        each = [USED_FOR.fullmatch(one) for one in (said, *_AND.split(said))]
        purposes = each[1:] if all(each[1:]) else each[:1]
        if not negated and all(purposes):
            for purpose in filter(None, purposes):
                name = f"uses for {bare(purpose['purpose']).lower()}"
                yield claim(subject.name, name, bare(purpose["what"]))._replace(single=True)
            return
        said = re.sub(r" (?:for|to|on|as|in) .*$", "", said)
    if predicate == "deploys on" and "to production" in match[0]:
        predicate = "deploys to production"
    for one in _AND.split(said) if verb.lists else [said]:
        value = re.sub(r"^(?:an? (?:bit|little) of|some|fluent) ", "", one)
        value = re.sub(r" as (?:an?|the) .*$", "", value) if predicate == "works at" else value
        value = re.sub(r"^on ", "", value) if predicate in ("happens on", "deploys on", "depends on") else value
        yield claim(subject.name, predicate, bare(value))


_AND = re.compile(r",? and |, ")
_TIMED = frozenset(
    ("happens on", "expires on", "ends on", "starts on", "runs", "deploys on", "launched in", "are kept for", "is")
)


def _fits(verb: Verb, subject: ClaimSubject) -> bool:
    if verb.of == "any":
        return True
    if verb.of == "person":
        return subject.of == "person" or (subject.of == "we" and verb.predicate == "lives in")
    if verb.of == "service":
        return "-" in subject.name
    return subject.of == verb.of


def _is(
    clause: str, before: str | None, people: set[str], sentence: SaidSentence, so_far: Clauses
) -> Iterator[Claimed]:
    """What something is, where that is a value: a number, a name, a time, a standing; or who somebody is."""
    match = re.match(
        r"^(?P<s>\x00|.{1,60}?) (?:is|are|am) (?:(?:now|currently|still) )?(?P<no>not (?:yet )?"
        r"|no longer )?(?P<o>\S.{0,120})$",
        clause,
        re.I,
    )
    subject = match and subject_of(match["s"], before, people, so_far)
    if match is None or subject is None:
        return
    raw = _TAIL.sub("", match["o"])
    timed = dates(raw, so_far.said.at)
    value = _object(raw, so_far.said.at, keep=bool(timed) and raw.endswith(timed[-1].words))
    if not value or _POINTS.match(value):
        return
    negated = bool(match["no"])
    if subject.of == "person":
        if re.fullmatch(rf"(?:{STATES})|on (?:call|holiday|leave|parental leave)", value, re.I) or re.fullmatch(
            rf"(?:the|an?) {OFFICES} (?:of|for) .+", value
        ):
            yield _claim(so_far, subject.name, "is", bare(value), sentence)._replace(negated=negated)
        return
    if subject.of != "thing":
        return
    number = re.fullmatch(
        r"(?:\d[\d.,:]*|one|two|three|four|five|six|seven|eight|nine|ten)(?: ?(?:%|[a-z]+)){0,2}", value, re.I
    )
    name = re.fullmatch(rf"(?:an? )?(?-i:{NAME})(?: [a-z]+)?|[a-z]+-[a-z]+-\d", value)
    standing = re.match(rf"(?:{STANDINGS})(?: in .*)?$", value, re.I)
    capital = re.fullmatch(r"the capital of .+", value)
    when = timed and re.fullmatch(rf"(?:on )?(?:the )?{re.escape(timed[-1].words)}", raw, re.I)
    if number or name or standing or when or capital:
        single = not negated and not standing
        made = _claim(so_far, subject.name, "is", bare(value), sentence)
        yield made._replace(negated=negated, single=single, confidence=0.82)


_OWN = re.compile(
    r"my (?P<what>birthday|email(?: address)?|phone number|address|favou?rite [a-z]{2,20}) is (?:on )?"
    r"(?P<value>.{1,60})$",
    re.I,
)


def _relatives(clause: str, sentence: SaidSentence, so_far: Clauses) -> Iterator[Claimed]:
    """ "My sister Anna", "my dog is called Biscuit", "a cat named Miso"."""
    name = rf"(?P<name>(?-i:{NAME}))"
    speaker = so_far.said.speaker
    for pattern in (
        rf"\bmy (?P<who>{RELATIVE})(?:(?:'s name)? is(?: called| named)?| is)? {name}",
        rf"\bi have (?:an?|one) (?P<who>{RELATIVE}) (?:named|called) {name}",
    ):
        for match in re.finditer(pattern, clause, re.I):
            if re.search(r" is [^ ]+['’]s$", match[0]):  # "my manager is Bob's brother"
                continue
            name_of = re.sub(r"['’]s$", "", match["name"])
            yield _claim(so_far, speaker, match["who"].lower(), name_of, sentence)
            so_far.person.append(name_of)
    if own := _OWN.match(clause):
        what = own["what"].lower().replace("favorite", "favourite")
        yield _claim(so_far, speaker, what, _object(own["value"], None), sentence)._replace(single=True)


def _swapped(
    match: re.Match[str], before: str | None, people: set[str], sentence: SaidSentence, so_far: Clauses
) -> Iterator[Claimed]:
    subject = subject_of(match["s"], before, people, so_far)
    if subject is not None:
        yield _claim(so_far, subject.name, "uses", bare(_object(match["new"], so_far.said.at)), sentence)
        yield _claim(so_far, subject.name, "uses", bare(match["old"] or match["old2"]), sentence)._replace(negated=True)


def _object(said: str, at: datetime | None, keep: bool = False) -> str:
    """What is claimed, without what is said besides: reasons, times, adverbs."""
    value = _TAIL.sub("", said).strip()
    if at is not None and not keep:
        for one in dates(value, at):
            place = value.find(one.words)
            if place > 0:
                value = (
                    re.sub(r" (?:on|in|at|over|during|the|since|from)*$", "", value[:place].rstrip())
                    + value[place + len(one.words) :]
                )
    for _ in range(3):
        value = _TRAIL.sub("", value).strip(" ,;:")
    return value


def _claim(so_far: Clauses, subject: str, predicate: str, object: str, sentence: SaidSentence) -> Claimed:
    began = since(sentence.text, so_far.said.at)
    return Claimed(subject, predicate, object, sentence.start, sentence.end, since=began)
