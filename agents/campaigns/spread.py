"""What is drawn of a campaign, and the draws of each run: functions of seed and run alone."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rbgym.agents.campaigns.distributions import Distribution
from rbgym.agents.campaigns.nominal import GROUP, Nominal, Place
from rbgym.arguments import finite, hint
from rbgym.envs.arguments import keys, named
from rbgym.quaternion import Array

IMPOSSIBLE = "refuse", "redraw"
_TRIES = 1000  # that a run or group is drawn anew
_RUN, _GROUP, _SEED = 0, 1, 2  # of the counter: what is drawn
_COVARIANCE = "covariance"
_TINY = 2.0**-54  # so that no uniform number is 0

Draws = dict[str, Array]  # (n, size) of each place, by its name


class Source(NamedTuple):
    """A name of a spread: which numbers of a place it draws, and from what."""

    name: str
    place: Place
    which: list[int]
    distribution: Distribution

    @property
    def nominal(self) -> Array | None:
        """What a budget puts in the place of its draws; None where it has no such value."""
        if self.distribution.nominal is not None:
            return np.full(len(self.which), self.distribution.nominal)
        return None if self.place.nominal is None else self.place.nominal[self.which]

    def draw(self, u: Array) -> Array:
        """Numbers (n, size) of uniform ones."""
        found = self.distribution.at(u)
        return found * self.place.nominal[self.which] if self.distribution.factor else found


class Covariance(NamedTuple):
    """Normal numbers that vary together. places: the place of each, and which of its numbers."""

    name: str
    places: list[tuple[Place, int]]
    mean: Array
    root: Array  # lower triangular, root @ root.T is the covariance

    @property
    def nominal(self) -> Array | None:
        found = [None if place.nominal is None else place.nominal[k] for place, k in self.places]
        return None if None in found else np.array(found)


class Spread:
    """The sources of a campaign. spread: distributions by name, see docs/campaign.md. seed: of all
    draws. without: the name of a source that stays at its nominal value.

    Draws come from Philox, keyed by seed and run (or group), with the source's name in the counter:
    they depend neither on other runs nor on other sources.
    """

    def __init__(
        self, spread: Mapping[str, Any], nominal: Nominal, seed: int, without: str | None = None
    ) -> None:
        self.nominal, self.seed, self.without = nominal, seed, without
        given = {**names_checked(spread)}
        blocks = given.pop(_COVARIANCE, [])
        self.sources = [self._source(name, value) for name, value in given.items()]
        listed = [blocks] if isinstance(blocks, Mapping) else blocks
        self.together = [self._covariance(k, one) for k, one in enumerate(listed)]
        drawn = [one.place.columns[k] for one in self.sources for k in one.which]
        drawn += [place.columns[k] for one in self.together for place, k in one.places]
        if twice := sorted({one for one in drawn if drawn.count(one) > 1}):
            raise ValueError(f"spread must draw each number once, got {twice} twice")
        if (turns := {*drawn} & {"attitude_angle"}) and any(d.startswith("attitude.") for d in drawn):
            raise ValueError(f"spread must draw attitude or attitude_angle, got {turns} and attitude")
        self.columns = drawn
        if without is not None:
            known = [one.name for one in self.of_budget]
            if without not in known:
                raise ValueError(f"budget must leave out one of {known}, got {without!r}")

    @property
    def of_budget(self) -> list[Source | Covariance]:
        """The sources that have a nominal value."""
        return [one for one in (*self.sources, *self.together) if one.nominal is not None]

    @property
    def grouped(self) -> list[str]:
        """Names of what is drawn for a group of runs at once."""
        found = [(one.name, one.place) for one in self.sources]
        found += [(one.name, place) for one in self.together for place, _ in one.places]
        return [*dict.fromkeys(name for name, place in found if place.level == GROUP)]

    def _source(self, name: str, value: Any) -> Source:
        place, which = self.nominal.find(name)
        argument = f"spread[{name!r}]"
        one = Source(name, place, which, Distribution.read(argument, value))
        how = one.distribution
        if how.factor and (place.nominal is None or not place.nominal[which].all()):
            raise ValueError(f"{argument} must not be a factor, as its nominal value is 0 or drawn")
        if how.values is not None and how.values.ndim == 2 and how.values.shape[1] != len(which):
            raise ValueError(
                f"{argument}: values must be rows of {len(which)} numbers, got {how.values.shape[1]}"
            )
        if name == "quaternion" and (how.values is None or how.values.ndim != 2):
            raise ValueError(f"{argument} must have rows of values, or draw attitude, got {value!r}")
        return one

    def _covariance(self, k: int, value: Any) -> Covariance:
        argument = f"spread[{_COVARIANCE!r}][{k}]"
        given = keys(argument, value, ("names", "mean", "matrix"))
        found = [self.nominal.find(name) for name in given.get("names") or ()]
        places = [(place, i) for place, which in found for i in which]
        n = len(places)
        if n < 2 or "matrix" not in given:
            raise ValueError(f"{argument} must have names of numbers and their matrix, got {value!r}")
        if len({place.level == GROUP for place, _ in places}) > 1:
            raise ValueError(
                f"{argument} must name numbers of runs or numbers of groups, got both: "
                f"{given['names']}"
            )
        matrix = finite(f"{argument}: matrix", given["matrix"], (n, n))
        own = [np.nan if place.nominal is None else place.nominal[i] for place, i in places]
        mean = finite(f"{argument}: mean", given.get("mean", own), (n,))
        try:
            if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
                raise np.linalg.LinAlgError
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{argument}: matrix must be symmetric and positive definite, got {given['matrix']!r}"
            ) from None
        return Covariance("+".join(given["names"]), places, mean, root)

    def seeds(self, runs: Sequence[int]) -> list[int]:
        """Seeds of the env's own draws, which no test set or training has."""
        drawn = (self._philox(_SEED, run, "", 0).random_raw() for run in runs)
        return [int(one) >> 2 | 1 << 62 for one in drawn]

    def of_runs(self, runs: Sequence[int], impossible: str = "redraw") -> tuple[Draws, Array]:
        """What each run draws, and how often it was drawn anew, (n,). impossible: "refuse" to leave
        draws as they are. ValueError where none of 1000 draws of a run is possible."""
        tries = np.zeros(len(runs), dtype=np.int64)
        found = self._draw(_RUN, runs, tries)
        while impossible == "redraw" and not (good := self.nominal.possible(found)).all():
            tries[~good] += 1
            if tries.max() >= _TRIES:
                raise ValueError(
                    f"spread must make possible bodies, got none in {_TRIES} draws of run "
                    f"{runs[int(tries.argmax())]}"
                )
            anew = self._draw(_RUN, [runs[k] for k in np.flatnonzero(~good)], tries[~good])
            for name, values in anew.items():
                found[name][~good] = values
        return found, tries

    def of_group(self, group: int, impossible: str = "redraw") -> tuple[Draws, dict[str, Any]]:
        """What a group of runs draws, (1, size), and the arguments of its env. ValueError where no
        env can be made of it."""
        for attempt in range(_TRIES if impossible == "redraw" else 1):
            found = self._draw(_GROUP, [group], np.array([attempt]))
            changes = self.nominal.arguments({name: one[0] for name, one in found.items()})
            try:
                if changes:
                    self.nominal.make(1, changes).close()
            except ValueError as error:
                last = error
            else:
                return found, changes
        raise ValueError(f"spread draws, for group {group}, what cannot be: {last}") from last

    def check(self, runs: int, size: int) -> None:
        """Raise ValueError where draws of the runs, or of groups of `size`, cannot be: how many."""
        draws, _ = self.of_runs(range(runs), "refuse")
        bad = int((~self.nominal.possible(draws)).sum())
        why, groups = "", -(-runs // size) if self.grouped else 0
        for group in range(groups):
            try:
                self.of_group(group, "refuse")
            except ValueError as error:
                bad, why = bad + min(size, runs - group * size), f": {error}"
        if bad:
            raise ValueError(
                f"spread must make possible bodies, got {bad} of {runs} runs that cannot be{why}; "
                'impossible="redraw" draws them anew'
            )

    def _draw(self, kind: int, of: Sequence[int], tries: Array) -> Draws:
        """Numbers of each place that is drawn for runs or for groups; those of it that are not are
        nominal."""
        found: Draws = {}

        def put(place: Place, which: int | list[int], values: Array) -> None:
            if place.name not in found:
                start = np.zeros(len(place.labels)) if place.nominal is None else place.nominal
                found[place.name] = np.tile(start, (len(of), 1))
            found[place.name][:, which] = values

        for one in self.sources:
            if (one.place.level == GROUP) == (kind == _GROUP):
                drawn = one.draw(self._uniform(kind, of, one.name, tries, len(one.which)))
                kept = one.name == self.without
                values = one.nominal if kept else drawn if drawn.ndim == 2 else drawn[:, np.newaxis]
                put(one.place, one.which, values)
        for both in self.together:
            if (both.places[0][0].level == GROUP) == (kind == _GROUP):
                from scipy.stats import norm

                u = self._uniform(kind, of, both.name, tries, len(both.places))
                values = both.mean + norm.ppf(u) @ both.root.T
                values = both.nominal if both.name == self.without else values
                for k, (place, which) in enumerate(both.places):
                    put(place, which, values[..., k])
        return found

    def _uniform(self, kind: int, of: Sequence[int], name: str, tries: Array, size: int) -> Array:
        """Uniform numbers in (0, 1), (n, size)."""
        return np.array([
            np.random.Generator(self._philox(kind, one, name, int(attempt))).random(size) + _TINY
            for one, attempt in zip(of, tries, strict=True)
        ])  # fmt: skip

    def _philox(self, kind: int, of: int, name: str, attempt: int) -> Any:
        counter = [0, attempt, zlib.crc32(name.encode()), kind]
        return np.random.Philox(counter=counter, key=[self.seed, of])


def names_checked(spread: Any) -> Mapping[str, Any]:
    """The spread; ValueError where it is no dict of distributions by name."""
    if not isinstance(spread, Mapping) or not all(isinstance(name, str) for name in spread):
        raise ValueError(f"spread must be a dict of distributions by name, got {spread!r}")
    return spread


def drawn_names(spread: Mapping[str, Any]) -> list[str]:
    """All names of a spread, those of its covariances among them."""
    blocks = names_checked(spread).get(_COVARIANCE, [])
    listed = [blocks] if isinstance(blocks, Mapping) else blocks
    within = [n for one in listed if isinstance(one, Mapping) for n in one.get("names") or ()]
    return [*(name for name in spread if name != _COVARIANCE), *within]
