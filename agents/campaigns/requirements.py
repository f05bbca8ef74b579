"""Requirements on the figures of a campaign, and whether its runs show that they are met."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.campaigns.flight import SUCCESS
from rbgym.agents.campaigns.statistics import Sample, least_runs, quantile, share_bounds
from rbgym.arguments import number
from rbgym.envs.arguments import keys
from rbgym.quaternion import Array

MET, NOT_MET, UNDECIDED = "met", "not met", "undecided"
_MOST = 10**9  # runs beyond which nobody decides


class Verdict(NamedTuple):
    """value: what the runs have, with its interval. margin: to the limit, negative beyond it.
    shown: confidence at which they show the requirement to be met. verdict: one of met, not met and
    undecided. decides: about how many runs would decide it, None where that cannot be told."""

    value: float
    low: float
    high: float
    limit: float
    margin: float
    shown: float
    verdict: str
    decides: int | None


@dataclass(frozen=True)
class Requirement:
    """That a share of all runs has a figure of at most, or at least, a limit; of success that the
    share itself is at least a limit. confidence: one-sided, at which that is to be shown."""

    figure: str
    share: float
    confidence: float
    limit: float
    at_most: bool

    @classmethod
    def read(cls, require: Any, figures: Iterable[str]) -> list["Requirement"]:
        """Those of {figure: {"quantile": p, "confidence": c, "at_most": limit}}, or of lists of
        such; ValueError for what is none, and for figures that the task does not have."""
        known = [SUCCESS, *figures]
        found = []
        for figure, value in keys("require", require, known).items():
            listed = value if isinstance(value, list | tuple) else [value]
            found += [cls._read(f"require[{figure!r}]", figure, one) for one in listed]
        return found

    @classmethod
    def _read(cls, argument: str, figure: str, value: Any) -> "Requirement":
        if figure == SUCCESS:
            given = keys(argument, value, ("at_least", "confidence"))
            share = _share(f"{argument}: at_least", given.get("at_least"))
            return cls(figure, share, _confidence(argument, given), 1.0, False)
        given = keys(argument, value, ("quantile", "confidence", "at_most", "at_least"))
        share = _share(f"{argument}: quantile", given.get("quantile"))
        sides = [name for name in ("at_most", "at_least") if name in given]
        if len(sides) != 1 or not math.isfinite(number(given[sides[0]])):
            raise ValueError(f"{argument} must have one number at_most or at_least, got {value!r}")
        limit, at_most = number(given[sides[0]]), sides[0] == "at_most"
        return cls(figure, share, _confidence(argument, given), limit, at_most)

    def __str__(self) -> str:
        side = "at most" if self.at_most else "at least"
        if self.figure == SUCCESS:
            return f"success at least {100 * self.share:g} %"
        return f"{self.figure} of {100 * self.share:g} % {side} {self.limit:g}"

    def check(self, runs: int) -> None:
        """Raise ValueError where so many runs cannot show it, even if none fails."""
        if runs < (least := least_runs(self.share, self.confidence)):
            raise ValueError(
                f"runs must be at least {least} for {self.figure} of {100 * self.share:g} % of all "
                f"at a confidence of {self.confidence:g}, got {runs}"
            )

    def missed(self, values: Array) -> NDArray[np.bool_]:
        """Which of the runs are beyond the limit."""
        return np.asarray(values > self.limit if self.at_most else values < self.limit)

    def judge(self, sample: Sample) -> Verdict:
        """What the runs say of it."""
        sign = 1.0 if self.at_most else -1.0
        values, hits = sign * sample.values, (~self.missed(sample.values)).astype(float)
        n, within = sample.effective(hits), float(hits.mean())
        low, high = share_bounds(within * n, n, self.confidence)
        verdict = MET if low >= self.share else NOT_MET if high < self.share else UNDECIDED
        if self.figure == SUCCESS:
            both = share_bounds(within * n, n, 0.5 * (1.0 + self.confidence))
            value, limit, ends = within, self.share, both
            margin = value - limit
        else:
            signed = quantile(Sample(values, sample.groups), self.share, self.confidence)
            value, limit, margin = sign * signed.value, self.limit, sign * self.limit - signed.value
            ends = (sign * signed.low, sign * signed.high)
        per_run = len(values) / n
        decides = _decides(within, self.share, self.confidence) if verdict == UNDECIDED else None
        return Verdict(
            value, min(ends), max(ends), limit, margin, _shown(within * n, n, self.share), verdict,
            None if decides is None else math.ceil(decides * per_run),
        )  # fmt: skip


def _share(argument: str, value: Any) -> float:
    if not 0.0 < number(value) < 1.0:
        raise ValueError(f"{argument} must be between 0 and 1, got {value!r}")
    return number(value)


def _confidence(argument: str, given: Mapping[str, Any]) -> float:
    return _share(f"{argument}: confidence", given.get("confidence", 0.95))


def _shown(hits: float, n: float, share: float) -> float:
    """The largest one-sided confidence at which the lower bound of the share is the wanted one."""
    from scipy.stats import beta

    return 0.0 if hits <= 0.0 else float(beta.sf(share, hits, n - hits + 1.0))


def _decides(within: float, share: float, confidence: float) -> int | None:
    """The fewest independent runs, to one in a hundred, that decide if this share of them is
    within; None beyond a billion."""
    n = float(least_runs(share, confidence))
    while n < _MOST:
        low, high = share_bounds(within * n, n, confidence)
        if low >= share or high < share:
            return math.ceil(n)
        n *= 1.01
    return None
