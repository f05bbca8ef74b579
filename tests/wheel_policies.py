"""Judge every trained policy with an installed wheel, offline. `make wheel-policies` runs it.

Each must reach what its page in the package promises: a success rate within that page's interval.
"""

import json
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


def read(*arguments: str) -> dict:
    """What a command prints as JSON."""
    command = [RBGYM, *arguments, "--json"]
    told = subprocess.run(command, env=os.environ | NOWHERE, stdout=subprocess.PIPE, check=True)
    return json.loads(told.stdout)


def promised(env: str) -> tuple[float, float, float]:
    """Success rate on the page of a trained policy, and its interval, in percent."""
    page = files("rbgym.agents") / "pretrained" / env / "README.md"
    rate, low, high = PROMISED.search(page.read_text("utf-8")).groups()
    return float(rate), float(low), float(high)


def judge(env: str) -> bool:
    """Print a line about a policy, and return whether it keeps its promise."""
    found = read("evaluate", env, "--policy", "pretrained")["pretrained"]
    rate, (page, low, high) = 100 * found["success_rate"], promised(env)
    kept = low - 0.05 <= rate <= high + 0.05  # the page has one decimal
    print(
        f"{env:24}{rate:11.1f}{page:11.1f}{found['mean_return']:12.1f}{found['episodes']:10d}"
        f"  {'' if kept else 'BROKEN'}".rstrip(),
        flush=True,
    )
    return kept


def main() -> None:
    """Judge all environments and end with status 1 if one policy is not what its page says."""
    import rbgym

    if "site-packages" not in str(rbgym.__file__):
        raise SystemExit(f"rbgym came from {rbgym.__file__}, not from the wheel")
    print(f"{'environment':24}{'success [%]':>11}{'page [%]':>11}{'return':>12}{'episodes':>10}")
    shelf = files("rbgym.agents") / "pretrained"
    listed = [entry["env"] for entry in read("list")["environments"]]
    kept = [judge(env_id) for env_id in listed if (shelf / env_id).is_dir()]
    print(f"{sum(kept)} of {len(kept)} trained policies keep the promise of their page")
    raise SystemExit(not (kept and all(kept)))


if __name__ == "__main__":
    main()
