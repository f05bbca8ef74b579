"""Intervals, requirements and sensitivities of campaigns, against scipy and known answers."""

import math

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from scipy import stats

from rbgym.agents.campaigns.report import MET, NOT_MET, UNDECIDED, Requirement
from rbgym.agents.campaigns.statistics import (
    Sample,
    effects,
    least_runs,
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


def test_runs_that_share_draws_count_for_less():
    rng, groups, held, naive = np.random.default_rng(4), np.repeat(np.arange(60), 16), 0, 0
    for _ in range(300):
        values = np.repeat(rng.normal(size=60), 16) + 0.3 * rng.normal(size=960)
        truth = math.sqrt(1.09) * stats.norm.ppf(0.9)
        for sample in (Sample(values, groups), Sample(values)):
            found = sample.quantile(0.9)
            inside = found.low <= truth <= found.high
            held, naive = held + inside * (sample.groups is not None), naive + inside
    assert held / 300 > 0.92
    assert naive - held < 0.6 * 300


def test_a_run_that_fails_does_not_make_two_groups_surer():
    groups, hits = np.repeat([0, 1], 25), np.ones(50)
    none = Sample(hits, groups).effective(hits)
    hits[7] = 0.0
    assert none == 2.0
    assert Sample(hits, groups).effective(hits) == pytest.approx(2.0, abs=0.5)
    one = np.zeros(50, dtype=int)
    assert Sample(hits, one).effective(hits) == 1.0


def test_bounds_of_a_share_are_those_of_clopper_and_pearson():
    for hits, n in ((0, 20), (3, 20), (990, 1000), (50, 50)):
        test = stats.binomtest(hits, n)
        assert share_bounds(hits, n, 0.975) == pytest.approx(tuple(test.proportion_ci(0.95)))


def test_the_fewest_runs_for_three_sigma_are_1109():
    assert least_runs(0.9973, 0.95) == 1109
    assert 0.9973**1109 <= 0.05 < 0.9973**1108


def test_a_paired_interval_is_students_of_the_differences():
    rng = np.random.default_rng(5)
    ours = rng.normal(size=200)
    theirs = ours - 0.1 + 0.05 * rng.normal(size=200)
    found = Sample(ours).more_than(Sample(theirs))
    low, high = stats.ttest_rel(ours, theirs).confidence_interval()
    assert found == pytest.approx((np.mean(ours - theirs), low, high))
    far = np.array([np.inf, *theirs[1:]])
    assert Sample(ours).more_than(Sample(far)).value == pytest.approx(np.mean((ours - far)[1:]))


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


def test_at_least_is_at_most_the_other_way_round():
    values = np.random.default_rng(7).normal(size=300)
    most = one(quantile=0.9, at_most=1.5).judge(Sample(values))
    least = one(quantile=0.9, at_least=-1.5).judge(Sample(-values))
    assert least.verdict == most.verdict
    assert (least.value, least.low, least.margin) == (-most.value, -most.high, most.margin)


@refused(
    ({"apt_deg": {}}, "require must have keys from .* did you mean 'ape_deg'"),
    ({"rpe_deg": {"quantile": 0.9, "at_most": 1}}, r"keys from \['success', 'ape_deg'"),
    ({"ape_deg": {"quantile": 0.9}}, "must have one number at_most or at_least"),
    ({"ape_deg": {"quantile": 0.9, "at_most": 1, "at_least": 0}}, "must have one number"),
    ({"ape_deg": {"quantile": 1, "at_most": 1}}, "quantile must be between 0 and 1"),
    ({"ape_deg": {"quantile": 0.9, "at_most": "x"}}, "must have one number"),
    ({"success": {"at_least": 1.2}}, "at_least must be between 0 and 1"),
    ({"success": {"at_least": 0.9, "confidence": 95}}, "confidence must be between 0 and 1"),
    ({"ape_deg": [{"quantile": 0.9973, "at_most": 1}]}, "runs must be at least 1109 for .* got 99"),
)
def test_a_requirement_that_is_none_is_refused(require):
    Requirement.read(require, FIGURES, 99)


def test_a_rare_fault_stands_before_what_matters_less_and_sizes_are_told_from_signs():
    rng, n = np.random.default_rng(8), 2000
    draws = {"fault": (rng.random(n) < 0.05) * 0.17, "tilt": rng.normal(size=n),
             "other": rng.normal(size=n)}  # fmt: skip
    ape = np.abs(draws["tilt"]) + 5.0 * (draws["fault"] > 0) + 0.1 * rng.normal(size=n)
    failed = (draws["fault"] > 0) & (rng.random(n) < 0.5)
    found = effects(draws | {"ape_deg": ape}, dict.fromkeys(draws, n), {"failures": failed})
    assert (found[0].draw, found[0].of) == ("fault", "failures")
    of_ape = [one for one in found if one.of == "ape_deg"]
    assert [one.draw for one in of_ape] == ["fault", "tilt", "other"]
    assert of_ape[1].name == "|tilt|"
    assert of_ape[2].low < 0.0 < of_ape[2].high
    assert of_ape[1].value > 0.8


def test_a_rank_biserial_correlation_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(9)
    values, there = rng.normal(size=100), rng.random(100) < 0.3
    r, low, high = rank_biserial(stats.rankdata(values), there, 100)
    u = stats.mannwhitneyu(values[there], values[~there]).statistic
    assert r == pytest.approx(2.0 * u / (there.sum() * (~there).sum()) - 1.0)
    assert low < r < high
    again = rank_biserial(stats.rankdata(values), there, 25)
    assert again[2] - again[1] == pytest.approx(2.0 * (high - low))
