import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import choicebo as cb
from choicebo.acquisition import Thompson
from choicebo.errors import DataError, InvalidInputError
from choicebo.history import OWNER, rules
from choicebo.model.covariance import KERNELS
from choicebo.model.engines import Laplace
from choicebo.optimizer import Settings

warnings.filterwarnings("ignore", category=cb.ConvergenceWarning)

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])
SMALL = cb.Space([cb.Integer("a", 0, 2), cb.Integer("b", 0, 2)])


def optimizer(space=SPACE, **settings):
    """One latent dimension count and a fast engine, so that the tests are quick."""
    return cb.ChoiceOptimizer(space, **{"latent_dim": 2, "engine": "vi", "seed": 3, **settings})


def likes(option):
    """Two opposed wishes: large a, and small a with large b."""
    return np.array([option["a"], option["b"] - option["a"]])


def choose(query):
    values = np.array([likes(option) for option in query.options])
    beaten = [any((o >= v).all() and (o > v).any() for o in values) for v in values]
    return [position for position, is_beaten in enumerate(beaten) if not is_beaten]


def answered(n, **settings):
    opt = optimizer(**settings)
    for _ in range(n):
        query = opt.ask()
        opt.tell(query, choose(query))
    return opt


@pytest.fixture(scope="module")
def learned():
    """A run past its first model question; tests copy it."""
    return answered(6).to_dict()


@pytest.fixture
def run(learned):
    return cb.ChoiceOptimizer.from_dict(learned)


class TestBeginning:
    def test_first_questions_fill_the_space_and_repeat_nothing(self):
        opt = answered(3)
        shown = [tuple(option.values()) for query in opt.queries for option in query.options]
        assert len(set(shown)) == len(shown) == 15
        assert all(query.strategy == "sobol" and query.latent_dim is None for query in opt.queries)

    def test_the_model_takes_over_after_them(self, run):
        assert run.queries[-1].latent_dim == 2
        assert sum(run.queries[-1].new) == run.settings.new_per_query

    def test_a_question_names_the_criterion_behind_each_of_its_new_options(self, monkeypatch):
        marks = {"ehvi": 0.25, "variation": 0.75}

        def marked(belief, space, acquisition, avoid, seed, by_chance, beside, among):
            return np.array([[marks[acquisition.name], (seed % 997) / 997]])

        opt = answered(4)
        monkeypatch.setattr("choicebo.acquisition.propose.best_point", marked)
        orders = set()
        for _ in range(8):
            query = opt.ask()
            shown = [option["a"] for option, new in zip(query.options, query.new, strict=True) if new]
            assert [marks[name] for name in query.found_by] == shown
            orders.add(query.strategy)
        assert {"ehvi+variation", "variation+ehvi"} <= orders

    def test_who_found_what_survives_a_restart(self):
        opt = answered(8)
        found = opt.situation.prospect().found
        assert sum(map(len, found.values())) == sum(sum(q.new) for q in opt.queries if q.latent_dim is not None)
        restored = cb.ChoiceOptimizer.from_dict(opt.to_dict())
        assert {name: rows.tolist() for name, rows in restored.situation.prospect().found.items()} == {
            name: rows.tolist() for name, rows in found.items()
        }

    @pytest.mark.parametrize("strategy", ["random", "sobol"])
    def test_baselines_never_need_a_model(self, strategy):
        opt = answered(8, acquisition=strategy)
        assert {query.strategy for query in opt.queries} == {strategy}

    def test_a_constrained_space_is_respected(self):
        space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)], constraints=["a + b <= 1"])
        opt = answered(4, space=space)
        assert all(space.contains(option) for query in opt.queries for option in query.options)


class TestAnswers:
    def test_kept_positions_become_the_choice(self):
        opt = optimizer()
        query = opt.ask()
        opt.tell(query, kept=[2, 0])
        choice = opt.data.choices[0]
        assert [opt.space.decode(opt.data.X[[row]])[0] for row in choice.kept] == [query.options[0], query.options[2]]

    def test_a_query_may_be_named_by_its_number(self):
        opt = optimizer()
        opt.tell(opt.ask().id, [1])
        assert opt.n_answers == 1

    @pytest.mark.parametrize("kept", [[5], [-1], [0, 0], ["0"], [0.5], "0", [True], None, 3])
    def test_impossible_answers_are_refused_and_leave_the_question_open(self, kept):
        opt = optimizer()
        query = opt.ask()
        with pytest.raises(InvalidInputError):
            opt.tell(query, kept)
        assert opt.open_queries == (query,)

    def test_a_question_is_answered_once(self):
        opt = answered(1)
        with pytest.raises(InvalidInputError, match="answered already"):
            opt.tell(1, [0])
        with pytest.raises(InvalidInputError, match="no question 9"):
            opt.tell(9, [0])

    def test_nothing_kept_is_a_skip_without_a_baseline(self):
        opt = optimizer()
        opt.tell(opt.ask(), [])
        assert opt.n_answers == 0
        assert opt.open_queries == ()

    def test_nothing_kept_means_that_the_baseline_beats_them_all(self):
        today = {"a": 0.5, "b": 0.5}
        opt = optimizer(baseline=today)
        opt.tell(opt.ask(), [])
        choice = opt.data.choices[0]
        assert len(choice.shown) == 6
        assert opt.space.decode(opt.data.X[list(choice.kept)]) == [today]

    def test_choices_from_elsewhere_count_as_answers(self):
        opt = optimizer()
        opt.add([{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": 0.4}], kept=[1])
        opt.add([{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": 0.4}, {"a": 1, "b": 1}], kept=[0, 2])
        assert opt.n_answers == 2
        assert opt.data.n_options == 3

    @pytest.mark.parametrize(
        ("shown", "kept"),
        [
            ([{"a": 0.1, "b": 0.2}], [0]),
            ([{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": 0.4}], []),
            ([{"a": 0.1, "b": 0.2}, {"a": 9, "b": 0.4}], [0]),
            ([{"a": 0.1, "b": 0.2}, {"a": 0.3}], [0]),
        ],
    )
    def test_impossible_choices_from_elsewhere_are_refused(self, shown, kept):
        opt = optimizer()
        with pytest.raises(InvalidInputError):
            opt.add(shown, kept)
        assert opt.n_answers == 0


class TestUndo:
    def test_undo_restores_the_state_before_the_answer(self):
        opt = answered(2)
        query = opt.ask()
        before = opt.to_dict()
        opt.tell(query, [0])
        opt.undo()
        assert opt.to_dict() == before
        assert opt.open_queries == (query,)

    def test_any_number_of_answers_can_be_taken_back(self):
        opt = answered(3)
        opt.undo(3)
        assert opt.n_answers == 0
        assert len(opt.open_queries) == 3
        with pytest.raises(InvalidInputError, match="0 answers"):
            opt.undo()

    def test_skips_and_additions_can_be_taken_back(self):
        opt = optimizer()
        query = opt.ask()
        opt.skip(query)
        opt.add([{"a": 0, "b": 0}, {"a": 1, "b": 1}], [1])
        opt.undo()
        assert opt.data is None
        opt.undo()
        assert opt.open_queries == (query,)

    def test_the_data_follow_an_answer_that_was_taken_back_and_changed(self):
        opt = optimizer()
        query = opt.ask()
        opt.tell(query, [0])
        first = opt.data
        assert opt.data is first
        opt.undo()
        assert opt.data is None
        opt.tell(query, [0, 2])
        assert len(opt.data.choices[0].kept) == 2


class TestOpenQuestions:
    def test_several_questions_may_be_open_and_share_no_new_option(self, run):
        first, second = run.ask(), run.ask()
        new = [
            {tuple(o.values()) for o, is_new in zip(q.options, q.new, strict=True) if is_new} for q in (first, second)
        ]
        assert not new[0] & new[1]
        assert run.open_queries == (first, second)
        run.tell(second, [0])
        run.tell(first, [1])
        assert run.open_queries == ()


class TestResume:
    def test_a_restored_run_asks_the_same_next_question(self, run):
        restored = cb.ChoiceOptimizer.from_dict(json.loads(json.dumps(run.to_dict())))
        assert restored.to_dict() == run.to_dict()
        assert restored.ask() == run.ask()

    @settings(max_examples=20, deadline=None)
    @given(st.lists(st.sampled_from(["ask", "tell", "skip", "undo", "add"]), max_size=12), st.integers(0, 99))
    def test_every_run_survives_a_round_trip(self, acts, seed):
        opt = optimizer(acquisition="sobol", seed=seed)
        for act in acts:
            if act == "ask":
                opt.ask()
            elif act == "add":
                opt.add([{"a": 0, "b": 0}, {"a": 1, "b": seed / 100}], [1])
            elif act == "undo":
                if any(event["kind"] != "question" for event in opt.to_dict()["log"]):
                    opt.undo()
            elif opt.open_queries:
                query = opt.open_queries[0]
                opt.tell(query, [0]) if act == "tell" else opt.skip(query)
        restored = cb.ChoiceOptimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
        assert restored.to_dict() == opt.to_dict()
        assert restored.ask() == opt.ask()

    @pytest.mark.parametrize(
        "damage",
        [
            lambda d: d.pop("log"),
            lambda d: d.update(format="something"),
            lambda d: d.update(version=99),
            lambda d: d["log"].append({"kind": "dance"}),
            lambda d: d["log"].append({"position": 3, "kind": "answer", "target": 77, "kept": [0]}),
            lambda d: d["log"].append({"position": 3, "kind": "answer", "target": 1, "kept": [0]}),
            lambda d: d["log"].append({**d["log"][0], "position": 3}),
            lambda d: d["log"].append(dict(d["log"][0])),
            lambda d: d["log"][1].update(kept=[9]),
            lambda d: d["options"][0].update(a=7),
            lambda d: d["settings"].update(colour="red"),
        ],
    )
    def test_a_damaged_record_is_refused(self, damage):
        record = json.loads(json.dumps(answered(1).to_dict()))
        damage(record)
        with pytest.raises(InvalidInputError):
            cb.ChoiceOptimizer.from_dict(record)

    def test_a_record_of_the_first_release_goes_on(self):
        def query(number, options, strategy):
            return {
                "id": number,
                "options": options,
                "reason": "So.",
                "new": [True, True],
                "strategy": strategy,
                "latent_dim": 2,
            }

        pairs = [[{"a": 0.1 * n, "b": 0.5}, {"a": 0.5, "b": 0.1 * n}] for n in range(3)]
        look = {"answers": 1, "latent_dim": 1, "reason": "so", "used_from": 2}
        older = {
            "format": "choicebo-optimizer",
            "version": 1,
            "space": SPACE.to_dict(),
            "settings": {"seed": 3},
            "next_id": 3,
            "log": [
                {"kind": "ask", "query": query(1, pairs[0], "ehvi+variation")},
                {"kind": "tell", "query": 1, "kept": [1]},
                {"kind": "add", "shown": pairs[2], "kept": [0]},
                {"kind": "ask", "query": query(2, pairs[1], "sobol")},
            ],
            "latent_dim_history": [look],
        }
        opt = cb.ChoiceOptimizer.from_dict(json.loads(json.dumps(older)))
        assert [q.found_by for q in opt.queries] == [("ehvi", "variation"), ("sobol",)]
        assert (opt.n_answers, opt.latent_dim, opt.latent_dim_history) == (2, 1, (look,))
        assert [q.id for q in opt.open_queries] == [2]
        assert opt.situation.choices == ((tuple(pairs[0]), (1,)), (tuple(pairs[2]), (0,)))
        assert cb.ChoiceOptimizer.from_dict(opt.to_dict()).to_dict() == opt.to_dict()
        for damage in (lambda d: d.pop("log"), lambda d: d["log"].append({"kind": "dance"})):
            damaged = json.loads(json.dumps(older))
            damage(damaged)
            with pytest.raises(InvalidInputError):
                cb.ChoiceOptimizer.from_dict(damaged)

    def test_something_else_entirely_is_refused(self):
        with pytest.raises(DataError, match="format"):
            cb.ChoiceOptimizer.from_dict({"a": 1})


class TestResults:
    def test_the_pareto_set_is_sorted_by_probability_and_never_empty(self, run):
        found = run.pareto_set()
        probabilities = [each.probability for each in found]
        assert probabilities == sorted(probabilities, reverse=True)
        assert probabilities[0] > 0.5
        assert run.pareto_set(threshold=1.1)

    def test_the_posterior_is_fitted_once_for_the_same_answers(self, run):
        assert run.posterior() is run.posterior()

    def test_before_the_first_answer_nothing_is_known(self):
        opt = optimizer()
        assert opt.posterior() is None
        assert opt.data is None
        assert opt.pareto_set() == []


class TestSituation:
    def test_it_is_sent_without_what_follows_from_it(self, run):
        before = len(pickle.dumps(run.situation))
        assert run.situation.data is not None
        assert run.situation.key
        sent = pickle.dumps(run.situation)
        assert len(sent) <= before
        assert pickle.loads(sent).key == run.situation.key


class TestDifficultPeople:
    @pytest.mark.parametrize("habit", ["everything", "the first", "contradictory"])
    def test_questions_go_on_whatever_is_answered(self, habit):
        opt = optimizer()
        for number in range(6):
            query = opt.ask()
            count = len(query.options)
            kept = {"everything": range(count), "the first": [0], "contradictory": [number % count]}[habit]
            opt.tell(query, list(kept))
        assert opt.n_answers == 6
        assert opt.pareto_set()

    def test_a_small_space_is_exhausted_and_the_question_says_so(self):
        opt = optimizer(space=SMALL, query_size=4, initial_queries=2)
        reasons = []
        for _ in range(5):
            query = opt.ask()
            reasons.append(query.reason)
            opt.tell(query, [0])
        shown = [tuple(o.values()) for q in opt.queries for o, new in zip(q.options, q.new, strict=True) if new]
        assert len(shown) == len(set(shown)) == 9
        assert "already" in reasons[-1]
        assert all(len(query.options) == 4 for query in opt.queries)

    def test_two_options_are_enough(self):
        opt = optimizer(space=cb.Space([cb.Categorical("c", ["x", "y"])]), acquisition="sobol")
        for _ in range(3):
            query = opt.ask()
            assert len(query.options) == 2
            opt.tell(query, [0])


class TestSettings:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"latent_dim": 0},
            {"latent_dim": "two"},
            {"acquisition": "magic"},
            {"acquisition": "ehvi+sobol"},
            {"query_size": 1},
            {"query_size": 99},
            {"new_per_query": 6},
            {"new_per_query": 0},
            {"initial_queries": 0},
            {"companions": "friends"},
            {"seed": -1},
            {"kernel": "cubic"},
            {"engine": "steam"},
            {"baseline": {"a": 7, "b": 0}},
        ],
    )
    def test_what_makes_no_sense_is_refused(self, wrong):
        with pytest.raises(InvalidInputError):
            cb.ChoiceOptimizer(SPACE, **wrong)

    def test_an_unknown_setting_is_refused(self):
        with pytest.raises(InvalidInputError, match="no setting 'colour'"):
            cb.ChoiceOptimizer(SPACE, colour="red")

    def test_settings_and_keywords_exclude_each_other(self):
        assert cb.ChoiceOptimizer(SPACE, Settings(query_size=4)).settings.query_size == 4
        with pytest.raises(InvalidInputError, match="not both"):
            cb.ChoiceOptimizer(SPACE, Settings(), seed=2)

    def test_engine_acquisition_and_kernel_may_be_objects(self):
        rough = KERNELS["matern12"]
        opt = answered(4, engine=Laplace(), acquisition=Thompson(name="mine"), kernel=rough)
        assert opt.posterior().spec.kernel is rough
        query = opt.ask()
        assert query.found_by == ("mine", "mine")
        assert query.options != answered(4, engine="laplace", acquisition="ehvi").ask().options
        with pytest.raises(InvalidInputError, match="cannot be stored"):
            opt.to_dict()

    def test_something_that_is_no_space_is_refused(self):
        with pytest.raises(InvalidInputError, match="Space or a Catalogue"):
            cb.ChoiceOptimizer([1, 2])

    def test_the_order_shown_is_shuffled(self):
        opt = answered(6)
        places = {query.new.index(True) for query in opt.queries[3:]} | {
            query.new.index(False) for query in opt.queries[4:]
        }
        assert len(places) > 1


def ask_stand_in(opt):
    question = opt.situation.stand_in()
    opt._state.apply(rules.ask(opt._state, question, OWNER, None, 0, 0))
    return question


class TestStandIn:
    def test_it_needs_no_model_and_brings_as_many_new_options_as_the_model_would(self, run, monkeypatch):
        monkeypatch.setattr(cb.ChoiceGP, "fit_silently", lambda *_, **__: pytest.fail("a model was fitted"))
        seen = {str(option) for query in run.queries for option in query.options}
        query = run.situation.stand_in()
        assert (query.strategy, query.latent_dim, len(query.options)) == ("stand-in", None, 5)
        assert [str(option) not in seen for option in query.options] == list(query.new)
        assert sum(query.new) == run.settings.new_per_query

    def test_known_options_in_it_were_kept_when_last_shown(self, run):
        last = {}
        for options, kept in run.situation.choices:
            for at, option in enumerate(options):
                last[str(option)] = at in kept
        query = run.situation.stand_in()
        known = [str(o) for o, is_new in zip(query.options, query.new, strict=True) if not is_new]
        assert len(known) == 3
        assert all(last[option] for option in known)

    def test_a_restored_run_asks_the_same_one(self, run):
        again = cb.ChoiceOptimizer.from_dict(run.to_dict())
        assert again.situation.stand_in() == run.situation.stand_in()

    def test_stand_ins_in_a_row_bring_different_options(self, run):
        shown = []
        for _ in range(4):
            query = ask_stand_in(run)
            shown += [str(o) for o, is_new in zip(query.options, query.new, strict=True) if is_new]
            run.tell(query, choose(query))
        assert len(set(shown)) == len(shown) == 8

    def test_where_everything_was_shown_it_is_made_of_known_options(self):
        opt = answered(2, space=SMALL, initial_queries=2)
        for _ in range(3):
            query = ask_stand_in(opt)
            opt.tell(query, [0])
        assert len({str(option) for option in query.options}) == 5
        assert not any(query.new)
        assert query.reason.endswith("some options that were shown before.")

    def test_the_option_of_today_is_not_among_them(self):
        today = {"a": 0.5, "b": 0.5}
        opt = optimizer(baseline=today, initial_queries=1)
        opt.tell(opt.ask(), [])
        query = opt.situation.stand_in()
        assert len(query.options) == 5
        assert today not in query.options

    def test_before_the_model_takes_over_nothing_stands_in_for_it(self):
        assert optimizer().situation.stand_in() == optimizer().ask()
