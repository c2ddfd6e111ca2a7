"""The paper's toy experiment; the paper reports 0.54 with 100 choices and 0.72 with 300."""

import pytest

from choicebo.experiments.accuracy import choice_gp, toy_split
from choicebo.model.engines import question_engine
from choicebo.model.gp import ChoiceGP


def accuracies(n_choices: int, seeds: range, model: ChoiceGP = ChoiceGP()) -> list[float]:
    return [choice_gp(toy_split(n_choices, seed), model)["accuracy"]["pareto"] for seed in seeds]


def test_two_seeds_with_100_choices_are_well_above_the_papers_accuracy():
    found = accuracies(100, range(2), ChoiceGP(engine=question_engine("hmc")))
    assert sum(found) / 2 >= 0.70


@pytest.mark.slow
@pytest.mark.parametrize(("n_choices", "least"), [(100, 0.74), (300, 0.79)])
def test_five_seeds_stay_far_above_the_papers_accuracy(n_choices, least):
    found = accuracies(n_choices, range(5))
    assert sum(found) / 5 >= least, found
    assert min(found) >= 0.6, found
