"""How near to the fastest possible are laws and policies? It writes docs/records/optimal.md.

python docs/studies/optimal_slews.py [TASK ...]   # what is missing, then the page; half an hour
python docs/studies/optimal_slews.py --write      # the page alone, from docs/optimal.json

Least times from the first start states of a task's test set to its success region, by direct
collocation with CasADi and IPOPT: `pip install "rbgym[agents,optimal]"`. Commands are held over
each interval of the mesh; the motion in it is a cubic that meets the equations at three points
(Hermite and Simpson).

Source: Betts, Practical Methods for Optimal Control Using Nonlinear Programming, ch. 4.
"""

import json
import math
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from rbgym.agents import controllers
from rbgym.agents.cases import PRETRAINED, start_of
from rbgym.agents.judge.evaluation import evaluate, settling
from rbgym.agents.policies import trained
from rbgym.agents.run_folder import write_json
from rbgym.eigenaxis import eigenaxis_time
from rbgym.envs.actuators import ReactionWheels
from rbgym.envs.parts.goals import Axis
from rbgym.quaternion import Array, conjugate, from_rotation_vector, multiply, rotate

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE = DOCS / "optimal.json", DOCS / "records" / "optimal.md"
BEGIN, END = "<!-- study:begin -->", "<!-- study:end -->"
TASKS = ("AttitudeSlew-v1", "ReactionWheelSlew-v1", "TopSwingUp-v0")
EPISODES, INTERVALS = 64, 50
GUESSES = {"AttitudeSlew-v1": 8, "ReactionWheelSlew-v1": 6, "TopSwingUp-v0": 8}
CHECKED = range(
    0, EPISODES, 9
)  # of each category; solved on the finer mesh too, and flown in the environment
HALF_TURN, BILIMORIA_WIE = "half turn", 3.243  # sqrt(J / u)
SLOW = 5.0  # rad/s of a wheel, below which the friction of its bearing fades
BENT = 0.5  # rad, how far guesses wander from the turn about the eigenaxis


@dataclass(frozen=True)
class Problem:
    """A body, its limits and its goal. torque: of a full command about each axis [N m]. weight:
    mgl [N m]. angle [rad], rate [rad/s]: of the success region; rate_limit [rad/s]. spins: whether
    any turn about the body z axis will do."""

    inertia: Array
    torque: Array
    angle: float = 0.0
    rate: float = 0.0
    rate_limit: float = 1e3
    weight: float = 0.0
    spins: bool = False
    wheels: ReactionWheels | None = None

    @classmethod
    def of(cls, task: str) -> "Problem":
        env: Any = gym.make(task).unwrapped
        wheels = env.actuator if isinstance(env.actuator, ReactionWheels) else None
        return cls(
            *(env.body.inertia, env.torque_limit, env.task.angle, env.task.rate, env.rate_limit),
            *(getattr(env.potential, "mgl", 0.0), isinstance(env.goal, Axis), wheels),
        )

    @property
    def commands(self) -> int:
        return len(self.wheels.axes) if self.wheels else 3  # type: ignore[arg-type]

    @property
    def states(self) -> int:
        return 7 + (self.commands if self.wheels else 0)

    def motion(self, x: Any, c: Any) -> Any:
        """dx/dt of x = (quaternion, rates, momenta of wheels as a part of the largest)."""
        import casadi as ca

        q, w, J = x[:4], x[4:7], ca.DM(self.inertia)
        turning = 0.5 * ca.vertcat(-ca.dot(q[1:], w), q[0] * w + ca.cross(q[1:], w))
        up = ca.vertcat(2 * (q[1] * q[3] - q[0] * q[2]), 2 * (q[2] * q[3] + q[0] * q[1]), 0)
        weight = self.weight * ca.cross(up, ca.DM([0, 0, 1]))
        if self.wheels is None:
            torque = ca.DM(self.torque) * c + weight - ca.cross(w, J @ w)
            return ca.vertcat(turning, ca.solve(J, torque))
        one, A = self.wheels, ca.DM(self.wheels.matrix)
        speed = one.momentum / one.inertia * x[7:] - A.T @ w
        change = -one.torque * c - one.coulomb * ca.tanh(speed / SLOW) - one.viscous * speed
        momentum = J @ w + one.momentum * (A @ x[7:])
        torque = weight - A @ change - ca.cross(w, momentum)
        return ca.vertcat(turning, ca.solve(J, torque), change / one.momentum)


class Slew(NamedTuple):
    """States at the nodes (intervals + 1, n), commands (intervals, m), the end time [s]."""

    states: Array
    commands: Array
    time: float

    def halved(self) -> "Slew":
        """The same with twice as many intervals."""
        nodes = np.arange(len(self.states))
        between = np.linspace(0, nodes[-1], 2 * nodes[-1] + 1)
        columns = [np.interp(between, nodes, column) for column in self.states.T]
        return Slew(np.stack(columns, axis=1), np.repeat(self.commands, 2, axis=0), self.time)


class Search:
    """The nonlinear program of a problem, for any start state (n,)."""

    def __init__(self, problem: Problem, intervals: int = INTERVALS) -> None:
        import casadi as ca

        self.problem, self.intervals = problem, intervals
        x = ca.MX.sym("x", problem.states, intervals + 1)
        c = ca.MX.sym("c", problem.commands, intervals)
        start, time = ca.MX.sym("start", problem.states), ca.MX.sym("time")
        # The end is off by (angle, rate) times two vectors in the unit ball.
        off, fast = ca.MX.sym("off", 2 if problem.spins else 3), ca.MX.sym("fast", 3)
        step = ca.repmat(time / intervals, 1, intervals)
        zero = ca.vertcat(
            ca.vec(_defect(problem).map(intervals)(x[:, :-1], x[:, 1:], c, step)),
            x[:, 0] - start,
            x[1 : 1 + off.numel(), -1] - math.sin(problem.angle / 2) * off,
            x[4:7, -1] - problem.rate * fast,
        )
        speed = ca.sum1(x[4:7, :] ** 2).T / problem.rate_limit**2
        to_one = ca.vertcat(ca.dot(off, off), ca.dot(fast, fast), speed)
        most = np.full((intervals + 1, problem.states), np.inf)
        most[:, 7:] = 1.0
        self.ends = off.numel() + 3
        most = np.concatenate([most.ravel(), np.ones(c.numel() + self.ends)])
        equal, below = np.zeros(zero.numel()), np.ones(to_one.numel())
        self.bounds = {
            "lbx": np.append(-most, 1e-3),
            "ubx": np.append(most, 1e3),
            "lbg": np.concatenate([equal, -np.inf * below]),
            "ubg": np.concatenate([equal, below]),
        }
        self.solver = ca.nlpsol(
            "search",
            "ipopt",
            {
                "x": ca.vertcat(ca.vec(x), ca.vec(c), off, fast, time),
                "p": start,
                "f": time,
                "g": ca.vertcat(zero, to_one),
            },
            {"print_time": False, "ipopt": {"max_iter": 400, "print_level": 0, "sb": "yes"}},
        )

    def quickest(self, start: Array, guess: Slew) -> Slew | None:
        """The slew that is found from this guess; None where IPOPT fails."""
        one = self.problem
        parts = guess.states.ravel(), guess.commands.ravel(), np.zeros(self.ends), [guess.time]
        found = self.solver(x0=np.concatenate(parts), p=start, **self.bounds)
        if not self.solver.stats()["success"]:
            return None
        values = np.asarray(found["x"]).ravel()
        states, commands, _ = np.split(values, np.cumsum([guess.states.size, guess.commands.size]))
        return Slew(
            states.reshape(-1, one.states), commands.reshape(-1, one.commands), float(values[-1])
        )

    def guess(self, start: Array, rng: np.random.Generator, bent: float) -> Slew:
        """A turn about the eigenaxis that wanders, in a time drawn about what that turn takes."""
        one, n = self.problem, self.intervals
        way = _way(start[:4], one.spins)
        angle = float(np.linalg.norm(way))
        least = eigenaxis_time(angle, way, one.inertia, one.torque + 0.35 * one.weight)
        time = float(least) * rng.uniform(0.7, 1.3)
        part = np.linspace(0.0, 1.0, n + 1)[:, None]
        bumps = rng.standard_normal((2, 3))
        bend = bumps[0] * np.sin(np.pi * part) + bumps[1] * np.sin(2 * np.pi * part) / 2
        turn = from_rotation_vector(part**2 * (3 - 2 * part) * way)
        q = multiply(multiply(start[:4], turn), from_rotation_vector(bent * bend))
        states = np.tile(start, (n + 1, 1))
        states[:, :4] = q
        states[:, 4:7] = 2 * multiply(conjugate(q), np.gradient(q, axis=0))[:, 1:] * n / time
        return Slew(states, 0.1 * rng.standard_normal((n, one.commands)), time)

    def best(self, start: Array, guesses: int, seed: tuple[int, ...]) -> list[Slew]:
        """What is found from the guesses, the quickest first; the first of them does not wander."""
        rng = np.random.default_rng(seed)
        drawn = [self.guess(start, rng, BENT if k else 0.0) for k in range(guesses)]
        found = [self.quickest(start, one) for one in drawn]
        return sorted((one for one in found if one), key=lambda one: one.time)


def _defect(one: Problem) -> Any:
    """By how much two states a, b, the step h [s] apart under the command c, miss the motion."""
    import casadi as ca

    a, b = ca.SX.sym("a", one.states), ca.SX.sym("b", one.states)
    c, h = ca.SX.sym("c", one.commands), ca.SX.sym("h")
    f, g = one.motion(a, c), one.motion(b, c)
    middle = one.motion((a + b) / 2 + h / 8 * (f - g), c)
    return ca.Function("defect", [a, b, c, h], [b - a - h / 6 * (f + 4 * middle + g)])


def _way(q: Array, spins: bool) -> Array:
    """The rotation vector [rad], body axes, of the shortest turn from the attitude to the goal."""
    if spins:  # the upward vertical in body axes has to become z
        up = rotate(conjugate(q), [0.0, 0.0, 1.0])
        axis = np.cross([0.0, 0.0, 1.0], up)
        return np.asarray(axis / np.linalg.norm(axis) * math.acos(up[2]))
    w, xyz = (q[0], -q[1:]) if q[0] >= 0 else (-q[0], q[1:])
    size = float(np.linalg.norm(xyz))
    return np.asarray(2 * math.atan2(size, w) * xyz / size)


# --- what is measured ---


def start_state(task: str, episode: int) -> Array:
    """One start of the test set as `Problem.motion` has it, relative to the target."""
    one = start_of(task, episode)
    with closing(one.env(task, {})) as env:
        one.begin(env)
        state = {name: np.asarray(value)[0] for name, value in env.unwrapped.state.items()}
        q = multiply(conjugate(state["target_quaternion"]), state["quaternion"])
        parts = [q, state["angular_velocity"]]
        if "wheel_momentum" in state:
            parts.append(state["wheel_momentum"] / env.unwrapped.actuator.momentum)
    return np.concatenate(parts)


def flown(task: str, episode: int, slew: Slew) -> list[float]:
    """The errors of attitude and rate at the end, as parts of what success allows, where the
    environment flies these commands, with the control period of the mesh and many steps in it."""
    one = start_of(task, episode)
    with closing(one.env(task, {"dt": slew.time / len(slew.commands), "substeps": 20})) as env:
        one.begin(env)
        for command in slew.commands:
            *_, info = env.step(command[None].astype(np.float32))
        angle, rate = env.unwrapped.task.angle, env.unwrapped.task.rate
    errors = info["attitude_error"][0] / angle, info["rate_error"][0] / rate
    return [rounded(error) for error in errors]


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def half_turn() -> dict[str, Any]:
    """The half turn of a sphere about a principal axis, in units of sqrt(J / u)."""
    one, start = Problem(np.eye(3), np.ones(3)), np.array([0.0, 1, 0, 0, 0, 0, 0])
    search = Search(one)
    found = search.best(start, 16, (0,))
    finer = Search(one, 2 * INTERVALS).quickest(start, found[0].halved())
    return {
        "least": round(found[0].time, 4),
        "found": [round(slew.time, 4) for slew in found],
        "finer": finer and round(finer.time, 4),
        "eigenaxis": round(float(eigenaxis_time(np.pi, [1, 0, 0], [1, 1, 1], 1)), 4),
    }


def settled(task: str) -> dict[str, list[float | None]]:
    """When each law that fits, and the policy of the package, settle [s]; None without success."""
    with closing(gym.make(task)) as env:
        names = [name for name in controllers.for_env(env) if name != "idle"]
        for name in sorted(controllers.PLANNERS):
            with suppress(ValueError):  # it is no slew
                controllers.make(name, env)
                names.append(name)
    found = {}
    for name in [*names, *([PRETRAINED] if task in trained.names() else [])]:
        played = evaluate(name, task, EPISODES).played
        pairs = zip(settling(played), played.success, strict=True)
        found[name] = [rounded(time) if success else None for time, success in pairs]
    return found


def measure(task: str, results: dict[str, Any]) -> None:
    """The contenders of a task, and the least times that are missing; kept one by one."""
    one = results.setdefault(task, {"least": [], "solved": [], "agreeing": [], "checked": {}})
    one["settled"] = settled(task)
    search = Search(Problem.of(task))

    def found(episode: int) -> list[Slew]:
        seed = TASKS.index(task), episode
        return search.best(start_state(task, episode), GUESSES[task], seed)

    for episode in range(len(one["least"]), EPISODES):
        slews = found(episode)
        one["solved"].append(len(slews))
        one["agreeing"].append(sum(slew.time < 1.0005 * slews[0].time for slew in slews))
        one["least"].append(rounded(slews[0].time) if slews else None)
        print(task, episode, [round(slew.time, 4) for slew in slews], flush=True)
        write_json(RESULTS, results)
    fine = Search(search.problem, 2 * INTERVALS)
    for episode in CHECKED:
        if str(episode) not in one["checked"] and one["least"][episode]:
            slew = found(episode)[0]
            finer = fine.quickest(start_state(task, episode), slew.halved())
            one["checked"][str(episode)] = {
                "finer": finer and rounded(100 * (finer.time / slew.time - 1)),
                "flown": flown(task, episode, slew),
                "finer_flown": finer and flown(task, episode, finer),
            }
            print(task, episode, one["checked"][str(episode)], flush=True)
    write_json(RESULTS, results)


# --- the page ---


def shares(one: dict[str, Any], name: str) -> Array:
    """Least time over settling time of each success, in percent."""
    pairs = zip(one["least"], one["settled"][name], strict=True)
    return np.array([100 * least / time for least, time in pairs if least and time])


def table(results: dict[str, Any]) -> str:
    """Each contender on each task, the fastest first."""
    lines = [
        "| task | | success [%] | settling, median [s] | percent of optimal, median | quarters |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for task in (task for task in TASKS if task in results):
        one = results[task]
        lines.append(f"| {task} | optimum | | {np.median(known(one)):.4g} | 100 | |")
        rows = []
        for name, times in one["settled"].items():
            reached = [time for time in times if time is not None]
            share = shares(one, name)
            cells = ["-"] * 3
            if reached:
                low, middle, high = np.percentile(share, (25, 50, 75))
                cells = [f"{np.median(reached):.4g}", f"{middle:.0f}", f"{low:.0f} to {high:.0f}"]
            rows.append((len(reached), np.median(share) if reached else 0.0, name, cells))
        for count, _, name, cells in sorted(rows, key=lambda row: (-row[0], -row[1])):
            success = f"{100 * count / len(one['least']):.1f}"
            lines.append(f"| {task} | `{name}` | {success} | {' | '.join(cells)} |")
    return "\n".join(lines)


def known(one: dict[str, Any]) -> list[float]:
    """The least times that were found [s]."""
    return [time for time in one["least"] if time is not None]


def checks(results: dict[str, Any]) -> str:
    """How sure the least times are."""
    lines = [
        "| task | starts solved | best found by one guess alone | guesses solved [%] "
        "| finer mesh changes the time by [%] | flown: angle, rate at the end / tolerance "
        "| finer mesh, flown |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for task in (task for task in TASKS if task in results):
        one = results[task]
        solved = 100 * np.sum(one["solved"]) / (GUESSES[task] * len(one["solved"]))
        moved = [check["finer"] for check in one["checked"].values() if check["finer"] is not None]
        flights = [
            [check[kind] for check in one["checked"].values() if check[kind]]
            for kind in ("flown", "finer_flown")
        ]
        errors = (", ".join(f"{x:.3f}" for x in np.max(flight, axis=0)) for flight in flights)
        lines.append(
            f"| {task} | {len(known(one))} of {len(one['least'])} | {one['agreeing'].count(1)} "
            f"| {solved:.1f} | {min(moved):.2g} to {max(moved):.2g} | {' | '.join(errors)} |"
        )
    return "\n".join(lines)


def current(results: dict[str, Any]) -> str:
    """The page with its figures replaced."""
    text, half = PAGE.read_text("utf-8"), results[HALF_TURN]
    best = sum(time < half["least"] + 5e-4 for time in half["found"])
    said = (
        f"The half turn takes {half['least']:.4f} sqrt(J/u), and {half['finer']:.4f} on the finer "
        f"mesh; Bilimoria and Wie have {BILIMORIA_WIE}. About the eigenaxis it takes "
        f"{half['eigenaxis']:.4f}. Of 16 guesses {best} lead there, {len(half['found']) - best} to "
        f"something slower, and from {16 - len(half['found'])} IPOPT found nothing."
    )
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    made = f"{table(results)}\n\n{said}\n\n{checks(results)}"
    return f"{head}{BEGIN}\n{made}\n{END}{tail}"


def main(arguments: list[str]) -> None:
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if "--write" not in arguments:
        results.setdefault(HALF_TURN, half_turn())
        for task in arguments or TASKS:
            measure(task, results)
    PAGE.write_text(current(results), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
