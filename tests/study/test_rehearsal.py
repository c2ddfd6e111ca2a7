"""Questions to come are gone through ahead, without leaving a trace."""

from choicebo import Integer, Real, Space
from choicebo.optimizer import ChoiceOptimizer
from choicebo.study import Study, compute

SPACE = Space([Real("a", 0, 1), Real("b", 0, 1)])


def record(space=SPACE, answers=2, **settings):
    optimizer = ChoiceOptimizer(space, **{"latent_dim": 2, "engine": "laplace", **settings})
    for _ in range(answers):
        optimizer.tell(optimizer.ask(), [0])
    return optimizer.to_dict()


def test_imagined_answers_bring_as_many_new_options_as_real_ones():
    imagined = compute._imagined(record(initial_queries=2), more=5)
    assert imagined.n_answers == 7
    assert imagined.data.n_options == 2 * 5 + 5 * 2
    assert {len(choice.shown) for choice in imagined.data.choices} == {5}


def test_a_beginning_is_imagined_up_to_the_first_model():
    assert compute._imagined(record(answers=0), more=1).n_answers == 4


def test_a_small_space_is_no_obstacle():
    imagined = compute._imagined(record(Space([Integer("a", 0, 3)]), answers=1, acquisition="sobol"), more=9)
    assert imagined.n_answers >= 1


def test_without_a_model_there_is_nothing_to_rehearse():
    assert not compute.rehearse(record(acquisition="sobol"), more=3)


def test_the_same_shapes_are_gone_through_once_with_every_acquisition(monkeypatch):
    asked = []
    ask = ChoiceOptimizer.ask

    def listening(optimizer):
        asked.append(ask(optimizer).strategy)
        return optimizer.queries[-1]

    state = record(answers=1, acquisition="ehvi+variation", new_per_query=1)
    monkeypatch.setattr(compute, "_rehearsed", set())
    monkeypatch.setattr(ChoiceOptimizer, "ask", listening)
    assert compute.rehearse(state, more=3)
    assert asked == ["ehvi", "variation"]
    assert not compute.rehearse(state, more=3)


def test_a_rehearsal_leaves_the_study_as_it_was(tmp_path):
    class Here:
        def submit(self, function, *arguments):
            function(*arguments)

    with Study.create(tmp_path / "s.db", "s", SPACE, latent_dim=2, engine="laplace") as study:
        study.tell(study.ask(), [0])
        before = study.export_json()
        study.rehearse(Here())
        assert study.export_json() == before
