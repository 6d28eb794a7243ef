"""How a new version meets those that are believed: for any timeline, not only for the examples one thinks of."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.ledger.timeline import Believed, Plan, meet
from agent_memory.ports.changes import Content, VersionState

steady = settings(deadline=None, derandomize=True, database=None)
HORIZON = 12
INSTANTS = range(-1, HORIZON + 2)

Timeline = list[Believed[int]]


def content(text: str) -> Content:
    return Content(text, "{}", b"salt")


@st.composite
def states(draw: st.DrawFn) -> VersionState:
    begin = draw(st.integers(0, HORIZON - 1))
    end = draw(st.none() | st.integers(begin + 1, HORIZON))
    return VersionState(begin, end, importance=draw(st.sampled_from((0.25, 0.5))))


arrivals = st.tuples(st.sampled_from(("Berlin", "Lisbon", "Porto")), states(), st.booleans(), st.booleans())


def applied(believed: Timeline, text: str, plan: Plan[int]) -> Timeline:
    """What is believed once a plan is carried out; a version's handle is unique for ever."""
    if plan.state is None:
        return believed
    new = [version for version in believed if version.handle not in plan.ends]
    free = max((version.handle for version in believed), default=0) + 1
    for handle, state in plan.keeps:
        kept = next(version for version in believed if version.handle == handle)
        new.append(replace(kept, handle=free, state=state))
        free += 1
    return [*new, Believed(free, text, "{}", plan.state)]


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Whatever can come about by writing."""
    believed: Timeline = []
    for text, state, succeeds, dated in draw(st.lists(arrivals, max_size=6)):
        plan = meet(believed, content(text), state, succeeds=succeeds or draw(st.booleans()), dated=dated)
        believed = applied(believed, text, plan) if believed else [Believed(1, text, "{}", state)]
    return believed


def holding(believed: Timeline, instant: int) -> Timeline:
    return [
        version
        for version in believed
        if version.state.valid_from <= instant and (version.state.valid_to is None or version.state.valid_to > instant)
    ]


def said(believed: Timeline, instant: int) -> tuple[str, float] | None:
    """What holds at an instant."""
    found = holding(believed, instant)
    return (found[0].text, found[0].state.importance) if found else None


def kept(believed: Timeline, state: VersionState) -> VersionState:
    """A correction that does not say when it begins: it begins when the others did, if that is before its end."""
    begin = min((version.state.valid_from for version in believed), default=state.valid_from)
    return state._replace(valid_from=begin) if state.valid_to is None or begin < state.valid_to else state


@steady
@given(timelines())
def test_at_each_instant_at_most_one_version_holds(believed: Timeline) -> None:
    assert all(len(holding(believed, instant)) <= 1 for instant in INSTANTS)
    assert all(
        version.state.valid_to is None or version.state.valid_from < version.state.valid_to for version in believed
    )


@steady
@given(timelines(), arrivals)
def test_the_new_interval_holds_the_new_content(
    believed: Timeline, arrival: tuple[str, VersionState, bool, bool]
) -> None:
    text, state, succeeds, dated = arrival
    plan = meet(believed, content(text), state, succeeds=succeeds, dated=dated)
    after = applied(believed, text, plan)
    if plan.state is not None:
        wanted = state if succeeds or dated else kept(believed, state)
        assert plan.state._replace(valid_to=state.valid_to) == wanted
        mine = [Believed(0, text, "{}", plan.state)]
        assert all(said(after, instant) == said(mine, instant) for instant in INSTANTS if holding(mine, instant))
    elif succeeds:
        bound = min((v.state.valid_from for v in believed if v.state.valid_from > state.valid_from), default=HORIZON)
        end = bound if state.valid_to is None else state.valid_to
        assert all(said(believed, instant) == (text, state.importance) for instant in range(state.valid_from, end))


@steady
@given(timelines(), arrivals)
def test_a_succession_leaves_the_rest_untouched(
    believed: Timeline, arrival: tuple[str, VersionState, bool, bool]
) -> None:
    text, state, _, dated = arrival
    plan = meet(believed, content(text), state, succeeds=True, dated=dated)
    after = applied(believed, text, plan)
    mine = [] if plan.state is None else [Believed(0, text, "{}", plan.state)]
    outside = [instant for instant in INSTANTS if not holding(mine, instant)]
    assert [said(after, instant) for instant in outside] == [said(believed, instant) for instant in outside]


@steady
@given(timelines(), arrivals)
def test_a_correction_leaves_nothing_but_itself(
    believed: Timeline, arrival: tuple[str, VersionState, bool, bool]
) -> None:
    text, state, _, dated = arrival
    plan = meet(believed, content(text), state, succeeds=False, dated=dated)
    after = applied(believed, text, plan)
    if plan.state is not None:
        assert [(version.text, version.state) for version in after] == [
            (text, state if dated else kept(believed, state))
        ]
        assert set(plan.ends) == {version.handle for version in believed}
        assert plan.keeps == ()


@steady
@given(timelines(), arrivals)
def test_older_news_never_overwrite_newer_ones(
    believed: Timeline, arrival: tuple[str, VersionState, bool, bool]
) -> None:
    text, state, _, dated = arrival
    late = state._replace(valid_to=None)
    plan = meet(believed, content(text), late, succeeds=True, dated=dated)
    after = applied(believed, text, plan)
    newer = [version for version in believed if version.state.valid_from > late.valid_from]
    assert all(version in after for version in newer)


@steady
@given(timelines(), arrivals)
def test_the_same_again_changes_nothing(believed: Timeline, arrival: tuple[str, VersionState, bool, bool]) -> None:
    text, state, succeeds, dated = arrival
    plan = meet(believed, content(text), state, succeeds=succeeds, dated=dated)
    after = applied(believed, text, plan)
    assert meet(after, content(text), state, succeeds=succeeds, dated=dated) == Plan()


@steady
@given(timelines(), arrivals)
def test_only_what_is_ended_is_written_again(believed: Timeline, arrival: tuple[str, VersionState, bool, bool]) -> None:
    text, state, succeeds, dated = arrival
    plan = meet(believed, content(text), state, succeeds=succeeds, dated=dated)
    assert {handle for handle, _ in plan.keeps} <= set(plan.ends) <= {version.handle for version in believed}
    for handle, kept in plan.keeps:
        old = next(version.state for version in believed if version.handle == handle)
        assert kept._replace(valid_from=old.valid_from, valid_to=old.valid_to) == old


@steady
@given(states(), st.sampled_from(("text", "payload", "importance", "source", "key", "status")))
def test_any_other_word_or_standing_is_a_change(state: VersionState, what: str) -> None:
    old = Believed(1, "Berlin", "{}", state)
    other = {"importance": 1.0, "source": "tool", "key": "k", "status": "held"}
    new = Content("Lisbon" if what == "text" else "Berlin", '{"n":1}' if what == "payload" else "{}", b"other salt")
    changed = state._replace(**{what: other[what]}) if what in other else state  # type: ignore[arg-type]
    for succeeds in (False, True):
        plan = meet([old], new, changed, succeeds=succeeds, dated=False)
        assert (plan.ends, plan.keeps, plan.state) == ((1,), (), changed)


def test_another_beginning_counts_only_when_it_was_given() -> None:
    old = Believed(1, "Berlin", "{}", VersionState(5))
    moved = VersionState(3)
    assert meet([old], content("Berlin"), moved, succeeds=False, dated=False) == Plan()
    assert meet([old], content("Berlin"), moved, succeeds=False, dated=True) == Plan((1,), (), moved)


def test_the_picture_in_the_module() -> None:
    berlin = Believed(1, "Berlin", "{}", VersionState(0))
    plan = meet([berlin], content("Lisbon"), VersionState(5), succeeds=True, dated=False)
    assert plan == Plan((1,), ((1, VersionState(0, 5)),), VersionState(5))
    porto = meet(
        [Believed(2, "Berlin", "{}", VersionState(0, 5)), Believed(3, "Lisbon", "{}", VersionState(5))],
        content("Porto"),
        VersionState(2),
        succeeds=True,
        dated=False,
    )
    assert porto == Plan((2,), ((2, VersionState(0, 2)),), VersionState(2, 5))
