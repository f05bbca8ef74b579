"""Flies one run of a campaign again, and records its full telemetry."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import Table, csv

from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.judge import videos
from rbgym.agents.judge.episodes import Player
from rbgym.agents.run_folder import replacing
from rbgym.arguments import count
from rbgym.envs.arguments import named
from rbgym.envs.rendering.instant import Trail, scene_of
from rbgym.envs.rendering.painter import Painter
from rbgym.quaternion import Array, multiply

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NO_TELEMETRY = "angle", "rate_error", "reached", "cost", "shown", "relative"
_AXES = {"quaternion": "wxyz", "target_quaternion": "wxyz", "estimate": "wxyz",
         "angular_velocity": "xyz", "torque": "xyz"}  # fmt: skip
_SIZE = 360  # pixels of a film


@dataclass(frozen=True)
class Replay:
    """A run flown again. row: of the table, by column. time: instants [s], (m,). telemetry:
    (m, size) by name: quaternion, target_quaternion and estimate (of the estimator or the sensors),
    body to world; angular_velocity [rad/s] and torque [N m], body axes; wheel_momentum [N m s];
    attitude_error [rad]; command. Those of a control period are at its start; the last are nan."""

    run: int
    contender: str
    row: dict[str, Any]
    time: Array
    telemetry: dict[str, Array]

    @classmethod
    def of(
        cls, campaign: Campaign, run: int, contender: str | None = None,
        video: Path | str | None = None,
    ) -> "Replay":  # fmt: skip
        """Fly the run's group again as the campaign did, to the last bit. contender: by default the
        first. video: a film to write, .mp4 or .gif. ValueError for an unknown run or contender."""
        if video is not None:
            videos.require(video := Path(video))
        if count("run", run, 0) >= campaign.runs:
            raise ValueError(f"run must be from 0 to {campaign.runs - 1}, got {run!r}")
        name = next(iter(campaign.plan.policies)) if contender is None else contender
        named("policy", name, campaign.plan.policies)
        group, lane = divmod(run, campaign.plan.group)
        setup, frames, trail = campaign.pilot.nominal.setup, list[Any](), Trail()
        timing = videos.Timing.of(setup.dt, int(setup.limit), Path(video or "").suffix)
        painter = None if video is None else Painter((_SIZE, _SIZE))

        def film(player: Player, instant: int) -> None:
            if painter and player.running[lane]:
                scene = scene_of(player.env, lane, trail)
                if instant % timing.stride == 0:
                    frames.append(painter.paint(scene))

        rows, flight = campaign.pilot.fly(group, name, film)
        if video is not None:
            with replacing(video) as temporary:
                videos.write(temporary, frames, timing.rate, kind=video.suffix)
        seen, m = flight.histories, flight.lengths[lane] + 1
        telemetry = {n: values[:m, lane] for n, values in seen.items() if n not in _NO_TELEMETRY}
        telemetry["attitude_error"] = seen["angle"][:m, lane, np.newaxis]
        if "shown" in seen:
            shown = seen["shown"][:m, lane]
            telemetry["estimate"] = multiply(telemetry["target_quaternion"][: len(shown)], shown)
        for n, values in telemetry.items():
            telemetry[n] = np.pad(values, ((0, m - len(values)), (0, 0)), constant_values=np.nan)
        row = {n: values[lane] for n, values in rows.items()}
        return cls(run, name, row, flight.dt * np.arange(m), telemetry)

    def differs(self, campaign: Campaign) -> list[str]:
        """Columns that differ from the table; none on a machine with the same rounding."""
        there = campaign.columns[self.contender]  # compared as text, as nan differs from nan
        return [n for n, value in self.row.items() if str(there[n][self.run]) != str(value)]

    def write_csv(self, path: Path) -> None:
        table = {"time": self.time}
        for name, values in self.telemetry.items():
            labels = _AXES.get(name, range(values.shape[1]))
            table |= dict(zip([f"{name}.{one}" for one in labels], values.T, strict=True))
        with replacing(path) as temporary:
            csv.write_csv(Table.from_pydict(table), temporary)

    def figure(self) -> "Figure":
        """Plot attitude error, rates, momenta of wheels, torque and commands over time."""
        from rbgym.plot import style

        labels = {"attitude_error": "error [deg]", "angular_velocity": "rates [deg/s]",
                  "wheel_momentum": "wheels [N m s]", "torque": "torque [N m]",
                  "command": "commands"}  # fmt: skip
        shown = [name for name in labels if name in self.telemetry]
        with style.context():
            title = f"run {self.run}, {self.contender}: {self.row['ended']}"
            figure = style.picture(7.0, 1.5 * len(shown), title)
            axes = style.rows(figure, len(shown))
            for ax, name in zip(axes, shown, strict=True):
                values = self.telemetry[name]
                values = np.degrees(values) if "deg" in labels[name] else values
                for k, line in enumerate(values.T):
                    ax.plot(self.time, line, label=_AXES.get(name, "1234")[k % 4], **style.line(k))
                ax.set_ylabel(labels[name])
                ax.legend()
            axes[-1].set_xlabel("time [s]")
        return figure
