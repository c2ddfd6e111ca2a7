"""A simulated baker, and what is believed about them."""

from __future__ import annotations

import numpy as np
import pytest
from insight_helpers import answers, believing, tastes

import choicebo as cb


@pytest.fixture(scope="session")
def bread():
    """Three parameters, of which two matter."""
    return cb.Space(
        [cb.Real("temperature", 150, 220), cb.Integer("minutes", 5, 40), cb.Categorical("flour", ["rye", "wheat"])]
    )


@pytest.fixture(scope="session")
def bread_data(bread):
    return answers(np.unique(bread.sample(60, seed=1), axis=0), tastes, 60)


@pytest.fixture(scope="session")
def bread_posterior(bread_data):
    return believing(bread_data, tastes)


@pytest.fixture(scope="session")
def slipped(bread_data):
    """The number of one answer that was given the wrong way round, and what is believed all the same."""
    number = next(k for k, choice in enumerate(bread_data.choices) if len(choice.rejected) == 2)
    choices = list(bread_data.choices)
    choices[number] = cb.Choice(choices[number].shown, choices[number].rejected)
    return number, believing(cb.ChoiceData(bread_data.X, choices), tastes)


@pytest.fixture(scope="session")
def two_answers(bread_data):
    return believing(bread_data.subset([0, 1]), tastes)
