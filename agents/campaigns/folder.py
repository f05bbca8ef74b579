"""A campaign's folder: a file for each group of runs, and the table of all runs.

campaign.json              the `Plan`
groups/000000.parquet      the rows of a group, whole or absent
groups/000000.npz          the attitude errors of its runs over time, to 5 %
runs.parquet, runs.csv     one row for each run and contender
"""

import json
import math
import os
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv, parquet

import rbgym
from rbgym.agents.campaigns.plan import FIGURES, SUCCESS, Pilot, Plan, checksums
from rbgym.agents.campaigns.spread import Dispersions
from rbgym.agents.campaigns.statistics import Sample
from rbgym.agents.run_folder import made_folder, read_json, replacing, write_json
from rbgym.agents.terminal import bar
from rbgym.arguments import count
from rbgym.envs.arguments import keys
from rbgym.envs.layers import plain, rebuilt
from rbgym.quaternion import Array

_FIRST = 4  # columns in front of the draws
_BINS = np.geomspace(1e-6, 180.0, 401)  # deg, of attitude errors; the last bin has no error
_INSTANTS = 120  # most instants of a run


class Campaign:
    """A number of runs of a plan, and the folder that holds them."""

    def __init__(self, plan: Plan, folder: Path, runs: int) -> None:
        self.plan, self.folder, self.runs = plan, Path(folder), count("runs", runs)
        self.groups = range(-(-self.runs // count("group", plan.group)))

    @classmethod
    def open(
        cls, folder: Path | str, policies: Mapping[str, Any] | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> "Campaign":  # fmt: skip
        """Open the campaign in a folder; ValueError if there is none. policies, env_kwargs: by
        name, those that are objects or functions, which the folder cannot hold."""
        config = _config(Path(folder))
        try:
            plan = Plan(**config["plan"])
            found, kwargs = dict(plan.policies), dict(plan.env_kwargs)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{str(folder)!r} holds no plan of a campaign: {error}") from None
        found |= keys("policies", policies or {}, found)
        given = keys("env_kwargs", env_kwargs or {}, kwargs)
        try:
            rest = rebuilt({n: v for n, v in kwargs.items() if n not in given})
            plan = replace(plan, policies=found, env_kwargs=rest | given)
        except ValueError as error:
            raise ValueError(f"env_kwargs must have the objects of the env: {error}") from None
        return cls(plan, Path(folder), config["runs"])

    @cached_property
    def pilot(self) -> Pilot:
        return Pilot(self.plan)

    @cached_property
    def spread(self) -> Dispersions:
        return self.plan.draws()

    @property
    def figures(self) -> list[str]:
        there = next(iter(self.columns.values()))
        return [name for name in FIGURES if name in there]

    def fly(self, jobs: int | None = None, progress: bool = False) -> "Campaign":
        """Fly the groups that are missing, and write the table. jobs: number of processes, by
        default that of `joblib.parallel_config`, or one. After an interruption at any moment, call
        it again. ValueError for impossible draws, and if the folder holds another campaign."""
        if self.plan.impossible == "refuse":
            self.spread.check(self.runs, self.plan.group)
        config = self._claim()
        left = [one for one in self.groups if not self._is_flown(one, config)]
        try:
            pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
        except ValueError:  # some backends give all results at the end
            pool = joblib.Parallel(n_jobs=jobs)
        here, rows = Path.cwd(), self._rows
        work = (joblib.delayed(_fly)(self.plan, one, rows(one), config, here) for one in left)
        try:
            with bar(hidden=not progress) as shown:
                for _ in shown.track(pool(work), total=len(left), description="groups of runs"):
                    pass
        except BrokenExecutor:
            raise ChildProcessError(
                "a process ended too early, as when memory is full: fly it again with fewer jobs"
            ) from None
        if others := sum(not self._is_flown(one, config) for one in self.groups):
            raise ValueError(
                f"{str(self.folder)!r} must be of one campaign, got {others} groups of another"
            )
        self._write(config)
        return self

    def _claim(self) -> dict[str, Any]:
        """The content of campaign.json, written if it is not there; ValueError if another campaign
        is. Its `runs`, which may differ, are those of the table."""
        path, own = self.folder / "campaign.json", plain(vars(self.plan))
        config = {"rbgym": rbgym.__version__, "digests": self.pilot.digests(), "plan": own}
        config["objects"] = checksums(self.plan.env_kwargs)
        if path.exists():
            there = _config(self.folder)
            was, now = ({**one, **one["plan"], "plan": None} for one in (there, config))
            if new := [f"{n} {was.get(n)!r} -> {v!r}" for n, v in now.items() if was.get(n) != v]:
                raise ValueError(
                    f"{str(self.folder)!r} holds another campaign ({', '.join(new)}): take another"
                )
            config = there
        elif any((self.folder / "groups").glob("*.parquet")):
            raise ValueError(f"{str(path)!r} is missing, so the runs there may be of another plan")
        made_folder(self.folder / "groups")
        if not path.exists():
            write_json(path, {"runs": self.runs} | config)
        return config

    def _rows(self, group: int) -> Path:
        return self.folder / "groups" / f"{group:06d}.parquet"

    def _is_flown(self, group: int, config: dict[str, Any]) -> bool:
        """Whether both files of a group are there, whole and of the campaign."""
        with suppress(Exception):  # what damaged data raise is any library's own
            with np.load(self._rows(group).with_suffix(".npz")) as found:
                held = dict(found)  # which checks the whole file
            return _marks(config, group, self._rows(group)) == held["marks"].tolist()
        return False

    def _write(self, config: dict[str, Any]) -> None:
        table = pa.concat_tables([parquet.read_table(self._rows(one)) for one in self.groups])
        table = table.filter(compute.less(table["run"], self.runs))
        for name, write in (("runs.parquet", parquet.write_table), ("runs.csv", csv.write_csv)):
            with replacing(self.folder / name) as path:
                write(table, path)
        write_json(self.folder / "campaign.json", config | {"runs": self.runs})

    @cached_property
    def columns(self) -> dict[str, dict[str, NDArray[Any]]]:
        """The columns (runs,) by name, of each contender: numbers, booleans (`success`) or text
        (`ended`). ValueError if runs are missing."""
        try:
            table = parquet.read_table(self.folder / "runs.parquet")
        except (OSError, ValueError):  # absent or damaged
            table = ()
        if len(table) != self.runs * len(self.plan.policies):
            raise ValueError(f"{str(self.folder)!r} lacks some of its runs: fly it again")
        found = {n: table[n].to_numpy(zero_copy_only=False) for n in table.column_names}
        names = found["contender"]
        return {
            one: {name: values[names == one] for name, values in found.items()}
            for one in dict.fromkeys(names)
        }

    @property
    def draws(self) -> dict[str, int]:
        """The columns of the draws, and the number of independent values in each."""
        names = [*next(iter(self.columns.values()))]
        grouped = (one for one in self.spread.sources if one.per_group)
        shared = {place.columns[k] for one in grouped for place, k in one.numbers}
        drawn = names[_FIRST : names.index(SUCCESS)]
        return {name: len(self.groups) if name in shared else self.runs for name in drawn}

    @property
    def shared(self) -> int:
        """The number of runs that share draws."""
        return self.plan.group if self.spread.grouped else 1

    def sample(self, contender: str, figure: str) -> Sample:
        own, grouped = self.columns[contender], self.spread.grouped
        return Sample(own[figure].astype(np.float64), own["group"] if grouped else None)

    def envelope(self, contender: str, quantiles: Iterable[float]) -> tuple[Array, Array]:
        """Instants [s] (m,), and quantiles (q, m) of the attitude error [deg], to 5 %, over the
        runs still in flight, nan without any."""
        counts: Any = 0
        for group in self.groups:
            path = self._rows(group).with_suffix(".npz")
            try:
                with np.load(path) as found:
                    bins, time = found[f"bins of {contender}"], found["time"]
            except Exception as error:  # what damaged data raise is any library's own
                raise ValueError(
                    f"{str(path)!r} is damaged or of another version: {error}"
                ) from None
            own = bins[:, : self.runs - group * self.plan.group]
            counts += np.array([np.bincount(row, minlength=len(_BINS) + 2) for row in own])
        below = np.cumsum(counts[:, :-1], axis=1)
        wanted = np.asarray([*quantiles])[:, np.newaxis] * below[:, -1]
        places = (below < wanted[..., np.newaxis]).sum(axis=-1)
        return time, np.where(below[:, -1] > 0, _BINS[np.minimum(places, len(_BINS) - 1)], np.nan)


def _config(folder: Path) -> dict[str, Any]:
    """The content of campaign.json; ValueError if it is not a campaign's."""
    config = read_json(path := folder / "campaign.json")
    if not isinstance(config.get("plan"), dict) or "runs" not in config:
        raise ValueError(f"{str(path)!r} must have a plan and its runs, got {[*config]}")
    return config


def _marks(config: dict[str, Any], group: int, rows: Path) -> list[int]:
    """Of the rows of a group: its number, and checksums of the rows and of their campaign."""
    content = json.dumps(config | {"runs": 0}, sort_keys=True).encode()
    return [group, zlib.crc32(rows.read_bytes()), zlib.crc32(content)]


def _fly(plan: Plan, group: int, path: Path, config: dict[str, Any], folder: Path) -> None:
    """Fly a group of runs, and write its two files. config: of campaign.json. folder: what paths of
    the plan are relative to. ValueError if a policy is not that of the config any more."""
    with suppress(OSError):  # another computer may not have it
        os.chdir(folder)  # a worker may be left from another campaign
    with suppress(Exception):  # what cannot be copied raises any type
        plan = deepcopy(plan)  # as in another process: no group changes an object for the next
    pilot = Pilot(plan)
    now, digests = pilot.digests(), config["digests"]
    named = [name for name, one in plan.policies.items() if isinstance(one, str)]  # read again
    if changed := [name for name in named if now.get(name) != digests.get(name)]:
        raise ValueError(f"policies must stay the same while a campaign flies, not so {changed}")
    setup, rows, bins = pilot.nominal.setup, list[dict[str, Any]](), dict[str, Any]()
    steps = int(setup.limit) + 1
    instants = np.arange(0, steps, math.ceil(steps / _INSTANTS))
    for name in plan.policies:
        found, flight = pilot.fly(group, name)
        rows.append(found)
        bins[f"bins of {name}"] = _bins(flight.histories["angle"], instants)
    # All contenders of a run stand together.
    table = {name: np.stack([one[name] for one in rows], axis=1).ravel() for name in rows[0]}
    with replacing(path) as whole:  # replaced last, as it marks the group as flown
        parquet.write_table(pa.Table.from_pydict(table), whole)
        bins |= {"time": setup.dt * instants, "marks": np.array(_marks(config, group, whole))}
        with replacing(path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **bins)


def _bins(angle: Array, instants: NDArray[np.int64]) -> NDArray[np.uint16]:
    """The bins of the attitude error (m, n) [rad] of n runs, (instants, n)."""
    seen = np.degrees(angle[instants[instants < len(angle)]])
    found = np.where(np.isfinite(seen), np.searchsorted(_BINS, seen), none := len(_BINS) + 1)
    ended = (0, len(instants) - len(seen)), (0, 0)
    return np.pad(found.astype(np.uint16), ended, constant_values=none)
