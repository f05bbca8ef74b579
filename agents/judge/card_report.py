"""A benchmark card as Markdown, and as a plot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbgym import html as pages
from rbgym.agents.judge import plots
from rbgym.agents.judge.card import ALL, Card
from rbgym.agents.judge.comparison import titled
from rbgym.agents.run_folder import as_text, replacing

HEADINGS = (
    "",
    "success",
    "95 % interval",
    "final error",
    "settling",
    "overshoot",
    "effort",
    "torque variation",
    "unwound",
    "of eigenaxis bound",
)
Rows = list[tuple[str, ...]]
_FORMS = ("md", "json", "png")


def tables(content: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Rows]]:
    """Headings and rows of the card's two tables: merits of all episodes, success by category.

    content: what `Card.as_dict` returns.
    """
    rows = content["rows"]
    merits = [(name, *_cells(row["merits"][ALL])) for name, row in rows.items()]
    categories = [name for name in next(iter(rows.values()))["merits"] if name != ALL]
    rates = [
        (name, *(_percent(row["merits"][c]["success_rate"]) for c in categories))
        for name, row in rows.items()
    ]
    return [(HEADINGS, merits), (("success of starts", *categories), rates)]


def title(content: Mapping[str, Any]) -> str:
    """The task, and the arguments of its env."""
    return titled(content["env_id"], content["env_kwargs"])


def page(content: Mapping[str, Any]) -> str:
    """`markdown` under the title."""
    return f"# {title(content)}\n\n{markdown(content)}"


def markdown(content: Mapping[str, Any]) -> str:
    """The card's two tables, and how its policies were trained."""
    parts = [_table(headings, rows) for headings, rows in tables(content)]
    trained = [_origin(name, row) for name, row in content["rows"].items() if row["origin"]]
    return "\n\n".join([*parts, *trained]) + "\n"


def html(content: Mapping[str, Any]) -> str:
    """The two tables for notebooks."""
    parts = [pages.table(*one) for one in tables(content)]
    return pages.section(f"Card of {title(content)}", *parts)


def verdict(content: Mapping[str, Any]) -> str:
    """One sentence: whether a trained policy is as good as the best law, or by how much it loses.

    As good: its success rate is at least the law's lower bound, of the 95 % interval.
    """
    rows = content["rows"].items()
    laws = {name: row["merits"][ALL] for name, row in rows if not row["origin"]}
    trained = {name: row["merits"][ALL] for name, row in rows if row["origin"]}
    if not laws or not trained:
        return "There is no trained policy here." if laws else "There is no law here."
    (law, best), (name, learned) = (
        max(some.items(), key=lambda one: one[1]["success_rate"]) for some in (laws, trained)
    )
    figures = f"{_percent(learned['success_rate'])} against {_percent(best['success_rate'])}"
    if learned["success_rate"] >= best["success_interval"][0]:
        return f"The trained policy (`{name}`) is on a par with the best law (`{law}`): {figures}."
    return f"**Learning loses here**: `{name}` succeeds less often than the law `{law}`, {figures}."


def _cells(merits: Mapping[str, Any]) -> tuple[str, ...]:
    low, high = merits["success_interval"]
    return (
        _percent(merits["success_rate"]),
        f"{100 * low:.1f} - {100 * high:.1f} %",
        f"{merits['final_error']:.3g}°",
        _shown(merits["settling_time"], "{:.3g} s"),
        _shown(merits["overshoot"], "{:.2g}°"),
        f"{merits['effort']:.3g} N m s",
        f"{merits['torque_variation']:.3g} N m",
        _shown(merits["unwound"], "{}"),
        _shown(merits["eigenaxis_share"], "{:.0%}"),
    )


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _origin(name: str, row: Mapping[str, Any]) -> str:
    made = row["origin"]
    text = f"`{name}`: {str(made.get('algo', 'policy')).upper().replace('_', '-')}"
    if "timesteps" in made:
        text += f", {made['timesteps']:,} steps"
    if "wall_time" in made:
        text += f" in {made['wall_time']:.0f} s"
    if row["of_seeds"]:
        each = ", ".join(f"{seed}: {_percent(rate)}" for seed, rate in row["of_seeds"].items())
        return f"{text}; success by seed of training {each}."
    return f"{text}, seed {made.get('seed', '-')}."


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(card: Card, path: Path) -> None:
    """Write the tables, the figures as JSON and the plot beside each other: .md, .json and .png.

    They replace what is there when all three are written, or not at all.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = card.as_dict()
    played = {name: row.played for name, row in card.rows.items()}
    tables, figures, plot = (path.with_name(f"{path.name}.{form}") for form in _FORMS)
    with replacing(tables) as temporary:
        temporary.write_text(page(content), "utf-8")
        with replacing(figures) as beside:
            beside.write_text(as_text(content), "utf-8")
            plots.save(plots.card(title(content), played), plot)
