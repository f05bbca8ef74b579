"""Numbers and tables as Markdown."""

from collections.abc import Iterable

NOT_MEASURED = "Not measured."


def table(head: list[str], rows: Iterable[list[str]], left: int = 1) -> str:
    """A Markdown table; all columns but the first ones are aligned to the right."""
    rule = ["---" if k < left else "---:" for k in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def number(x: float | None) -> str:
    """Three digits, or nothing; large and small ones with an exponent."""
    if x is None:
        return ""
    if x == 0 or 1e-3 <= abs(x) < 1e4:
        text = f"{x:#.3g}".rstrip(".")
        return f"{x:.0f}" if abs(x) >= 100 else text
    return f"{x:.1e}"


def spread(row: dict[str, float]) -> str:
    """Median and quartiles."""
    return f"{number(row['median'])} ({number(row['low'])} to {number(row['high'])})"
