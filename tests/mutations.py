"""Planted faults: each must be caught by the validation suite. `make mutations` runs them.

Every fault is one replacement in a copy of the package; the suite then measures the integrator that
it is in, in another process. A fault that nothing notices is a hole in the suite.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Mutation(NamedTuple):
    """A fault: where, what becomes what, and the integrator and case that should show it."""

    what: str
    file: str
    old: str
    new: str
    integrator: str
    case: str = "none"


MUTATIONS = (
    Mutation("missing 1/2", "integrators/quat_em.py", "scale(0.5 * h * (1.0 + ee), tau)",
             "scale(h * (1.0 + ee), tau)", "quat_em", "heavy_top"),
    Mutation("impulse in the wrong frame", "integrators/quat_em.py",
             "add(step.L, to_world(step.q, impulse))", "add(step.L, impulse)", "quat_em"),
    Mutation("transposed rotation", "integrators/splitting.py",
             "cos * Pi[1] + sin * Pi[2], cos * Pi[2] - sin * Pi[1]",
             "cos * Pi[1] - sin * Pi[2], cos * Pi[2] + sin * Pi[1]", "rrr"),
    Mutation("wrong sign of the gyroscopic term", "integrators/rkn4.py", "sub(tau, gyroscopic)",
             "add(tau, gyroscopic)", "rkn4"),
    Mutation("forgotten projection", "engine/steps.py",
             "scale(0.5 * projection if is_round_off else 0.0, n)",
             "scale(0.0 * projection if is_round_off else 0.0, n)", "quat_em", "endurance"),
    Mutation("impulse left in the axes of the middle", "integrators/bottasso.py",
             "return scale(0.5 * step.h, add(to_body(half, to_body(half, T_0)), T_1))",
             "return scale(0.5 * step.h, add(to_body(half, T_0), T_1))", "bbtrap", "heavy_top"),
    Mutation("first-order sampling of the torque", "integrators/splitting.py",
             "later.world_torque(q_1, g_1)", "later.world_torque(step.q, g_1)", "exact",
             "heavy_top"),
    Mutation("gradient at the start instead of the divided difference", "potentials/soft_wall.py",
             "return scale(-self.sign * a * b * (1.0 - _WALL * p), self.axis)",
             "return self.gradient(o_0)", "akw_dg", "soft_wall"),
    Mutation("wrong sign of the potential's torque", "potentials/gravity_gradient.py",
             "return times(self.stiffness, o)\n", "return times(self.stiffness, scale(-1.0, o))\n",
             "imidm", "gravity_gradient"),
    Mutation("wrong term of the elliptic series", "integrators/elliptic.py",
             "1.0 / 3.0 + (f1 / 5.0", "1.0 / 3.0 + (f1 / 6.0", "exact"),
    Mutation("wrong coefficient of the sixth order", "integrators/moser_veselov.py",
             "H * (1.0 - M)) * r / 30.0", "H * (1.0 + M)) * r / 30.0", "pdmv"),
    Mutation("wrong exponent of the composition", "integrators/composition.py",
             "4.0 ** (1.0 / (p + 1.0))", "4.0 ** (1.0 / (p + 2.0))", "quat_em:4", "heavy_top"),
    Mutation("half of the double bracket", "integrators/composition.py",
             "(13.0 - 5.0 * _ROOT) / 120.0", "(13.0 - 5.0 * _ROOT) / 240.0", "exact:4",
             "heavy_top"),
    Mutation("wrong sign in the inverse tangent", "integrators/munthe_kaas.py",
             "add(scale(0.5, turn), scale(s, cross(Psi, turn)))",
             "add(scale(-0.5, turn), scale(s, cross(Psi, turn)))", "mkrk_rk4"),
    Mutation("memory that is not kept", "integrators/director.py",
             "put_vector(buffer, m, 3, vector_if(unchanged, old[1], memory[1]))",
             "put_vector(buffer, m, 3, old[1])", "dir_em"),
    Mutation("length of the quaternion left to itself", "engine/steps.py",
             "    q_1 = polished(q_1)\n",
             "    q_1 = (1.000000001 * q_1[0], q_1[1], q_1[2], q_1[3])\n", "akw"),
)  # fmt: skip

# What the other process runs: exit status 7 tells that the suite found something.
CHECK = """
import sys
from rbgym.validation import validate, validate_endurance
name, case = sys.argv[1:]
if case == "endurance":
    claims = validate_endurance([name], steps=2_000_000)
else:
    claims = validate([name], cases=[case], steps=5000)
broken = [c for c in claims if not c.passed]
print(", ".join(c.quantity for c in broken))
sys.exit(7 if broken else 0)
"""


def caught(mutation: Mutation | None, integrator: str, case: str) -> tuple[bool, str]:
    """Whether the suite notices the fault (None: there is none), and by what."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "rbgym"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "rbgym", copy, ignore=ignored)
        if mutation is not None:
            file = copy / mutation.file
            text = file.read_text("utf-8")
            if text.count(mutation.old) != 1:
                raise ValueError(f"{mutation.what}: not found once in {mutation.file}")
            file.write_text(text.replace(mutation.old, mutation.new), "utf-8")
        command = [sys.executable, "-P", "-c", CHECK, integrator, case]
        env = {"PYTHONPATH": folder, "PATH": "/usr/bin:/bin"}
        done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode not in (0, 7):
        raise RuntimeError(done.stderr)
    return done.returncode == 7, done.stdout.strip()


def main() -> int:
    """Plant every fault; the number of those that nothing noticed."""
    missed = 0
    for mutation in MUTATIONS:
        noticed, by = caught(mutation, mutation.integrator, mutation.case)
        noticed = noticed and not caught(None, mutation.integrator, mutation.case)[0]
        missed += not noticed
        verdict = f"caught by {by}" if noticed else "NOT NOTICED"
        print(f"{mutation.what} ({mutation.integrator}, {mutation.case}): {verdict}", flush=True)
    print(f"{len(MUTATIONS)} faults planted, {missed} not noticed")
    return missed


if __name__ == "__main__":
    sys.exit(main())
