# %% [markdown]
# # Three schemes from the same start
#
# A free body spins about its unstable middle axis and turns over again and again. Its energy and
# its angular momentum in the world are constant. What do the schemes make of that? This needs
# `rbgym[plot]` and writes compare_schemes.png and polhode.png.

# %%
import rbgym

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
# The largest errors, relative to the energy and the angular momentum at the start. In a notebook
# `runs["quat_em"]` alone shows such a table.

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
