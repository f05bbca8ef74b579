"""Elements of an orbit in catalogue format, and the places of Earth and Sun at a date.

Angles are measured from the mean equinox of date, in the equatorial plane and in the ecliptic;
UT1 is approximated by UTC, with an error below a second.

Sources: Hoots & Roehrich (1980), Spacetrack Report No. 3, for the format; Vallado (2013),
Fundamentals of Astrodynamics and Applications, equation 3-47, for sidereal time; The Astronomical
Almanac, section C, for the Sun to a hundredth of a degree from 1950 to 2050.
"""

import math
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from rbgym.envs.arguments import in_range
from rbgym.envs.parts.geomagnetism import EAST

SUN_RATE = 0.98564736 / 360.0 / 86400.0  # of the mean longitude [turns/s]
_J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
_DAY = timedelta(days=1)
_FIRST, _LAST = 1957, 2056  # years that two digits identify


def moment(argument: str, value: Any) -> datetime:
    """The instant of an ISO 8601 string or an aware datetime, in UTC; ValueError for others."""
    found = None
    if isinstance(value, str | datetime):
        with suppress(ValueError, OverflowError):
            found = datetime.fromisoformat(str(value))
            found = found.astimezone(UTC) if found.tzinfo else None
    if found is None or not _FIRST <= found.year <= _LAST:
        raise ValueError(
            f"{argument} must be a moment from {_FIRST} to {_LAST} with its offset from UTC, as "
            f"'2026-03-20T14:46Z', got {value!r}"
        )
    return found


def year_of(date: datetime) -> float:
    """The decimal year."""
    first, next_ = (datetime(year, 1, 1, tzinfo=UTC) for year in (date.year, date.year + 1))
    return date.year + (date - first) / (next_ - first)


def bearings(date: datetime) -> tuple[float, float]:
    """Right ascension of the dipole's moment, and mean longitude of the Sun, in turns."""
    days = (date - _J2000) / _DAY
    greenwich = 280.46061837 + 360.98564736629 * days + 0.000387933 * (days / 36525.0) ** 2
    return (greenwich + math.degrees(EAST)) / 360.0, (280.460 + 0.98564736 * days) / 360.0


class TwoLines(NamedTuple):
    """Mean elements of a two-line element set: angles [rad], Kozai's mean motion [rad/s]."""

    date: datetime
    inclination: float
    node: float
    eccentricity: float
    perigee: float
    anomaly: float
    rate: float

    @classmethod
    def read(cls, line1: str, line2: str) -> "TwoLines":
        """The elements in two lines; ValueError names the line and the error."""
        _check("line1", line1, "1")
        _check("line2", line2, "2")
        if line1[2:7] != line2[2:7]:
            raise ValueError(f"line2 must be of satellite {line1[2:7]}, got {line2[2:7]}")
        year, day = _number("line1", line1, 18, 20, 0, 99), _number("line1", line1, 20, 32, 1, 367)
        year += 2000 if year < _FIRST % 100 else 1900
        columns = (8, 16, 0, 180), (17, 25, 0, 360), (34, 42, 0, 360), (43, 51, 0, 360)
        degrees = [_number("line2", line2, *one) for one in columns]
        inclination, node, perigee, anomaly = map(math.radians, degrees)
        eccentricity = 1e-7 * _number("line2", line2, 26, 33, 0, 9500000)
        rate = math.tau / 86400.0 * _number("line2", line2, 52, 63, 0.01, 20)
        date = datetime(int(year), 1, 1, tzinfo=UTC) + (day - 1.0) * _DAY
        if date.year != year:
            raise ValueError(f"line1[20:32] must be a day of the year {year:.0f}, got {day!r}")
        return cls(date, inclination, node, eccentricity, perigee, anomaly, rate)


def _check(name: str, line: Any, first: str) -> None:
    """ValueError unless a line of 69 columns begins with its number, ends with its checksum."""
    if not isinstance(line, str) or not line.isascii() or len(line) != 69:
        raise ValueError(f"{name} must be a string of 69 ASCII characters, got {line!r}")
    if not line.startswith(f"{first} "):
        raise ValueError(f"{name} must begin with '{first} ', got {line!r}")
    total = sum(int(c) if c.isdigit() else c == "-" for c in line[:68]) % 10
    if line[68] != str(total):
        raise ValueError(f"{name} must end with its checksum {total}, got {line!r}")


def _number(name: str, line: str, first: int, last: int, low: float, high: float) -> float:
    found = math.nan
    with suppress(ValueError):
        found = float(line[first:last])
    return in_range(f"{name}[{first}:{last}] of {line[first:last]!r}", found, low, high)
