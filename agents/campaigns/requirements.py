"""Requirements on the figures of a campaign, and whether its runs show that they are met."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.campaigns.flight import SUCCESS
from rbgym.agents.campaigns.statistics import Sample, least_runs, share_bounds, shown_at
from rbgym.arguments import number
from rbgym.envs.arguments import keys
from rbgym.quaternion import Array

MET, NOT_MET, UNDECIDED = "met", "not met", "undecided"
_MOST = 1e9  # runs beyond which nobody decides


class Verdict(NamedTuple):
    """value: what the runs have, with its interval. margin: to the limit, negative beyond it.
    shown: confidence at which they show the requirement to be met. decides: about how many runs
    would decide what is undecided, None for what is not, or beyond a billion."""

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
    share has it. confidence: one-sided, at which that is to be shown."""

    figure: str
    share: float
    confidence: float
    limit: float
    at_most: bool

    @classmethod
    def read(cls, require: Any, figures: Iterable[str]) -> list["Requirement"]:
        """Those of {figure: {"quantile": p, "confidence": c, "at_most": limit}}, or of lists of
        such; ValueError for what is none, and for figures that the task does not have."""
        given = keys("require", require, [SUCCESS, *figures])
        return [
            cls._read(f"require[{figure!r}]", figure, one)
            for figure, value in given.items()
            for one in (value if isinstance(value, list | tuple) else [value])
        ]

    @classmethod
    def _read(cls, argument: str, figure: str, value: Any) -> "Requirement":
        of_success = figure == SUCCESS
        sides = ("at_least",) if of_success else ("at_most", "at_least")
        share = "at_least" if of_success else "quantile"
        given = keys(argument, value, {share: 0, "confidence": 0, **dict.fromkeys(sides)})
        shares = {"confidence": 0.95} | {n: given[n] for n in (share, "confidence") if n in given}
        side = [name for name in sides if name in given]
        limit = 1.0 if of_success else number(given.get(side[0] if side else ""))
        if len(side) != 1 or not math.isfinite(limit):
            raise ValueError(f"{argument} must have one number {' or '.join(sides)}, got {value!r}")
        for name in (share, "confidence"):
            if not 0.0 < number(shares.get(name)) < 1.0:
                raise ValueError(f"{argument}: {name} must be between 0 and 1, got {value!r}")
        return cls(figure, float(shares[share]), float(shares["confidence"]), limit,
                   side[0] == "at_most")  # fmt: skip

    def __str__(self) -> str:
        if self.figure == SUCCESS:
            return f"success of {100 * self.share:g} %"
        side = "at most" if self.at_most else "at least"
        return f"{self.figure} of {100 * self.share:g} % {side} {self.limit:g}"

    def check(self, runs: int) -> None:
        """Raise ValueError where so many runs cannot show it, even if none fails."""
        if runs < (least := least_runs(self.share, self.confidence)):
            raise ValueError(
                f"runs must be at least {least} for a requirement on {100 * self.share:g} % of all "
                f"at a confidence of {self.confidence:g} ({self}), got {runs}"
            )

    def missed(self, values: Array) -> NDArray[np.bool_]:
        """Which of the runs are beyond the limit."""
        return np.asarray(values > self.limit if self.at_most else values < self.limit)

    def judge(self, sample: Sample) -> Verdict:
        """What the runs say of it: it is met where the lower bound of the share within the limit is
        no less than the one asked for, and not met where the upper bound is."""
        hits = (~self.missed(sample.values)).astype(np.float64)
        n, within = sample.effective(hits), float(hits.mean())
        low, high = share_bounds(within * n, n, self.confidence)
        verdict = MET if low >= self.share else NOT_MET if high < self.share else UNDECIDED
        decides = None
        if verdict == UNDECIDED and (least := self._decides(within)):
            decides = math.ceil(least * len(hits) / n)
        sign = 1.0 if self.at_most else -1.0
        if self.figure == SUCCESS:
            limit, of = self.share, share_bounds(within * n, n, 0.5 * (1.0 + self.confidence))
            value, *ends = within, *of
        else:
            signed = Sample(sign * sample.values, sample.groups)
            limit = self.limit
            value, *ends = (sign * one for one in signed.quantile(self.share, self.confidence))
        shown = shown_at(self.share, within * n, n)
        margin = sign * (limit - value)
        return Verdict(value, min(ends), max(ends), limit, margin, shown, verdict, decides)

    def _decides(self, within: float) -> int | None:
        """The fewest independent runs, to one in a hundred, that decide if this share is within."""
        n = float(least_runs(self.share, self.confidence))
        while n < _MOST:
            low, high = share_bounds(within * n, n, self.confidence)
            if low >= self.share or high < self.share:
                return math.ceil(n)
            n *= 1.01
        return None
