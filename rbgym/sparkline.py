"""Small curves as inline SVG, in the colour of the text around them."""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from rbgym.arguments import Array

_WIDTH, _HEIGHT, _LEFT, _BELOW = 220.0, 90.0, 46.0, 16.0
_BUCKETS = 160
_DASHES = ("", "6 3", "1.5 2.5", "6 2 1.5 2")


def sparkline(title: str, time: Array, curves: Sequence[Array]) -> str:
    """Curves over time [s], dashed differently; title says what they are, with the unit.

    A curve of many points shows the least and the largest of each stretch of time.
    """
    finite = np.concatenate([values[np.isfinite(values)] for values in curves])
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    lines = "".join(
        f'<polyline points="{_points(time, values, float(low), float(high))}" '
        f'stroke-dasharray="{_DASHES[k % len(_DASHES)]}"/>'
        for k, values in enumerate(curves)
    )
    size = f"{_LEFT + _WIDTH:g} {_HEIGHT + _BELOW + 8:g}"
    end = f"{time[-1]:.4g} s"
    return (
        f'<div><div style="font-size:85%">{escape(title)}</div>'
        f'<svg viewBox="0 -8 {size}" width="{_LEFT + _WIDTH:g}" role="img" fill="none" '
        'stroke="currentColor" stroke-width="1.2" style="max-width:100%">'
        f"<title>{escape(title)}</title>{lines}"
        f'<path d="M{_LEFT} 0V{_HEIGHT}H{_LEFT + _WIDTH}" stroke-opacity="0.4"/>'
        '<g fill="currentColor" stroke="none" font-size="10" text-anchor="end">'
        f'<text x="{_LEFT - 4}" y="4">{high:.3g}</text>'
        f'<text x="{_LEFT - 4}" y="{_HEIGHT}">{low:.3g}</text>'
        f'<text x="{_LEFT + _WIDTH}" y="{_HEIGHT + 13}">{escape(end)}</text></g></svg></div>'
    )


def _points(time: Array, values: Array, low: float, high: float) -> str:
    kept = _outline(values)
    span = (time[-1] - time[0]) or 1.0
    x = _LEFT + _WIDTH * (time[kept] - time[0]) / span
    # A constant lies in the middle.
    share = (values[kept] - low) / (high - low) if high > low else np.full(len(kept), 0.5)
    return " ".join(f"{a:.1f},{_HEIGHT * (1 - b):.1f}" for a, b in zip(x, share, strict=True))


def _outline(values: Array) -> NDArray[np.intp]:
    """Indices that tell the curve: all of a short one, else two a stretch; finite values alone."""
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) <= 2 * _BUCKETS:
        return finite
    parts = np.array_split(finite, _BUCKETS)
    ends = [(part[values[part].argmin()], part[values[part].argmax()]) for part in parts]
    return np.unique(ends)
