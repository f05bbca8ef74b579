"""Size and operations of exported C: the table of docs/export.md.

python docs/studies/flight_code.py
"""

import json
import platform
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rbgym.agents import controllers, load
from rbgym.agents.export import export_c

PAGE = Path(__file__).parents[1] / "export.md"
POLICIES = [  # env, law, or None for the network that the package ships
    ("AttitudeSlew-v1", "pd"), ("AttitudeSlew-v1", "geometric"), ("AttitudeSlew-v1", "hysteretic"),
    ("AttitudeSlew-v1", "pid"), ("AttitudeSlew-v1", "quaternion_feedback"),
    ("AttitudeSlew-v1", "bang_bang"), ("AttitudeSlew-v1", None), ("KeepOutSlew-v0", "detour"),
    ("ReactionWheelSlew-v1", "bang_bang"), ("MomentumDumping-v0", "geometric"),
    ("MagneticDetumble-v1", "magnetic_rate"), ("SafeMode-v0", "b_dot"),
    ("DetumbleToPoint-v0", "supervisor"),
]  # fmt: skip
# Arithmetic in _Float128 is calls of these, whatever the processor, and a linker can count calls.
WIDE = "__{}tf3", ("add", "sub", "mul", "div"), "_Float128", "_Float128 a, _Float128 b", "a, b"
ORDER = ("__{}tf2", ("eq", "ne", "lt", "le", "gt", "ge", "unord"), "int",
         "_Float128 a, _Float128 b", "a, b")  # fmt: skip
TWO = "{}", ("fmax", "fmin"), "double", "double a, double b", "a, b"
CALLS = [  # of which the second number of operations is
    ("{}", ("sqrt", "sin", "cos", "asin", "acos", "expm1"), "double", "double a", "a"),
    ("{}", ("atan2", "pow"), "double", "double a, double b", "a, b"),
]
FUSED = "{}", ("fma",), "double", "double a, double b, double c", "a, b, c"
DRIVER = """#include <stdio.h>
int main(void)
{
    real seen[OBSERVATIONS], action[ACTIONS];
    rbgym_memory memory;
    rbgym_begin(&memory);
    for (int n = 0; n < VECTORS; n++) {
        for (int i = 0; i < OBSERVATIONS; i++) seen[i] = SEEN[n][i];
        counted[0] = counted[1] = 0;
        rbgym_act(&memory, seen, action);
        printf("%ld %ld\\n", counted[0], counted[1]);
    }
    return 0;
}
"""


def measured(env_id: str, law: str | None, folder: Path) -> list[Any]:
    """Bytes of code with constants and of the memory; operations of a step, on average and the
    most of the golden vectors; the most calls of functions of <math.h> among them."""
    env = gym.make(env_id)
    export_c(folder, load(env_id) if law is None else controllers.make(law, env), env)
    text = (folder / "policy.c").read_text()
    golden = json.loads((folder / "policy.json").read_text())["golden"]
    (folder / "size.c").write_text(text)
    (folder / "memory.c").write_text(text + "\nconst char own[sizeof(rbgym_memory)] = {1};\n")
    flags = ["-std=c99", "-Os", "-fno-asynchronous-unwind-tables", "-c"]
    subprocess.run(["gcc", *flags, "size.c", "memory.c"], cwd=folder, check=True)
    said = subprocess.run(["nm", "-S", "memory.o"], cwd=folder, capture_output=True, text=True)
    memory = int(re.search(r"\w+ (\w+) \w own", said.stdout)[1], 16)  # type: ignore[index]
    said = subprocess.run(["size", "size.o"], cwd=folder, capture_output=True, text=True)
    code, data, bss = map(int, said.stdout.splitlines()[1].split()[:3])
    assert not data + bss, "it has variables of its own"
    wrapped = re.sub(r"\bdouble\b", "_Float128", text)
    parts, names = ["static long counted[2];"], []
    for kind, (pattern, ones, gives, takes, hands) in enumerate([WIDE, ORDER, TWO, FUSED, *CALLS]):
        for name in map(pattern.format, ones):
            names.append(f"-Wl,--wrap={name}")
            parts.append(f"{gives} __real_{name}({takes}); {gives} __wrap_{name}({takes}) "
                         f"{{ counted[0]++; counted[1] += {int(kind > 3)}; "
                         f"return __real_{name}({hands}); }}")  # fmt: skip
    seen = json.dumps(golden["observations"]).replace("[", "{").replace("]", "}")
    parts.append(f"static const float SEEN[VECTORS][OBSERVATIONS] = {seen};\n{DRIVER}")
    (folder / "count.c").write_text("\n".join([wrapped, *parts]))
    flags = ["-std=gnu99", "-O0", "-fno-builtin", "-DRBGYM_DOUBLE", "-o", "count", *names, "-lm"]
    subprocess.run(["gcc", "count.c", *flags], cwd=folder, check=True)
    done = subprocess.run([folder / "count"], capture_output=True, text=True, check=True)
    counts = np.array([line.split() for line in done.stdout.splitlines()], int)
    return [code, memory, round(counts[:, 0].mean()), *counts.max(axis=0)]


def main() -> None:
    """Write the table."""
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    lines = [f"| gcc {gcc} -Os, {platform.machine()} | code and constants [bytes] | memory [bytes] "
             "| operations a step | most | of them calls of `<math.h>` |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for env_id, law in POLICIES:
        with tempfile.TemporaryDirectory() as folder:
            numbers = measured(env_id, law, Path(folder))
        shown = " | ".join(f"{number:,}" for number in numbers)
        lines.append(f"| {f'`{law}`' if law else 'shipped network'}, `{env_id}` | {shown} |")
        print(lines[-1], flush=True)
    before, mark, rest = PAGE.read_text().partition("<!-- size:begin -->\n")
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{mark}{table}\n{rest[rest.index('<!-- size:end -->') :]}")


if __name__ == "__main__":
    main()
