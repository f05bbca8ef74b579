"""Judge every trained policy with an installed wheel, offline. `make wheel-policies` runs it.

Each must reach what its page in the package promises, in the condition that it was trained for: a
success rate within that page's interval.
"""

import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

RBGYM = str(Path(sys.executable).with_name("rbgym"))
# For programs that obey proxies, where no network could be taken away: nobody listens at this port.
NOWHERE = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
PROMISED = re.compile(r"\| success \| (.+?) % \(95 % interval (.+?) - (.+?) %\)")


def judge(page: Path, env: str, condition: str | None = None) -> bool:
    """Print a line about the policy of a page, and return whether it keeps its promise."""
    from rbgym.agents import load
    from rbgym.agents.judge import evaluate
    from rbgym.agents.judge.card import Condition, conditions_of

    where = conditions_of(env, {})[condition] if condition else Condition({}, {})
    policy = load(env, condition)
    found = evaluate(policy, env, estimator=where.estimating, **where.env_kwargs)
    promise = map(float, PROMISED.search(page.read_text("utf-8")).groups())
    rate, (told, low, high) = 100 * found.success_rate, promise
    kept = low - 0.05 <= rate <= high + 0.05  # the page has one decimal
    print(
        f"{env:22}{condition or '':10}"
        f"{rate:11.1f}{told:11.1f}{found.mean_return:12.1f}{found.episodes:10d}"
        f"  {'' if kept else 'BROKEN'}".rstrip(),
        flush=True,
    )
    return kept


def main() -> None:
    """Judge all policies and end with status 1 if one is not what its page says."""
    os.environ |= NOWHERE
    import rbgym

    if "site-packages" not in str(rbgym.__file__):
        raise SystemExit(f"rbgym came from {rbgym.__file__}, not from the wheel")
    subprocess.run([RBGYM, "evaluate", "pretrained", "--episodes", "8"], check=True)
    print(f"{'environment':32}{'success [%]':>11}{'page [%]':>11}{'return':>12}{'episodes':>10}")
    shelf = Path(str(files("rbgym.agents"))) / "pretrained"
    pages = sorted(shelf.rglob("README.md"))
    kept = [judge(page, *page.parent.relative_to(shelf).parts) for page in pages]
    print(f"{sum(kept)} of {len(kept)} trained policies keep the promise of their page")
    raise SystemExit(not (kept and all(kept)))


if __name__ == "__main__":
    main()
