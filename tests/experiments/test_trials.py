import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choicebo.errors import InvalidInputError
from choicebo.experiments.trials import FinishedTrial, Trial, seed_of

words = st.text("abcdefghij-0123456789", min_size=1, max_size=8)
settings = st.dictionaries(words, st.one_of(st.integers(0, 99), st.floats(0, 1), words), max_size=3)
trials = st.builds(Trial, words, words, words, st.integers(0, 99), settings)


@given(trials, trials)
def test_trials_have_the_same_name_only_if_they_are_the_same(one, other):
    texts = [{key: str(value) for key, value in trial.settings.items()} for trial in (one, other)]
    same = (one.experiment, one.task, one.method, one.repetition, texts[0]) == (
        other.experiment,
        other.task,
        other.method,
        other.repetition,
        texts[1],
    )
    assert (one.name == other.name) == same


@given(trials)
def test_a_finished_trial_survives_json(trial):
    done = FinishedTrial(trial, {"curve": [1.0, 0.5]}, 2.25, "2026-01-01T00:00:00+00:00", "0.1.0")
    assert FinishedTrial.from_dict(json.loads(json.dumps(done.to_dict()))) == done


def test_the_seed_of_a_trial_follows_from_its_name_alone():
    trial = Trial("bo", "zdt1", "sobol", 3, {"b": 1, "a": 2})
    assert trial.seed == Trial("bo", "zdt1", "sobol", 3, {"a": 2, "b": 1}).seed == seed_of(trial.name)
    others = [Trial("bo", "zdt1", "sobol", 4), Trial("bo", "zdt2", "sobol", 3), Trial("bo", "zdt1", "parego", 3)]
    assert len({trial.seed, *(other.seed for other in others)}) == 4


@pytest.mark.parametrize(("task", "repetition"), [("a/b", 0), ("", 0), ("a?b", 0), ("a", -1)])
def test_a_name_that_could_be_taken_for_another_is_refused(task, repetition):
    with pytest.raises(InvalidInputError, match="give names without"):
        Trial("bo", task, "sobol", repetition)
