"""What notebooks show: the objects' own numbers, in whole and harmless HTML."""

from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import rbgym
from rbgym import html

VOID = {"br", "hr"}
BODY = rbgym.RigidBody([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])


class Reader(HTMLParser):
    """Cells of the tables by row, and text; fails on tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows, self.words = [], set(), [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_a_trajectory_shows_its_drift():
    run = rbgym.simulate(BODY, dt=0.05, steps=40, angular_velocity=(0.9, -0.7, 1.3))
    page = Reader(run._repr_html_())
    assert page.rows[0] == ["error", "max", "final"]
    for row, (name, found) in zip(page.rows[1:], run.drift().items(), strict=True):
        assert row == [name.replace("_", " "), f"{found['max']:.4g}", f"{found['final']:.4g}"]
    assert "script" not in page.tags


def test_a_body_shows_its_moments_and_principal_axes():
    page = Reader(BODY._repr_html_())
    for k, row in enumerate(page.rows[1:]):
        axis = BODY.principal_rotation[:, k]
        assert row == [str(k + 1), *(f"{x:.4g}" for x in (BODY.moments[k], *axis))]
        np.testing.assert_allclose(BODY.inertia @ axis, float(row[1]) * axis, rtol=1e-3, atol=1e-3)


def test_everything_from_outside_is_escaped():
    nasty = "<script>alert('x')</script> & \""
    shown = html.section(nasty, html.table([nasty], [[nasty]]))
    assert Reader(shown).tags.isdisjoint({"script"})
    assert Reader(html.table([nasty], [[nasty]])).rows == [[nasty], [nasty]]


def test_a_card_shows_the_cells_of_its_markdown():
    pytest.importorskip("stable_baselines3")
    import json
    from pathlib import Path

    from rbgym.agents.judge import tables
    from rbgym.agents.judge.card import Card

    cards = json.loads((Path(__file__).parents[1] / "docs" / "cards.json").read_text("utf-8"))
    content = cards["AttitudeSlew-v0"]
    shown = Card._repr_html_(SimpleNamespace(as_dict=lambda: content))
    lines = [x for x in tables.markdown(content).splitlines() if x.startswith("|")]
    cells = [[c.strip() for c in line[1:-1].split(" | ")] for line in lines if "---" not in line]
    assert [[c.strip() for c in row] for row in Reader(shown).rows] == cells
