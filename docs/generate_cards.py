"""Measure the benchmark card of every task: docs/cards.md with its pictures, a table of README.md.

python docs/generate_cards.py [ID ...]   # measure these tasks, or all, and write both
python docs/generate_cards.py --policies [ID ...]   # the trained policies; laws as they were
python docs/generate_cards.py --check    # exit 1 if one of them is not what docs/cards.json says
"""

import json
import math
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parent
CARDS, PAGE, PICTURES = DOCS / "cards.json", DOCS / "cards.md", DOCS / "pictures" / "cards"
OPTIMAL = json.loads((DOCS / "optimal.json").read_text("utf-8"))
BEGIN, END = "<!-- cards:begin -->", "<!-- cards:end -->"
README = DOCS.parent / "README.md"
FIRST, LAST = "<!-- results:begin -->", "<!-- results:end -->"
HEADINGS = ("task", "best law", "policy", "behind: law", "policy", "dispersed: law", "policy")
# Names of the conditions on the page.
SAID = {
    "behind": "Behind sensors, an estimator and one control period of delay",
    "dispersed": "On bodies and actuators that differ",
}
Merits = dict[str, Any]


def section(env_id: str, content: dict[str, Any]) -> str:
    """The section of one task: a comparison of law and policy, the tables, the picture."""
    from rbgym.agents.judge.tables import markdown

    text = f"{verdict(content)}{in_conditions(content)}{optimum(env_id)}"
    tables = re.sub(r"(\d) - (\d)", r"\1&nbsp;&#8209;&nbsp;\2", markdown(content))  # on one line
    return (
        f"## {env_id}\n\n{text}\n\n{tables}\n"
        f"![errors and settling on {env_id}](pictures/cards/{env_id}.png)\n"
    )


def verdict(card: dict[str, Any]) -> str:
    """One sentence: whether a trained policy is as good as the best law, or by how much it loses.

    A rate below the other's 95 % interval is less, any other as good. The best has the most
    success, then settles first, then takes the least effort, as rows are sorted.
    """
    rows = card["rows"].items()
    laws = [(name, row["merits"]["all"]) for name, row in rows if not row["origin"]]
    trained = [(name, row["merits"]["all"]) for name, row in rows if row["origin"]]
    if laws and laws[0][1]["success_rate"] == 0.0 and not trained:
        return "No law succeeds here, and there is no trained policy."
    if not laws or not trained:
        return "There is no trained policy here." if laws else "There is no law here."
    (law, best), (name, learned) = laws[0], trained[0]
    figures = f"{_percent(learned['success_rate'])} against {_percent(best['success_rate'])}"
    if learned["success_rate"] < best["success_interval"][0]:
        return f"**Learning loses here**: `{name}` succeeds less often than `{law}`, {figures}."
    times = learned["settling_time"], best["settling_time"]
    more = best["success_rate"] < learned["success_interval"][0]
    often = "more often than" if more else "as often as"
    said = f"The trained policy (`{name}`) succeeds {often} the best law (`{law}`), {figures}"
    if None in times:
        return f"{said}."
    share = round(100 * (times[0] / times[1] - 1))
    paces = {0: "as fast"}.get(share, f"{abs(share)} % {'slower' if share > 0 else 'faster'}")
    return f"{said}, and settles {paces}: {times[0]:.3g} against {times[1]:.3g} s."


def in_conditions(card: dict[str, Any]) -> str:
    """Results of the best law and the trained policy in each condition."""
    found = []
    for condition, said in SAID.items():
        law, policy = best(card, condition)
        if not ranks(card, condition):
            continue
        figures = [
            f"`{name}` has {_figures(card['rows'][name]['conditions'][condition])}"
            for name in (law, policy)
            if name
        ]
        found.append(f" {said} {', '.join(figures) or 'none succeeds'}.")
    return "".join(found)


def best(card: dict[str, Any], condition: str | None = None) -> tuple[str | None, str | None]:
    """Names of the best law, of those that succeed at all, and of the best trained policy in a
    condition (None: the true state)."""
    rows = card["rows"]
    order = [*ranks(card, condition)]
    laws = (n for n in order if not rows[n]["origin"])
    able = (n for n in laws if _merits(rows[n], condition)["success_rate"])
    return next(able, None), next((n for n in order if rows[n]["origin"]), None)


def optimum(env_id: str) -> str:
    """Settling of contenders relative to the least time, from docs/studies/optimal_slews.py."""
    if env_id not in OPTIMAL:
        return ""
    one = OPTIMAL[env_id]
    shares = {
        name: [least / time for least, time in zip(one["least"], times, strict=True) if time]
        for name, times in one["settled"].items()
    }
    medians = {name: statistics.median(found) for name, found in shares.items() if found}
    best, *others = sorted(medians, key=lambda name: -medians[name])
    speed = "of the [optimal speed](records/optimal.md)"
    figures = [f"`{best}` has {100 * medians[best]:.0f} % {speed}"]
    figures += [f"`{name}` {100 * medians[name]:.0f} %" for name in others]
    return f" On the first {len(one['least'])} starts {', '.join(figures)}."


def _figures(merits: Merits) -> str:
    return f"{_percent(merits['success_rate'])} success, {_settling(merits)}"


def _settling(merits: Merits) -> str:
    time = merits["settling_time"]
    if time is None:
        return "-"
    return f"{time:.4g} s" if time < 10_000 else f"{time:,.0f} s"


def ranks(card: dict[str, Any], condition: str | None = None) -> dict[str, int]:
    """The place of each policy, the best first, as rows are sorted; condition: None for the true
    state."""
    merits = {
        name: row["conditions"].get(condition) if condition else row["merits"]["all"]
        for name, row in card["rows"].items()
    }

    def worth(name: str) -> tuple[float, float, float]:
        one: Any = merits[name]
        time = one["settling_time"]
        return -one["success_rate"], math.inf if time is None else time, one["effort"]

    found = sorted((name for name, one in merits.items() if one), key=worth)
    return {name: place for place, name in enumerate(found, 1)}


def results(cards: dict[str, dict[str, Any]]) -> str:
    """The table of README.md: the best law and the trained policy of tasks with sensors, with the
    true state and in each condition; of a task with several versions, the last."""
    lines = [HEADINGS, ("---",) * len(HEADINGS)]
    last = {env_id.partition("-v")[0]: env_id for env_id in sorted(ENVIRONMENTS)}
    for env_id in (one for one in ENVIRONMENTS if one in last.values()):
        card = cards.get(env_id, {"rows": {}})
        if not ranks(card, "behind"):
            continue
        cells = [
            _cell(name, _merits(card["rows"][name], condition)) if name else lacking
            for condition in (None, *SAID)
            for name, lacking in zip(best(card, condition), ("none succeeds", "-"), strict=True)
        ]
        lines.append((f"`{env_id}`", *cells))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _merits(row: dict[str, Any], condition: str | None) -> Merits:
    found: Merits = row["conditions"][condition] if condition else row["merits"]["all"]
    return found


def _cell(name: str, merits: Merits) -> str:
    return f"`{name}`: {_percent(merits['success_rate'])}, {_settling(merits)}"


def readme(cards: dict[str, dict[str, Any]]) -> str:
    """README.md with its table of results replaced."""
    before, rest = README.read_text("utf-8").split(FIRST)
    return "\n".join([f"{before}{FIRST}", results(cards), f"{LAST}{rest.split(LAST)[1]}"])


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def page(cards: dict[str, dict[str, Any]]) -> str:
    """docs/cards.md with its sections replaced."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    sections = [section(env_id, cards[env_id]) for env_id in ENVIRONMENTS if env_id in cards]
    return "\n".join([f"{before}{BEGIN}", *sections, f"{END}{rest.split(END)[1]}"])


def known() -> dict[str, dict[str, Any]]:
    """The cards that were measured."""
    return json.loads(CARDS.read_text("utf-8")) if CARDS.exists() else {}


def put(env_id: str, card: dict[str, Any]) -> None:
    """Save a card, next to those that others may have saved meanwhile."""
    cards = {**known(), env_id: card}
    CARDS.write_text(json.dumps(cards, indent=1) + "\n", "utf-8")
    print(env_id, flush=True)


def measure(wanted: list[str]) -> None:
    """Measure the tasks in turn; each result is saved at once."""
    from rbgym.agents.judge import plots
    from rbgym.agents.judge.card import ALL, make_card

    PICTURES.mkdir(parents=True, exist_ok=True)
    for env_id in wanted:
        card = make_card(env_id)
        whole = {name: row.merits[ALL] for name, row in card.rows.items()}
        plots.save(plots.card(env_id, whole), PICTURES / f"{env_id}.png")
        put(env_id, json.loads(json.dumps(card.as_dict())))


def measure_policies(wanted: list[str]) -> None:
    """Measure only the shipped policies again: figures of laws remain, pictures are new."""
    from rbgym.agents.judge import plots
    from rbgym.agents.judge.card import ALL, make_card
    from rbgym.agents.judge.evaluation import evaluate
    from rbgym.agents.policies import trained

    for env_id in wanted:
        own = known()[env_id]
        rows = {n: row for n, row in own["rows"].items() if not row["origin"]}
        whole = {name: evaluate(name, env_id) for name in rows}
        if env_id in trained.names():
            card = make_card(env_id, ["pretrained"])
            rows |= json.loads(json.dumps(card.as_dict()))["rows"]
            whole |= {name: row.merits[ALL] for name, row in card.rows.items()}
        order = ranks({**own, "rows": rows})
        plots.save(plots.card(env_id, {n: whole[n] for n in order}), PICTURES / f"{env_id}.png")
        put(env_id, {**own, "rows": {name: rows[name] for name in order}})


def main() -> int:
    """Write or check the page; the exit status."""
    arguments = sys.argv[1:]
    if "--check" in arguments:
        cards = known()
        made = {PAGE: page(cards), README: readme(cards)}
        old = [path.name for path, text in made.items() if path.read_text("utf-8") != text]
        if old:
            print(f"{', '.join(old)} not current: run python docs/generate_cards.py")
        return int(bool(old))
    wanted = [one for one in arguments if one in ENVIRONMENTS] or list(ENVIRONMENTS)
    (measure_policies if "--policies" in arguments else measure)(wanted)
    cards = known()
    PAGE.write_text(page(cards), "utf-8")
    README.write_text(readme(cards), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
