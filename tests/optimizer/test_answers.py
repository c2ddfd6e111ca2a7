"""Ways of answering in the loop: what is asked, what is told, and what is learned from it."""

from __future__ import annotations

import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.optimizer import Settings

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])


def loop(**settings):
    return cb.ChoiceOptimizer(SPACE, **{"engine": "laplace", "latent_dim": 1, "initial_queries": 2, **settings})


def told(optimizer, questions=4, places=None):
    for _ in range(questions):
        question = optimizer.ask()
        order = sorted(range(len(question.options)), key=lambda place: -question.options[place]["a"])
        optimizer.tell(question, ranking=order[:places])
    return optimizer


def test_a_ranking_is_one_answer_and_several_choices():
    optimizer = told(loop(answer="ranking", query_size=4))
    assert (optimizer.n_answers, optimizer.data.n_choices) == (4, 12)
    assert optimizer.queries[0].strategy == "sobol"
    assert optimizer.queries[2].strategy != "sobol"  # answers are counted, not choices
    optimizer.undo()
    assert (optimizer.n_answers, optimizer.data.n_choices, len(optimizer.open_queries)) == (3, 9, 1)


def test_what_is_learned_from_rankings_is_what_they_say():
    optimizer = told(loop(answer="ranking", query_size=4), questions=6)
    found = optimizer.posterior().latent(SPACE.encode([{"a": place / 4, "b": 0.5} for place in range(5)]))
    assert (found.mean[1:, 0] > found.mean[:-1, 0]).all()


def test_a_saved_loop_remembers_how_it_was_answered():
    optimizer = told(loop(answer="ranking", query_size=4), places=2)
    restored = cb.ChoiceOptimizer.from_dict(optimizer.to_dict())
    assert restored.events == optimizer.events
    assert restored.ask().options == optimizer.ask().options


def test_the_order_is_part_of_what_the_next_question_depends_on():
    one, other = loop(answer="ranking", query_size=3), loop(answer="ranking", query_size=3)
    one.tell(one.ask(), ranking=[0, 1, 2])
    other.tell(other.ask(), ranking=[0, 2, 1])
    assert one.situation.key != other.situation.key


def test_a_pair_shows_two_options_of_which_one_is_new():
    optimizer = loop(answer="pair")
    for _ in range(3):
        question = optimizer.ask()
        assert len(question.options) == 2
        optimizer.tell(question, kept=[0, 1])  # cannot decide
    assert sum(optimizer.ask().new) == 1


def test_a_look_at_the_dimension_counts_answers():
    optimizer = told(loop(answer="ranking", query_size=4), questions=3)
    assert optimizer.situation.answers_in(9) == 3
    assert optimizer.situation.answers_in(8) == 2
    assert optimizer.situation.first(2).n_choices == 6


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"answer": "worst"}, "best-worst"),
        ({"answer": ["best"]}, "best-worst"),
        ({"answer": "pair", "query_size": 4}, "a pair shows 2"),
        ({"answer": "best-worst", "query_size": 2}, "at least 3"),
        ({"likelihood": "batch_preference"}, "one winner"),
        ({"likelihood": "batch_preference", "answer": "pair"}, "one winner"),
        ({"likelihood": "batch_preference", "answer": "best", "latent_dim": 2}, "one latent dimension"),
        ({"likelihood": "guess"}, "likelihood must be one of"),
        ({"likelihood": ["choice"]}, "likelihood must be one of"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, told):
    with pytest.raises(InvalidInputError, match=told):
        Settings(**settings)


def test_settings_of_one_objective_need_not_say_so():
    settings = Settings(answer="best", likelihood="batch_preference")
    assert settings.latent_dim == 1
    assert settings.model(1).likelihood == "batch_preference"
    assert Settings.from_dict(settings.to_dict()) == settings
