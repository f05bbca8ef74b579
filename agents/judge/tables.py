"""Writes evaluations as tables: at a terminal, to a pipe, and as Markdown."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rbgym.agents.judge.episodes import Contender
from rbgym.agents.judge.evaluation import Evaluation
from rbgym.agents.terminal import plain, print_table, styled

Rows = list[tuple[str, ...]]
ALL = "all"  # the key of a card's figures over all categories


def part(value: float, digits: int = 3, kind: str = "g", whole: float = 1.0) -> str:
    """A part of the whole, with more digits where it would look like nothing or like all of it."""
    inside = 1e-9 < value / whole < 1.0 - 1e-9
    while inside and float(f"{value:.{digits}{kind}}") in (0.0, whole):
        digits += 1
    return f"{value:.{digits}{kind}}"


def percent(share: float) -> str:
    return part(100.0 * share, 1, "f", 100.0)


def _figure(name: str, text: Callable[[Any], str]) -> Callable[[Mapping[str, Any]], str]:
    """A function that formats one figure as a cell; a missing one as a dash."""
    return lambda merits: "-" if merits.get(name) is None else text(merits[name])


# The cell of each column, from the dict of `Evaluation.as_dict`.
_COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "success [%]": _figure("success_rate", percent),
    "95 % interval [%]": lambda merits: " - ".join(map(percent, merits["success_interval"])),
    "settling [s]": _figure("settling_time", "{:.2f}".format),
    "final error [deg]": _figure("final_error", "{:.3f}".format),
    "return": lambda merits: f"{merits['mean_return']:.1f} ± {merits['std_return']:.1f}",
    "length [steps]": _figure("length", "{:.1f}".format),
    "violating [%]": _figure("violating", percent),
    "overshoot [deg]": _figure("overshoot", "{:.2f}".format),
    "effort [N m s]": _figure("effort", "{:.3g}".format),
    "torque variation [N m]": _figure("torque_variation", "{:.3g}".format),
    "wheel turns": _figure("wheel_turns", "{:.0f}".format),
    "unwound": _figure("unwound", str),
    "of eigenaxis bound [%]": _figure("eigenaxis_share", lambda share: f"{100 * share:.0f}"),
}
# The columns of `rbgym evaluate` and of `rbgym card`.
_OF_EVALUATE = tuple(_COLUMNS)[:7]
_OF_CONDITIONS = ("success [%]", "return", "settling [s]", "effort [N m s]")
_OF_CARD = (*tuple(_COLUMNS)[:4], *tuple(_COLUMNS)[6:])
# Left out if all cells are empty: they need an attitude, constraints, wheels or a target.
_OF_SOME = ("final error [deg]", "violating [%]", "overshoot [deg]", *tuple(_COLUMNS)[-3:])


def _rows(merits: Mapping[str, Mapping[str, Any]], columns: Sequence[str]) -> Rows:
    return [(name, *(_COLUMNS[c](found) for c in columns)) for name, found in merits.items()]


def _non_empty(columns: Iterable[str], merits: Collection[Mapping[str, Any]]) -> list[str]:
    """The columns without those of `_OF_SOME` in which all cells are empty."""
    return [c for c in columns if c not in _OF_SOME or any(_COLUMNS[c](m) != "-" for m in merits)]


def print_evaluations(
    judged: Mapping[str, Evaluation], env_id: str, who: Sequence[Contender], which: str = "fixed"
) -> None:
    """Print a row for each policy, then differing arguments and tasks. which: kind of starts."""
    kwargs = who[0].env_kwargs
    differ = any(one.env_kwargs != kwargs for one in who)
    heading = title({"env_id": env_id, "env_kwargs": {} if differ else kwargs})
    heading += f", {next(iter(judged.values())).episodes} {which} start states"
    found = {name: one.as_dict() for name, one in judged.items()}
    columns = _non_empty(_OF_EVALUATE, found.values())
    print_table(heading, ("policy", *columns), _rows(found, columns))
    for one in who:
        if differ:
            print(plain(f"{one.name}: judged with {_arguments(one.env_kwargs) or 'no --env-arg'}"))
        trained = (one.config or {}).get("env_id", env_id)
        if trained.rpartition(":")[2] != env_id.rpartition(":")[2]:
            print(plain(f"{one.name}: trained for {trained}"))


def print_differences(evaluations: Mapping[str, Evaluation]) -> None:
    """Print the difference of each from the first, with 95 % intervals over the starts."""
    from rbgym.agents.judge.statistics import Interval, differences  # it needs scipy

    (first, base), *others = evaluations.items()
    found = {name: differences([one.played], [base.played]) for name, one in others}
    columns = max(found.values(), key=len)  # a cost only where both have constraints
    units = {"settling": "settling [s]", "effort": "effort [N m s]"}

    def cell(one: Interval | None) -> str:
        return "-" if one is None else "{:+.3g} ({:+.3g} to {:+.3g})".format(*one)

    rows = [(name, *(cell(one.get(c)) for c in columns)) for name, one in found.items()]
    heads = (units.get(name, name) for name in columns)
    print_table(f"More than {first}, 95 % intervals", ("policy", *heads), rows)


def title(card: Mapping[str, Any]) -> str:
    """A heading of env and arguments, from a card or any mapping with env_id and env_kwargs."""
    arguments = _arguments(card["env_kwargs"])
    return f"{card['env_id']} ({arguments})" if arguments else str(card["env_id"])


def _arguments(env_kwargs: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in env_kwargs.items())


# From here on, a card is the dict that `Card.as_dict` returns.
def _tables(card: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Rows]]:
    """Headings and rows of a card's tables: merits, success by category, each condition."""
    merits = {name: row["merits"] for name, row in card["rows"].items()}
    found = [one[ALL] for one in merits.values()]
    columns = _non_empty(_OF_CARD, found)
    yield ("", *columns), _rows(dict(zip(merits, found, strict=True)), columns)
    categories = [name for name in next(iter(merits.values())) if name != ALL]
    success = _COLUMNS["success [%]"]
    rates = [(name, *(success(found[c]) for c in categories)) for name, found in merits.items()]
    yield ("success of starts [%]", *categories), rates
    in_conditions = {name: row.get("conditions", {}) for name, row in card["rows"].items()}
    for condition in dict.fromkeys(c for found in in_conditions.values() for c in found):
        those = {name: one[condition] for name, one in in_conditions.items() if condition in one}
        yield (condition, *_OF_CONDITIONS), _rows(those, _OF_CONDITIONS)


def print_card(card: Mapping[str, Any]) -> None:
    """Print a card: as tables at a terminal, as Markdown elsewhere."""
    if not styled():
        print(plain(page(card)))
        return
    for (first, *headings), rows in _tables(card):
        print_table(first or title(card), ("policy", *headings), rows)


def page(card: Mapping[str, Any]) -> str:
    return f"# {title(card)}\n\n{markdown(card)}"


def markdown(card: Mapping[str, Any]) -> str:
    """The card's tables, the training of its policies, and the limits of its laws, as Markdown."""
    parts = []
    for headings, rows in _tables(card):
        lines = [headings, ["---"] * len(headings), *rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    trained = [_origin(name, row) for name, row in card["rows"].items() if row["origin"]]
    holds = [
        f"`{name}` holds for a {words} below {most:.3g}, here {value:.3g}."
        for name, row in card["rows"].items()
        for words, most, value in row.get("holds", ())  # an older card has none
    ]
    return "\n\n".join([*parts, *trained, *holds]) + "\n"


def _origin(name: str, row: Mapping[str, Any]) -> str:
    made = row["origin"]
    text = f"`{name}`: {str(made.get('algo', 'policy')).upper().replace('_', '-')}"
    if "timesteps" in made:
        text += f", {made['timesteps']:,} steps"
    if "wall_time" in made:
        text += f" in {made['wall_time']:.0f} s"
    if row["of_seeds"]:
        each = ", ".join(f"{seed}: {percent(rate)} %" for seed, rate in row["of_seeds"].items())
        median = f", seed {made.get('seed', '-')}, the median" if name.endswith("shipped") else ""
        return f"{text}{median}; success by seed of training {each}."
    return f"{text}, seed {made.get('seed', '-')}."
