"""Measure the benchmark card of every task: docs/cards.md, with its pictures.

python docs/generate_cards.py [ID ...]   # measure these tasks, or all, and write the page
python docs/generate_cards.py --check    # exit 1 if the page is not what docs/cards.json says
"""

import json
import sys
from pathlib import Path
from typing import Any

from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parent
CARDS, PAGE, PICTURES = DOCS / "cards.json", DOCS / "cards.md", DOCS / "pictures" / "cards"
BEGIN, END = "<!-- cards:begin -->", "<!-- cards:end -->"


def section(env_id: str, content: dict[str, Any]) -> str:
    """One task: where learning stands, the tables, the picture."""
    from rbgym.agents.judge.tables import markdown

    return (
        f"## {env_id}\n\n{verdict(content)}\n\n{markdown(content)}\n"
        f"![errors and settling on {env_id}](pictures/cards/{env_id}.png)\n"
    )


def verdict(card: dict[str, Any]) -> str:
    """One sentence: whether a trained policy is as good as the best law, or by how much it loses.

    As good: its success rate is at least the law's lower bound, of the 95 % interval. The best has
    the most success, then settles first, then takes the least effort, as rows are sorted.
    """
    rows = card["rows"].items()
    laws = [(name, row["merits"]["all"]) for name, row in rows if not row["origin"]]
    trained = [(name, row["merits"]["all"]) for name, row in rows if row["origin"]]
    if not laws or not trained:
        return "There is no trained policy here." if laws else "There is no law here."
    (law, best), (name, learned) = laws[0], trained[0]
    figures = f"{_percent(learned['success_rate'])} against {_percent(best['success_rate'])}"
    if learned["success_rate"] < best["success_interval"][0]:
        return f"**Learning loses here**: `{name}` succeeds less often than `{law}`, {figures}."
    times = learned["settling_time"], best["settling_time"]
    said = f"The trained policy (`{name}`) succeeds as often as the best law (`{law}`), {figures}"
    if None in times:
        return f"{said}."
    share = round(100 * (times[0] / times[1] - 1))
    paces = {0: "as fast"}.get(share, f"{abs(share)} % {'slower' if share > 0 else 'faster'}")
    return f"{said}, and settles {paces}: {times[0]:.3g} against {times[1]:.3g} s."


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def page(cards: dict[str, dict[str, Any]]) -> str:
    """docs/cards.md with its sections made anew."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    sections = [section(env_id, cards[env_id]) for env_id in ENVIRONMENTS if env_id in cards]
    return "\n".join([f"{before}{BEGIN}", *sections, f"{END}{rest.split(END)[1]}"])


def measure(wanted: list[str], cards: dict[str, dict[str, Any]]) -> None:
    """Measure, one task after the other; each is kept as soon as it is there."""
    from rbgym.agents.judge import plots
    from rbgym.agents.judge.card import ALL, make_card

    PICTURES.mkdir(parents=True, exist_ok=True)
    for env_id in wanted:
        card = make_card(env_id)
        cards[env_id] = json.loads(json.dumps(card.as_dict()))
        whole = {name: row.merits[ALL] for name, row in card.rows.items()}
        plots.save(plots.card(env_id, whole), PICTURES / f"{env_id}.png")
        CARDS.write_text(json.dumps(cards, indent=1) + "\n", "utf-8")
        print(env_id, flush=True)


def main() -> int:
    """Write or check the page; the exit status."""
    arguments = sys.argv[1:]
    cards = json.loads(CARDS.read_text("utf-8")) if CARDS.exists() else {}
    if "--check" in arguments:
        current = PAGE.read_text("utf-8") == page(cards)
        if not current:
            print("cards.md is not current: run python docs/generate_cards.py")
        return int(not current)
    measure(arguments or list(ENVIRONMENTS), cards)
    PAGE.write_text(page(cards), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
