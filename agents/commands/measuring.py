"""`rbgym validate` and `rbgym warm`."""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import gymnasium as gym
import typer
from typer import Argument, Option

from rbgym.agents.commands import options
from rbgym.agents.commands.app import MEASURE, command
from rbgym.agents.terminal import Counter, bar, print_json, print_table

if TYPE_CHECKING:  # its import compiles kernels
    from rbgym.validation import Claim


def _cases() -> list[str]:
    from rbgym.validation.cases import CASES

    return [case.kind for case in CASES]


@command(MEASURE, "rbgym validate quat_em rkn4 --quick", "rbgym validate --external --derivatives")
def validate(
    context: typer.Context,
    names: Annotated[
        list[str] | None, Argument(help="Integrators; default all.", **options.INTEGRATORS)
    ] = None,
    case: Annotated[
        list[str] | None,
        Option(
            help="none, heavy_top, soft_wall or gravity_gradient; default all.",
            autocompletion=_cases,
        ),
    ] = None,
    steps: Annotated[int, Option(help="Length of each run.", min=1)] = 20_000,
    quick: Annotated[bool, Option("--quick", help="Short runs in gravity, no papers.")] = False,
    external: Annotated[
        bool, Option("--external", help="Only motions whose published end is known.")
    ] = False,
    derivatives: Annotated[bool, Option("--derivatives", help="Only Jacobians of steps.")] = False,
    jobs: Annotated[int, Option(help="Processes that share the work.", min=1)] = 2,
    as_json: options.Json = False,
) -> None:
    """Check the declarations of integrators, claims of papers and ends that others published.

    Exit status 1 if a declaration is broken or a known end missed. A claim of a paper that does not
    reproduce is reported as such.
    """
    from rbgym import validation

    in_part = external or derivatives
    if in_part:
        used = ("case", "quick") if derivatives else ()
        what = "--derivatives" if derivatives else "--external"
        options.use_only(context, what, "external", "derivatives", "jobs", *used)
    if quick:
        options.use_only(context, "--quick", "quick", "case", "derivatives", "jobs")
        case, steps = case or ["heavy_top"], 2000
    papers: list[tuple[str, str, list[validation.Claim]]] = []
    whole = not (names or case or in_part)
    claims: list[validation.Claim] = []
    truths: list[validation.Claim] = []
    with bar() as shown:

        def work(what: str) -> dict[str, Any]:
            return {"jobs": jobs, "progress": Counter(shown, what)}

        if not in_part:
            claims += validation.validate(names, cases=case, steps=steps, **work("declarations"))
        if derivatives or whole:
            claims += validation.validate_derivatives(names, cases=case, **work("derivatives"))
        if external or whole:
            truths += validation.validate_external(names, **work("known ends"))
        if whole:
            claims += validation.validate_endurance(**work("endurance"))
            papers = validation.validate_papers(**work("papers"))
    if as_json:
        content = {
            "declared": [claim._asdict() for claim in claims],
            "external": [claim._asdict() for claim in truths],
            "papers": [
                {"name": name, "source": source, "claims": [claim._asdict() for claim in found]}
                for name, source, found in papers
            ],
        }
        print_json(content)
    else:
        for name, source, found in papers:
            verdict = "reproduced" if all(c.passed for c in found) else "not reproduced in full"
            print_claims(f"{name} ({source}): {verdict}", found, otherwise="differs")
        for what, those in (("known ends", truths), ("declarations", claims)):
            if those:
                broken = sum(not claim.passed for claim in those)
                print_claims(f"{len(those)} {what}, {broken} broken", those)
    if not all(claim.passed for claim in (*claims, *truths)):
        raise typer.Exit(1)


def print_claims(title: str, claims: "Iterable[Claim]", otherwise: str = "BROKEN") -> None:
    """Print a row for each claim. otherwise: the verdict on a claim that does not hold."""
    columns = ("integrator", "case", "quantity", "declared", "measured", "bound", "verdict")
    rows = (
        (*c[:4], f"{c.measured:.3g}", f"{c.bound:.3g}", "ok" if c.passed else otherwise)
        for c in claims
    )
    print_table(title, columns, rows)


@command(
    MEASURE,
    "rbgym warm RigidTop-v0 AttitudeSlew-v1",
    "rbgym warm AttitudeSlew-v1 -i quat_em -i rkn4 --jobs 2",
)
def warm(
    ids: Annotated[list[str], Argument(**options.ENV | {"help": "Environments, see rbgym list."})],
    integrator: options.Integrators = None,
    env_arg: options.EnvArgs = None,
    jobs: Annotated[int, Option(help="Processes that share the work.", min=1)] = 1,
    as_json: options.Json = False,
) -> None:
    """Compile the physics of environments for this type of CPU in advance, such as in an image.

    The cache is in the package's folder, or in the folder that NUMBA_CACHE_DIR names.
    """
    from rbgym import validation

    given = dict(env_arg or ())
    for env_id in ids:
        options.check_env_args(env_id, given)
    options.once([*given.items(), *[("integrator", "")] * bool(integrator)])
    schemes = [{"integrator": name} for name in integrator or ()] or [{}]
    cases = [(env_id, given | scheme) for env_id in ids for scheme in schemes]
    with bar() as shown:
        tasks = [partial(first_steps, *case) for case in cases]
        seconds = validation.measured(tasks, jobs, Counter(shown, "compiled"))
    rows = [
        {"env": env_id, "integrator": arguments.get("integrator", "default"), "seconds": took}
        for (env_id, arguments), took in zip(cases, seconds, strict=True)
    ]
    if as_json:
        print_json(rows)
        return
    cells = [(row["env"], str(row["integrator"]), f"{row['seconds']:.1f}") for row in rows]
    print_table("Compiled and cached on disk", ("env", "integrator", "time [s]"), cells)


def first_steps(env_id: str, kwargs: Mapping[str, Any]) -> float:
    """Reset and step an environment, single and vector; returns the time [s] that it took."""
    start = time.perf_counter()
    for env in (gym.make(env_id, **kwargs), gym.make_vec(env_id, num_envs=2, **kwargs)):
        env.action_space.seed(0)
        env.reset(seed=0)
        for _ in range(2):  # the second step compiles the code of all later ones
            env.step(env.action_space.sample())
        env.close()
    return time.perf_counter() - start
