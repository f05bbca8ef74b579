"""Intervals, requirements and sensitivities of campaigns, against scipy and known answers."""

import math

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from scipy import stats

from rbgym.agents.campaigns.report import MET, NOT_MET, UNDECIDED, Requirement, _cell, _row
from rbgym.agents.campaigns.statistics import (
    Interval,
    Sample,
    can_show,
    effects,
    rank_biserial,
    share_bounds,
)
from refusals import refused

pytestmark = pytest.mark.interpreted

FIGURES = ["ape_deg", "settling_s"]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.95, 0.9973])
@pytest.mark.parametrize("n", [60, 1000, 5000])
def test_the_interval_of_a_quantile_is_scipys(p, n):
    values = np.random.default_rng(n).exponential(size=n)
    found = Sample(values).quantile(p, 0.9)
    theirs = stats.quantile_test(values, p=p).confidence_interval(0.9)
    low, high = (-math.inf if math.isnan(theirs.low) else theirs.low,
                 math.inf if math.isnan(theirs.high) else theirs.high)  # fmt: skip
    assert (found.low, found.high) == (low, high)
    assert found.value == np.quantile(values, p, method="inverted_cdf")


@pytest.mark.parametrize("of_success", [False, True])
@pytest.mark.parametrize(("count", "alike", "true", "low", "high"),
                         [(20, 0.8, 0.95, 0.0, 0.06), (32, 0.1, 0.99, 0.9, 1.0)])  # fmt: skip
def test_groups_of_runs_rarely_show_95_percent_by_luck(count, alike, true, low, high, of_success):
    rng, groups, shown, held = np.random.default_rng(4), np.repeat(np.arange(count), 32), 0, 0
    for _ in range(200):
        values = np.repeat(math.sqrt(alike) * rng.normal(size=count), 32)
        values += math.sqrt(1.0 - alike) * rng.normal(size=len(values))
        hits = (values <= stats.norm.ppf(true)).astype(float)
        n = Sample(hits if of_success else values, groups).effective(hits, 0.95)
        shown += share_bounds(hits.mean() * n, n, 0.95)[0] >= 0.95
        found = Sample(values, groups).quantile(true)
        held += found.low <= stats.norm.ppf(true) <= found.high
    assert low <= shown / 200 <= high
    assert held / 200 > 0.95


def test_a_run_that_fails_does_not_make_two_groups_surer():
    groups, hits = np.repeat([0, 1], 25), np.ones(50)
    for hits[7] in (1.0, 0.0):
        assert Sample(hits, groups).effective(hits, 0.95) == 2.0
    assert Sample(hits, np.zeros(50, dtype=int)).effective(hits, 0.95) == 1.0
    assert [can_show(0.99, 0.95, n, 32) for n in (1280, 1920, 9536)] == [False, True, True]


def test_bounds_of_a_share_are_those_of_clopper_and_pearson():
    for hits, n in ((0, 20), (3, 20), (990, 1000), (50, 50)):
        test = stats.binomtest(hits, n)
        assert share_bounds(hits, n, 0.975) == pytest.approx(tuple(test.proportion_ci(0.95)))


def test_a_paired_interval_is_students_of_the_differences():
    rng = np.random.default_rng(5)
    ours = rng.normal(size=200)
    theirs = ours - 0.1 + 0.05 * rng.normal(size=200)
    found = Sample(ours).more_than(Sample(theirs))
    low, high = stats.ttest_rel(ours, theirs).confidence_interval()
    assert found == pytest.approx((np.mean(ours - theirs), low, high))
    far = np.array([np.inf, *theirs[1:]])
    assert Sample(ours).more_than(Sample(far)).value == pytest.approx(np.mean((ours - far)[1:]))
    groups = np.repeat([0, 1], [160, 40])
    grouped = Sample(ours, groups).more_than(Sample(ours * groups, groups))
    assert grouped.value == pytest.approx(np.mean(ours * (1 - groups)))
    assert grouped.low < 0.0 < grouped.high
    assert Sample(ours[:1]).more_than(Sample(theirs[:1]))[1:] == (-math.inf, math.inf)


def one(figure="ape_deg", **wanted):
    return Requirement.read({figure: wanted}, FIGURES, 10**6)[0]


def test_a_requirement_is_met_exactly_where_the_order_statistic_is_within():
    rng = np.random.default_rng(6)
    for limit in (2.0, 2.4, 2.8, 3.0, 3.2, 3.6):
        wanted, values = one(quantile=0.95, at_most=limit), rng.exponential(size=400)
        said = wanted.judge(Sample(values))
        # One-sided at 95 %: the upper end of a two-sided interval at 90 %.
        both = Sample(values).quantile(0.95, 0.9)
        expected = MET if both.high <= limit else NOT_MET if both.low > limit else UNDECIDED
        assert said.verdict == expected
        assert said.margin == pytest.approx(limit - said.value)
        assert (said.shown >= 0.95) == (said.verdict == MET)
        assert (said.decides is not None) == (said.verdict == UNDECIDED)


def test_as_many_runs_as_are_said_decide():
    said = one("success", at_least=0.97).judge(Sample(np.repeat([1.0, 0.0], [491, 9])))
    assert said.verdict == UNDECIDED
    for n, verdict in ((said.decides, MET), (said.decides * 2 // 3, UNDECIDED)):
        hits = np.arange(n) < math.ceil(0.982 * n)
        assert one("success", at_least=0.97).judge(Sample(hits.astype(float))).verdict == verdict


def test_what_is_nearly_sure_is_not_shown_as_sure():
    wanted, hits = one("success", at_least=0.99), (np.arange(10**5) > 2).astype(float)
    shown = _row("pd", wanted, wanted.judge(Sample(hits)))
    assert (shown[2], shown[3], shown[5]) == ("0.99997", "0.9999 to 0.99999", "99.99 %")
    assert _cell(Interval(0.9996, 0.999, 1.0)) == "0.9996 (0.999 to 1)"


def test_at_least_is_at_most_the_other_way_round():
    values = np.random.default_rng(7).normal(size=300)
    for lost in (0, 27):  # runs whose integration failed
        values[:lost] = np.nan
        most = one(quantile=0.9, at_most=1.5).judge(Sample(values))
        least = one(quantile=0.9, at_least=-1.5).judge(Sample(-values))
        assert least.verdict == most.verdict
        assert (least.value, least.low, least.margin) == (-most.value, -most.high, most.margin)
        assert (most.high == math.inf) == (lost > 0)
    wanted = {"quantile": 0.9, "at_most": 1.5}
    others = {"at_most": 1.5000001}, {"confidence": 0.9}, {"quantile": 0.90000001}
    assert len({str(one(**(wanted | other))) for other in ({}, *others)}) == 4


@refused(
    ({"apt_deg": {}}, "require must have keys from .* did you mean 'ape_deg'"),
    ({"rpe_deg": {"quantile": 0.9, "at_most": 1}}, r"keys from \['success', 'ape_deg'"),
    ({"ape_deg": {"quantile": 0.9}}, "must have one number at_most or at_least"),
    ({"ape_deg": {"quantile": 0.9, "at_most": 1, "at_least": 0}}, "must have one number"),
    ({"ape_deg": {"quantile": 1, "at_most": 1}}, "quantile must be between 0 and 1"),
    ({"ape_deg": {"quantile": 0.9, "at_most": "x"}}, "must have one number"),
    ({"success": {"at_least": 1.2}}, "at_least must be between 0 and 1"),
    ({"success": {"at_least": 0.9, "confidence": 95}}, "confidence must be between 0.5 and 1"),
    ({"ape_deg": [{"quantile": 0.9973, "at_most": 1}]}, "runs must be at least 1109 for .* got 99"),
)
def test_a_requirement_that_is_none_is_refused(require):
    Requirement.read(require, FIGURES, 99)


def test_a_rare_fault_stands_before_what_matters_less_and_sizes_are_told_from_signs():
    rng, n = np.random.default_rng(8), 2000
    draws = {"fault": (rng.random(n) < 0.05) * rng.integers(1, 5, n), "tilt": rng.normal(3, 1, n),
             "other": rng.normal(size=n)}  # fmt: skip
    ape = np.abs(draws["tilt"] - 3.0) + 5.0 * (draws["fault"] > 0) + 0.1 * rng.normal(size=n)
    failed = (draws["fault"] > 0) & (rng.random(n) < 0.5)
    found = effects(draws | {"ape_deg": ape}, dict.fromkeys(draws, n), {"failures": failed})
    assert (found[0].draw, found[0].of) == ("fault", "failures")
    of_ape = [one for one in found if one.of == "ape_deg" and "fault " not in one.draw]  # all kinds
    assert [one.draw for one in of_ape] == ["fault", "tilt", "other"]
    assert of_ape[1].name == "|tilt|"
    assert of_ape[2].low < 0.0 < of_ape[2].high
    assert of_ape[1].value > 0.8


def test_kinds_of_faults_are_told_apart_and_luck_drives_nothing():
    rng, n, lucky = np.random.default_rng(10), 400, 0
    draws = {"fault": rng.integers(1, 3, n), "fault_time": np.arange(n) % 50 - 1.0}
    ape = np.where(draws["fault_time"] < 0.0, np.nan, draws["fault_time"] + 90.0 * draws["fault"])
    found = effects(draws | {"ape_deg": ape}, dict.fromkeys(draws, n), {})
    assert [one.draw for one in found] == ["fault stuck", "fault weak", "fault_time"]
    assert found[1].value == -found[0].value > 0.9
    there = [values[draws["fault_time"] >= 0.0] for values in (draws["fault_time"], ape)]
    assert found[2].value == pytest.approx(stats.spearmanr(*there).statistic)
    for _ in range(100):
        columns = dict(zip([*"abcdefgh", *FIGURES], rng.normal(size=(10, 50)), strict=True))
        lucky += effects(columns, dict.fromkeys("abcdefgh", 50), {})[0].strength[0] > 0.0
    assert lucky < 10


def test_a_rank_biserial_correlation_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(9)
    values, there = rng.normal(size=100), rng.random(100) < 0.3
    r, low, high = rank_biserial(stats.rankdata(values), there, 100, 2.0)
    u = stats.mannwhitneyu(values[there], values[~there]).statistic
    assert r == pytest.approx(2.0 * u / (there.sum() * (~there).sum()) - 1.0)
    assert low < r < high
    again = rank_biserial(stats.rankdata(values), there, 25, 2.0)
    assert again[2] - again[1] == pytest.approx(2.0 * (high - low))
    perfect = rank_biserial(np.arange(1.0, 101.0), np.arange(100) > 94, 100, 2.0)
    assert perfect.low < 0.99 < perfect.value == perfect.high == 1.0
