# %% [markdown]
# # Conservation, and what an accuracy costs
#
# A free body spins about its unstable middle axis and turns over again and again. Its energy and
# its angular momentum in the world are constant. What do the schemes make of that? This needs
# `rbgym[plot]` and writes compare_schemes.png, polhode.png and work_precision.png.

# %%
from time import process_time

import rbgym
from rbgym.plot import style
from rbgym.quaternion import angle_between

SCHEMES = ("quat_em", "imid", "rkn4")  # energy and momentum; energy; neither, but of order 4

# %%
body = rbgym.RigidBody(inertia=[6.0, 8.0, 3.0])
runs = {
    scheme: rbgym.simulate(
        body, integrator=scheme, dt=0.05, steps=4000, angular_velocity=(10.0, 0.1, 0.1)
    )
    for scheme in SCHEMES
}

# %% [markdown]
# The largest errors, relative to the energy and the angular momentum at the start.

# %%
print(f"{'scheme':10}{'energy':>12}{'momentum':>12}")
for scheme, run in runs.items():
    drift = run.drift()
    print(f"{scheme:10}{drift['energy']['max']:12.1e}{drift['angular_momentum']['max']:12.1e}")

# %%
figure = rbgym.plot.drifts(runs, "A free body, dt = 0.05 s")
figure.savefig("compare_schemes.png")
figure

# %% [markdown]
# Seen from the body, the angular momentum runs along a curve of constant energy; a scheme that
# loses energy leaves it.

# %%
figure = rbgym.plot.polhode(runs["rkn4"], title="rkn4, dt = 0.05 s")
figure.savefig("polhode.png")
figure

# %% [markdown]
# Conserving is not the same as being on time. A heavy top, 0.4 s: the error of the attitude against
# the processor time of one of 2,048 tops, with more and more steps. The reference is `exact:6`.

# %%
top, weight = rbgym.RigidBody(inertia=[0.5, 0.7, 0.3]), rbgym.HeavyTop(5.886)


def end(scheme, steps):
    """The attitude after 0.4 s, and the time that a top took [us]."""
    batch = rbgym.Batch(top, scheme, weight, size=2048)
    batch.set_state((0.96, 0.28, 0.0, 0.0), (1.0, 2.0, 10.0))
    start = process_time()
    batch.advance(0.4 / steps, steps)
    return batch.measure()["quaternion"][0], (process_time() - start) / 2048 * 1e6


truth = end("exact:6", 2000)[0]
curves = {}
for scheme in ("exact:4", "quat_em", "rkn4"):
    end(scheme, 10)  # compiles
    points = [end(scheme, steps) for steps in (10, 20, 50, 100, 200, 500)]
    errors = [angle_between(q, truth).item() for q, _ in points]
    curves[scheme] = [time for _, time in points], errors

# %%
with style.context():
    figure = style.picture(5.6, 3.9)
    axes = figure.subplots()
    for number, (scheme, curve) in enumerate(curves.items()):
        axes.loglog(*curve, label=scheme, **style.marked(number))
    axes.set(xlabel="time [us]", ylabel="error [rad]")
    axes.legend()
figure.savefig("work_precision.png")
figure
