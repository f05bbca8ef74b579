"""Measures policies and controllers: evaluations, cards, videos and plots."""

from rbgym.agents.judge.card import Card, make_card
from rbgym.agents.judge.evaluation import Evaluation, evaluate

__all__ = ["Card", "Evaluation", "evaluate", "make_card"]
