"""A campaign's folder: groups of runs as they are flown, the table of all, and what it says.

campaign.json              what is flown, see `Plan`
groups/000000.parquet      the rows of a group, whole or absent
groups/000000.npz          attitude errors over time of the group, as counts
runs.parquet, runs.csv     the table, one row a run and contender
"""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import rbgym
from rbgym.agents.campaigns.flight import SUCCESS, figures_of
from rbgym.agents.campaigns.plan import Leg, Pilot, Plan
from rbgym.agents.campaigns.statistics import Sample
from rbgym.agents.run_folder import read_json, replacing, write_json
from rbgym.arguments import count
from rbgym.quaternion import Array

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = ("run", "contender", "seed", "group")
_BINS = np.geomspace(1e-6, 180.0, 401)  # deg, of attitude errors over time
_INSTANTS = 120  # at most, of which they are kept


class Campaign:
    """The runs of a plan in a folder. runs: how many."""

    def __init__(self, plan: Plan, folder: Path, runs: int) -> None:
        self.plan, self.folder, self.runs = plan, Path(folder), count("runs", runs)

    @classmethod
    def open(cls, folder: Path | str, policies: Mapping[str, Any] | None = None) -> "Campaign":
        """The campaign of a folder. policies: those that were given as objects, by name. Raises
        ValueError for a folder that holds none."""
        path = Path(folder) / "campaign.json"
        if not path.is_file():
            raise ValueError(f"{str(folder)!r} is no campaign: it has no campaign.json")
        config = read_json(path)
        plan = dict(config["plan"])
        plan["policies"] = {**plan["policies"], **(policies or {})}
        return cls(Plan(**plan), Path(folder), config["runs"])

    @cached_property
    def pilot(self) -> Pilot:
        return Pilot(self.plan)

    @property
    def figures(self) -> list[str]:
        """Names of the figures that the task has."""
        return figures_of(self.pilot.nominal.env, self.plan.estimator)

    def fly(self, jobs: int | None = None, progress: bool = True) -> "Campaign":
        """Fly the groups that are not there yet, and write the table.

        jobs: processes, default what `joblib.parallel_config` says, or one. Killed at any moment,
        it goes on where it was. Raises ValueError for draws that cannot be, and where the folder
        holds another campaign.
        """
        import joblib

        config = {"rbgym": rbgym.__version__, "plan": self.plan.identity(), "runs": self.runs}
        self._claim(config | {"digests": self.pilot.digests()})
        if self.plan.impossible == "refuse":
            self.pilot.spread.check(self.runs, self.plan.group)
        groups = range(-(-self.runs // self.plan.group))
        missing = [one for one in groups if not self._rows(one).exists()]
        work = (joblib.delayed(_fly_group)(self.plan, self.folder, one) for one in missing)
        try:
            pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
        except ValueError:  # some backends of others give all results at the end
            pool = joblib.Parallel(n_jobs=jobs)
        done = pool(work)
        self._follow(done, len(groups) - len(missing), len(groups), progress)
        self._write(groups)
        return self

    def _claim(self, config: dict[str, Any]) -> None:
        """Write campaign.json; ValueError where there is another one. More runs may follow."""
        path = self.folder / "campaign.json"
        if path.exists():
            there = read_json(path)
            was, now = ({**one, **one["plan"], "plan": 0, "runs": 0} for one in (there, config))
            if changed := [name for name in now if was.get(name) != now[name]]:
                told = ", ".join(f"{n} {was.get(n)!r} -> {now[n]!r}" for n in changed)
                raise ValueError(
                    f"{str(self.folder)!r} holds another campaign ({told}): choose another folder"
                )
        (self.folder / "groups").mkdir(parents=True, exist_ok=True)
        write_json(path, config)

    def _rows(self, group: int) -> Path:
        return self.folder / "groups" / f"{group:06d}.parquet"

    def _follow(self, done: Iterable[dict[str, float]], before: int, of: int, shown: bool) -> None:
        """A bar with runs a second and the running success rate of each contender."""
        from tqdm import tqdm

        size, rates, total = self.plan.group, dict[str, float](), 0
        with tqdm(
            total=of * size, initial=before * size, unit="run", disable=None if shown else True
        ) as bar:
            for found in done:
                total += 1
                for name, rate in found.items():
                    rates[name] = rates.get(name, 0.0) + (rate - rates.get(name, 0.0)) / total
                bar.set_postfix({name: f"{100 * rate:.1f} %" for name, rate in rates.items()})
                bar.update(size)

    def _write(self, groups: Iterable[int]) -> None:
        """The table as Parquet and CSV."""
        import pyarrow as pa
        from pyarrow import compute, csv, parquet

        table = pa.concat_tables([parquet.read_table(self._rows(one)) for one in groups])
        table = table.filter(compute.less(table["run"], self.runs))
        with replacing(self.folder / "runs.parquet") as path:
            parquet.write_table(table, path)
        with replacing(self.folder / "runs.csv") as path:
            csv.write_csv(table, path)

    def table(self) -> "pa.Table":
        """One row a run and contender. ValueError where the campaign is not flown to its end."""
        from pyarrow import parquet

        path = self.folder / "runs.parquet"
        if not path.is_file():
            raise ValueError(f"{str(self.folder)!r} is not flown to its end: fly it again")
        return parquet.read_table(path)

    @cached_property
    def columns(self) -> dict[str, dict[str, Array]]:
        """The table's columns, of each contender, in the order of the runs."""
        table = self.table()
        names = table["contender"].to_numpy(zero_copy_only=False)
        found = {n: table[n].to_numpy(zero_copy_only=False) for n in table.column_names}
        return {
            str(one): {name: values[names == one] for name, values in found.items()}
            for one in dict.fromkeys(names)
        }

    @property
    def draws(self) -> list[str]:
        """Names of the columns that hold what was drawn."""
        names = [*next(iter(self.columns.values()))]
        return names[len(FIRST) : names.index(SUCCESS)]

    def sample(self, contender: str, figure: str) -> Sample:
        """A figure of each run."""
        own = self.columns[contender]
        return Sample(own[figure].astype(float), own["group"] if self.grouped else None)

    @property
    def grouped(self) -> bool:
        """Whether runs of a group share draws."""
        return bool(self.pilot.spread.grouped)

    def envelope(self, contender: str, quantiles: Iterable[float]) -> tuple[Array, Array]:
        """Instants [s] (m,), and quantiles (q, m) of the attitude error [deg] of the runs in flight
        then, to 5 %; from counts that groups leave behind, those of whole groups."""
        counts, time = np.zeros(()), np.zeros(0)
        for group in range(-(-self.runs // self.plan.group)):
            with np.load(self._rows(group).with_suffix(".npz")) as found:
                counts, time = counts + found[contender], found["time"]
        below = np.cumsum(counts, axis=1)
        wanted = np.asarray([*quantiles])[:, np.newaxis] * below[:, -1]
        place = (below[np.newaxis] < wanted[..., np.newaxis]).sum(axis=-1)
        return time, _BINS[np.minimum(place, len(_BINS) - 1)]


_pilots: dict[str, Pilot] = {}  # the last of this process


def _fly_group(plan: Plan, folder: Path, group: int) -> dict[str, float]:
    """Fly and write a group; the success rate of each contender."""
    if "last" not in _pilots or _pilots["last"].plan != plan:
        _pilots["last"] = Pilot(plan)
    pilot = _pilots["last"]
    legs = {name: pilot.fly(group, name) for name in plan.policies}
    _write_group(folder / "groups" / f"{group:06d}.parquet", group, legs)
    return {name: float(leg.flight.success.mean()) for name, leg in legs.items()}


def _write_group(path: Path, group: int, legs: Mapping[str, Leg]) -> None:
    """The rows of a group, written last: they say that it is flown."""
    import pyarrow as pa
    from pyarrow import parquet

    time = next(iter(legs.values())).flight.time
    counts: dict[str, Any] = {name: _counts(leg) for name, leg in legs.items()}
    counts["time"] = time[:: _stride(len(time))]
    with replacing(path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **counts)
    rows = [leg_rows(name, group, leg) for name, leg in legs.items()]
    n, k = len(rows[0]["run"]), len(rows)
    order = np.arange(n * k).reshape(k, n).T.ravel()  # run by run
    table = {name: np.concatenate([one[name] for one in rows])[order] for name in rows[0]}
    with replacing(path) as temporary:
        parquet.write_table(pa.table(table), temporary)


def leg_rows(name: str, group: int, leg: Leg) -> dict[str, Any]:
    """The columns of the table, of the runs of a group as one contender flew them."""
    n, flight = len(leg.seeds), leg.flight
    return {
        "run": np.array(leg.runs, dtype=np.int64),
        "contender": np.array([name] * n),
        "seed": np.array(leg.seeds, dtype=np.int64),
        "group": np.full(n, group, dtype=np.int64),
        **leg.columns,
        SUCCESS: flight.success,
        **flight.figures,
        "seconds": flight.seconds,
        "ended": flight.ended,
    }


def _stride(instants: int) -> int:
    return math.ceil(instants / _INSTANTS)


def _counts(leg: Leg) -> NDArray[np.int64]:
    """How many runs have which attitude error, (instants, bins)."""
    angle = np.degrees(leg.flight.angle[:: _stride(len(leg.flight.angle))])
    found = np.zeros((len(angle), len(_BINS) + 1), dtype=np.int64)
    for row, values in zip(found, angle, strict=True):
        bins = np.searchsorted(_BINS, values[np.isfinite(values)])
        row += np.bincount(bins, minlength=len(_BINS) + 1)
    return found
