"""Times as other stores write them, floored exactly to milliseconds.

Each unit is a row of `UNITS`: how a JSON value of that unit becomes milliseconds
since 1970 UTC, and what is said of a value that does not.
"""

from __future__ import annotations

import re

MIN_MS, MAX_MS = -(2**63), 2**63 - 1
"""The range of a time in milliseconds (int64)."""

TIME_UNITS = ("ms", "s", "us", "ns", "rfc3339")

PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
"""Integer units: how many of them make one millisecond."""

_LONGEST_INTEGER = 40  # digits; far beyond int64 in any unit, short enough to convert at once
_SECONDS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"([Zz]|([+-])([0-9]{2}):([0-9]{2}))?"
)
_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)
_DAYS_TO_1970 = 719_528  # from 0000-01-01 in the proleptic Gregorian calendar


class NoOffset(ValueError):
    """Raised for an RFC 3339 time that is right but for its missing UTC offset."""


def in_range(millis: int) -> bool:
    """Tell whether a time in milliseconds is an int64."""
    return MIN_MS <= millis <= MAX_MS


def integer_ms(literal: str, per_ms: int) -> int | None:
    """Floor an integer literal to milliseconds; None when it is beyond int64."""
    if len(literal) > _LONGEST_INTEGER:
        return None
    millis = int(literal) // per_ms
    return millis if in_range(millis) else None


def seconds_ms(literal: str) -> int | None:
    """Floor a decimal literal of seconds (no exponent) to milliseconds; None beyond int64."""
    found = _SECONDS.fullmatch(literal)
    if found is None:
        raise ValueError(literal)
    sign, whole, fraction = found.group(1), found.group(2), found.group(3) or ""
    if len(whole) > _LONGEST_INTEGER:
        return None
    millis = int(whole) * 1000 + int(fraction[:3].ljust(3, "0"))
    if sign:
        millis = -millis - bool(fraction[3:].strip("0"))
    return millis if in_range(millis) else None


def rfc3339_ms(text: str) -> int | None:
    """Floor an RFC 3339 time to milliseconds; None when it is not one.

    Years run from 0000 to 9999, second 60 counts as the next second. Raises
    `NoOffset` for a time that lacks nothing but its offset.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    offset = int(found.group(10) or 0), int(found.group(11) or 0)
    if not (1 <= month <= 12 and 1 <= day <= _days_in_month(year, month)):
        return None
    if hour > 23 or minute > 59 or second > 60 or offset[0] > 23 or offset[1] > 59:
        return None
    if found.group(8) is None:
        raise NoOffset(text)
    minutes = (_days_since_1970(year, month, day) * 24 + hour) * 60 + minute
    east = offset[0] * 60 + offset[1]
    minutes += east if found.group(9) == "-" else -east
    fraction = (found.group(7) or "")[:3].ljust(3, "0")
    return (minutes * 60 + second) * 1000 + int(fraction)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in_month(year: int, month: int) -> int:
    days = _DAYS_BEFORE_MONTH[month] - _DAYS_BEFORE_MONTH[month - 1]
    return days + (month == 2 and _is_leap(year))


def _days_since_1970(year: int, month: int, day: int) -> int:
    leaps = (year + 3) // 4 - (year + 99) // 100 + (year + 399) // 400  # in the years before
    days = year * 365 + leaps + _DAYS_BEFORE_MONTH[month - 1] + day - 1
    return days + (month > 2 and _is_leap(year)) - _DAYS_TO_1970
