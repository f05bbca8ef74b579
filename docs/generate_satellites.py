"""Write the tables of laws on satellites into docs/satellites.md.

python docs/generate_satellites.py            # write what docs/satellites.json says
python docs/generate_satellites.py --check    # exit 1 if the page is not current
python docs/generate_satellites.py --measure  # run the laws again, then write
"""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
PAGE, MEASURED = DOCS / "satellites.md", DOCS / "satellites.json"
BEGIN, END = "<!-- laws:begin -->", "<!-- laws:end -->"
TASKS = "AttitudeSlew-v1", "ReactionWheelSlew-v1", "InertialPointing-v0", "AttitudeTracking-v1"
EPISODES = 128


def measured() -> list[dict[str, Any]]:
    """A row for each task, satellite and law that fit."""
    import gymnasium as gym

    from rbgym.agents import controllers
    from rbgym.agents.judge import evaluate
    from rbgym.envs.satellites import SATELLITES

    rows = []
    for env_id, satellite in itertools.product(TASKS, SATELLITES):
        try:
            env: Any = gym.make(env_id, satellite=satellite).unwrapped
        except ValueError:  # without wheels
            continue
        for law in sorted(set(controllers.for_env(env)) - {"idle"}):
            found = evaluate(law, env_id, EPISODES, satellite=satellite)
            rows.append({
                "task": env_id, "satellite": satellite, "law": law,
                "success": found.success_rate, "settled": found.settling_time,
                "half_turn": env.episodes.setup.least_time,
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def tables(rows: list[dict[str, Any]]) -> str:
    """A table for each task: a line for each satellite, a column for each law that fits."""
    return "\n\n".join(
        f"**{task}**\n\n{table(list(found))}"
        for task, found in itertools.groupby(rows, key=lambda row: row["task"])
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The table of one task."""
    laws = list(dict.fromkeys(row["law"] for row in rows))
    bounded = rows[0]["half_turn"] > 0.0
    heads = ["satellite", *(["half turn"] if bounded else []), *(f"`{law}`" for law in laws)]
    lines = [heads, ["---"] * len(heads)]
    for satellite, found in itertools.groupby(rows, key=lambda row: row["satellite"]):
        here = {row["law"]: row for row in found}
        half_turn = next(iter(here.values()))["half_turn"]
        bound = [f"{half_turn:.1f}&nbsp;s"] if bounded else []
        lines.append(
            [satellite.replace("-", "&#8209;"), *bound, *(cell(here[law]) for law in laws)]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(row: dict[str, Any]) -> str:
    """Settling time, in brackets relative to the half turn; before it the success below 100 %."""
    parts = [] if row["success"] == 1.0 else [f"{100 * row['success']:.0f}&nbsp;%:"]
    if row["settled"] is not None:
        parts.append(f"{row['settled']:.1f}&nbsp;s")
        if row["half_turn"]:
            parts.append(f"({100 * row['settled'] / row['half_turn']:.0f}&nbsp;%)")
    return " ".join(parts)


def main(check: bool, measure: bool = False) -> int:
    if measure:
        MEASURED.write_text(json.dumps(measured(), indent=1) + "\n")
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    made = tables(json.loads(MEASURED.read_text()))
    new = f"{before}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}"
    if not check:
        PAGE.write_text(new, "utf-8")
    elif new != page:
        print("docs/satellites.md is not current: python docs/generate_satellites.py")
    return int(check and new != page)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv, "--measure" in sys.argv))
