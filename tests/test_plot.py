"""Plots show the physics that they say, in a look that survives print, and touch nothing else."""

import itertools
import re
import warnings
from functools import cache

import numpy as np
import pytest

from pages import DOCS
from refusals import refused

pytest.importorskip("matplotlib")


import rbgym
from rbgym.plot import Errors, figures

pytestmark = pytest.mark.interpreted

FREE = rbgym.RigidBody([6.0, 8.0, 3.0])


@cache
def flip():
    return rbgym.simulate(FREE, dt=0.02, steps=700, angular_velocity=(5.0, 0.02, 0.02))


@cache
def top():
    start = {"angular_velocity": (1.0, 2.0, 20.0), "potential": rbgym.HeavyTop(20.0)}
    return rbgym.simulate(FREE, dt=0.01, steps=60, **start)


def labelled(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def drawn(figure):
    """The figure put on its canvas; a warning on the way is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()
    return figure


def test_the_gallery_shows_every_plot_in_a_small_file():
    page = (DOCS / "rendering.md").read_text("utf-8")
    assert all(name in page for name in rbgym.plot.__all__)
    shown = set(re.findall(r"\(pictures/plots/(\w+\.png)\)", page))
    pictures = {file.name: file.stat().st_size for file in (DOCS / "pictures/plots").iterdir()}
    assert shown == set(pictures)
    assert max(pictures.values()) < 60_000


def test_a_summary_shows_every_component_at_every_instant():
    attitude, rates = rbgym.plot.summary(top()).axes[:2]
    shown = [line.get_ydata() for line in attitude.get_lines()]
    np.testing.assert_array_equal(shown, top().quaternion.T)
    shown = [line.get_ydata() for line in rates.get_lines()]
    np.testing.assert_array_equal(shown, top().angular_velocity.T)
    assert "[rad/s]" in rates.get_ylabel()
    assert rates.get_xlabel() == "time [s]"


@pytest.mark.parametrize("motion", [flip, top])
def test_a_line_of_drift_ends_at_the_largest_error_and_its_marker_at_the_final_one(motion):
    run = motion()
    ax = rbgym.plot.summary(run).axes[-1]
    lines = [line for line in ax.get_lines() if line.get_label().count(":")]
    markers = [line for line in ax.get_lines() if line.get_linestyle() == "None"]
    for line, marker, name in zip(lines, markers, run.conserved, strict=True):
        found = run.drift()[name]
        assert line.get_label().startswith(name.replace("_", " "))
        assert np.all(np.diff(line.get_ydata()) >= 0)
        assert line.get_ydata()[-1] == max(found["max"], 1e-18)
        assert marker.get_ydata()[-1] == max(found["final"], 1e-18)
    low, high = ax.get_ylim()
    assert low < 1e-18
    assert high > max(run.drift()[name]["max"] for name in run.conserved)


def test_drifts_of_several_motions_share_their_axis():
    figure = rbgym.plot.drifts({"free": flip(), "top": top()})
    energy, momentum = figure.axes
    assert energy.get_ylim() == momentum.get_ylim()
    worst = labelled(energy)["top"].get_ydata()[-1]
    assert worst == max(top().drift()["energy"]["max"], 1e-18)
    assert momentum.get_title() == "vertical momentum"
    worst = labelled(momentum)["top"].get_ydata()[-1]
    assert worst == max(top().drift()["vertical_momentum"]["max"], 1e-18)
    assert rbgym.plot.drifts({"free": flip()}).axes[1].get_title() == "angular momentum"


def path_of(figure, body):
    """The directions of the drawn motion, near and far side put together again."""
    (ax,) = figure.axes
    near = labelled(ax)["the motion"]
    far = ax.get_lines()[ax.get_lines().index(near) - 1]
    x, y = np.where(np.isnan(near.get_data()), far.get_data(), near.get_data())
    depth = np.sqrt(np.maximum(1.0 - x**2 - y**2, 0.0))
    depth = np.where(np.isnan(near.get_xdata()), -depth, depth)
    return np.stack([x, y, depth], axis=1) @ figures.view(body)


def test_a_polhode_is_the_direction_of_j_omega_on_the_unit_sphere():
    u = path_of(rbgym.plot.polhode(flip()), FREE)
    m = FREE.moments * flip().angular_velocity
    np.testing.assert_allclose(u, m / np.linalg.norm(m, axis=1)[:, None], rtol=0, atol=1e-6)
    assert u[:, 0].min() < -0.99 < 0.99 < u[:, 0].max()  # the unstable axis turns over


@pytest.mark.parametrize("moments", list(itertools.permutations((2.0, 3.0, 4.0))))
def test_the_view_is_no_mirror_image(moments):
    seen = figures.view(rbgym.RigidBody(moments))
    np.testing.assert_allclose(seen @ seen.T, np.eye(3), rtol=0, atol=1e-15)
    assert np.linalg.det(seen) == pytest.approx(1.0)


@pytest.mark.parametrize("moments", [(6.0, 8.0, 3.0), (1.0, 1.0, 1.5), (2.0, 1.0, 2.0)])
def test_curves_of_constant_energy_have_that_energy_and_unit_length(moments):
    J = np.array(moments)
    for share in (0.1, 0.5, 0.9):
        level = share / J.min() + (1 - share) / J.max()
        found = list(figures.energy_curves(J, level))
        assert len(found) == 2
        for u in found:
            np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1.0, rtol=1e-14)
            np.testing.assert_allclose(u**2 @ (1 / J), level, rtol=1e-14)
    assert not list(figures.energy_curves(J, 2.0 / J.min()))


def test_the_separatrix_runs_through_the_middle_axis_and_a_free_motion_keeps_to_its_curve():
    J = FREE.moments
    for u in figures.energy_curves(J, 1 / 6.0):
        assert np.abs(u[:, 0]).max() == 1.0
    u = path_of(rbgym.plot.polhode(flip()), FREE)
    np.testing.assert_allclose(u**2 @ (1 / J), u[0] ** 2 @ (1 / J), rtol=1e-6)


def test_a_body_at_rest_has_no_polhode_but_a_summary():
    still = rbgym.simulate(FREE, dt=0.05, steps=5)
    with pytest.raises(ValueError, match="angular momentum at each instant"):
        rbgym.plot.polhode(still)
    assert len(rbgym.plot.summary(still).axes) == 3
    assert len(drawn(rbgym.plot.summary(top(), "a title")).axes) == 4


TIME = np.arange(4) * 0.5
NAN = np.nan
ANGLES = np.array([[2.0, 1.0, 3.0], [1.0, 0.5, NAN], [0.5, 0.1, NAN], [NAN, NAN, NAN]])


def test_bands_leave_out_what_has_ended_and_end_with_the_last():
    low, median, high = figures.quantiles(ANGLES)
    np.testing.assert_allclose(median, [2.0, 0.75, 0.3, NAN])
    assert low[0] == pytest.approx(np.percentile([2.0, 1.0, 3.0], 5))
    assert high[1] == pytest.approx(np.percentile([1.0, 0.5], 95))


def test_pointing_shows_degrees_and_what_counts_as_settled():
    runs = {"a": Errors(TIME, ANGLES, ANGLES), "b": Errors([*TIME], [*ANGLES[:, 0]], ANGLES[:, 0])}
    attitude, rate = drawn(rbgym.plot.pointing(runs, (0.1, 0.2))).axes
    shown = labelled(attitude)["b"].get_ydata()
    np.testing.assert_allclose(shown[:3], np.degrees(ANGLES[:3, 0]))
    assert "[deg]" in attitude.get_ylabel()
    levels = [line.get_ydata()[0] for line in (attitude.get_lines()[-1], rate.get_lines()[-1])]
    np.testing.assert_allclose(levels, [np.degrees(0.1), 0.2])


@refused(
    (lambda: rbgym.plot.drifts({}), "trajectories must have at least one"),
    (lambda: rbgym.plot.pointing({}), "runs must have at least one"),
    (lambda: rbgym.plot.pointing({"a": Errors(TIME, ANGLES, TIME[1:])}), "runs.'a'. must have"),
    (lambda: rbgym.plot.pointing({"a": Errors(TIME, ANGLES, ANGLES)}, (0.1, -1)), "settled must"),
)
def test_bad_data_is_a_value_error_that_names_it(call):
    call()
