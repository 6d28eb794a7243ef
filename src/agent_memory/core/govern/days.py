"""Where the days of budgets begin and end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from agent_memory.models.errors import InvalidInput


def zone_named(name: str) -> tzinfo:
    """Where the days of budgets begin."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise InvalidInput(
            f"AGENT_MEMORY_BUDGET_ZONE: there is no time zone {name!r} here",
            hint="use UTC, or a name such as Europe/Berlin; where the system knows none, `pip install tzdata`",
            field="budget_zone",
        ) from error


def today(now: datetime, zone: tzinfo) -> str:
    return now.astimezone(zone).date().isoformat()


def midnight(now: datetime, zone: tzinfo = UTC) -> datetime:
    """When the next day begins there."""
    tomorrow = now.astimezone(zone).date() + timedelta(days=1)
    return datetime.combine(tomorrow, datetime.min.time(), zone)
