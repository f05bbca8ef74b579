# %% [markdown]
# # First policy: train it and judge it
#
# PPO learns to bring a heavy top upright. You judge it on the fixed test set, against a PD law and
# the policy that the package ships. This needs `rbgym[agents]`, and writes judged.png and the
# folder run/; if that exists, it trains no further.

# %%
import os

import torch

import rbgym.agents
from rbgym.agents.judge import evaluate, plots
from rbgym.agents.train import load_policy, train

STEPS = int(os.environ.get("RBGYM_EXAMPLE_STEPS", "400000"))
EPISODES = 64
torch.set_num_threads(1)  # in networks this small, threads wait for each other

# %%
done = train(
    "RigidTop-v0",
    "ppo",
    out="run",
    timesteps=STEPS,
    evaluate_every=max(STEPS // 8, 1),
    report=print,
)
print(f"{done.results['timesteps']} steps")

# %% [markdown]
# The mean return on the validation set during the training.

# %%
for look in done.results["judgements"]:
    print(f"after {look['timesteps']} steps: {look['mean_return']:.0f}")

# %% [markdown]
# Three candidates fly from the same start states.

# %%
candidates = {
    "trained here": load_policy(done.folder),
    "shipped": rbgym.agents.load("RigidTop-v0"),
    "pd": "pd",
}
found = {name: evaluate(one, "RigidTop-v0", EPISODES) for name, one in candidates.items()}
for name, one in found.items():
    low, high = (100 * bound for bound in one.success_interval)
    print(
        f"{name}: success {100 * one.success_rate:.0f} % (95 %: {low:.0f} to {high:.0f}), ", end=""
    )
    print(f"mean return {one.mean_return:.0f}")

# %%
figure = plots.comparison(found)
figure.savefig("judged.png")
figure
