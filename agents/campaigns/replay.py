"""One run of a campaign flown again, with all that can be told of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rbgym.agents.campaigns.folder import Campaign, leg_rows
from rbgym.agents.run_folder import replacing
from rbgym.envs.arguments import named
from rbgym.quaternion import Array, multiply

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AXES = {3: "xyz", 4: "wxyz"}
_QUATERNIONS = ("quaternion", "target_quaternion", "estimate")


class _Camera:
    """Pictures of one lane, in flight."""

    def __init__(self, campaign: Campaign, lane: int, size: int = 360) -> None:
        from rbgym.agents.judge.videos import Timing
        from rbgym.envs.rendering.instant import Trail
        from rbgym.envs.rendering.painter import Painter

        env = campaign.pilot.nominal.env
        self.lane, self.trail, self.painter = lane, Trail(), Painter((size, size))
        self.timing = Timing.of(float(env.dt), int(env.episodes.setup.limit))
        self.instants, self.frames = 0, list[Any]()

    def __call__(self, env: Any) -> None:
        from rbgym.envs.rendering import scene_of

        scene = scene_of(env, self.lane, self.trail)
        if self.instants % self.timing.stride == 0:
            self.frames.append(self.painter.paint(scene))
        self.instants += 1

    def write(self, path: Path) -> None:
        from rbgym.agents.judge import videos

        with replacing(path) as temporary:
            videos.write(temporary, self.frames, self.timing.rate, kind=path.suffix)


@dataclass(frozen=True)
class Replay:
    """A run again. row: its row of the table, by column. time: instants [s], (m,). telemetry: (m,
    size) by name: quaternion and target_quaternion, body to world; estimate, where an estimator or
    a sensor shows an attitude, likewise; error, rotation vector from target to body [rad];
    angular_velocity [rad/s] and torque [N m], body axes; wheel_momentum [N m s], wheel_speed
    [rad/s]; command. What acts in a control period stands at its beginning, nan at the end."""

    run: int
    contender: str
    row: dict[str, Any]
    time: Array
    telemetry: dict[str, Array]

    @classmethod
    def of(
        cls, campaign: Campaign, run: int, contender: str | None = None, video: Path | None = None
    ) -> "Replay":
        """Fly the run's group again, as the campaign did, to the last bit. contender: default the
        first. video: a film to write, .mp4 or .gif. ValueError for a run or contender that there is
        not."""
        if not (isinstance(run, int) and 0 <= run < campaign.runs):
            raise ValueError(f"run must be from 0 to {campaign.runs - 1}, got {run!r}")
        name = next(iter(campaign.plan.policies)) if contender is None else contender
        named("policy", name, campaign.plan.policies)
        group, place = divmod(run, campaign.plan.group)
        camera = None if video is None else _Camera(campaign, place)
        leg = campaign.pilot.fly(group, name, watched=place, see=camera)
        if camera is not None and video is not None:
            camera.write(video)
        row = {column: values[place] for column, values in leg_rows(name, group, leg).items()}
        seen = dict(leg.flight.telemetry)
        if "shown" in seen:
            target = seen["target_quaternion"][: len(seen["shown"])]
            seen["estimate"] = multiply(target, seen.pop("shown"))
        m = len(seen["quaternion"])
        seen = {
            n: np.concatenate([v, np.full((m - len(v), v.shape[1]), np.nan)])
            for n, v in seen.items()
        }
        return cls(run, name, row, leg.flight.time[:m], seen)

    def differs(self, campaign: Campaign) -> list[str]:
        """Columns of which the campaign's table holds something else: none on a machine that
        rounds as the one that flew it."""
        there = {n: v[self.run] for n, v in campaign.columns[self.contender].items()}
        return [name for name, value in self.row.items() if there.get(name) != value]

    def write_csv(self, path: Path) -> None:
        """One line an instant."""
        import pyarrow as pa
        from pyarrow import csv

        table = {"time": self.time}
        for name, values in self.telemetry.items():
            size = values.shape[1]
            of_body = name in ("error", "angular_velocity", "torque", *_QUATERNIONS)
            labels = _AXES[size] if of_body and size in _AXES else map(str, range(size))
            table |= dict(zip([f"{name}.{one}" for one in labels], values.T, strict=True))
        with replacing(path) as temporary:
            csv.write_csv(pa.table(table), temporary)

    def figure(self) -> "Figure":
        """Error, rates, momenta or torque, and commands over time."""
        from rbgym.plot import style

        seen, rows = self.telemetry, list[tuple[str, Array]]()
        rows.append(("error [deg]", np.degrees(seen["error"])))
        rows.append(("rates [deg/s]", np.degrees(seen["angular_velocity"])))
        if "wheel_momentum" in seen:
            rows.append(("wheels [N m s]", seen["wheel_momentum"]))
        rows += [("torque [N m]", seen["torque"]), ("command", seen["command"])]
        with style.context():
            title = f"run {self.run}, {self.contender}: {self.row['ended']}"
            figure = style.picture(7.0, 1.5 * len(rows), title)
            for ax, (label, values) in zip(figure.subplots(len(rows), 1, sharex=True), rows):  # noqa: B905
                for k, line in enumerate(values.T):
                    ax.plot(self.time, line, label=f"{k + 1}", **style.line(k))
                ax.set_ylabel(label)
            ax.set_xlabel("time [s]")
        return figure

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.row.items())
