"""Experiments with several people: who they are, how their answers are scored, and what the report says."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_softmax

import choicebo as cb
from choicebo.errors import DataError, InvalidInputError
from choicebo.experiments import raters, raters_electricity, raters_report, raters_simulated, raters_sushi
from choicebo.experiments.baselines import mixed_logit
from choicebo.experiments.baselines.mixed_logit import Answers, Tastes
from choicebo.experiments.raters import Panel
from choicebo.experiments.raters_simulated import Size
from choicebo.experiments.trials import FinishedTrial, Trial

TINY = Size(repetitions=1, people=2, answers=6, unseen=3)
QUICKEST = cb.ChoiceGP(engine="laplace")


def test_people_share_as_much_of_their_taste_as_is_said() -> None:
    one, apart = (raters_simulated.crowd(share, 0, TINY).latent for share in (0.0, 1.0))
    np.testing.assert_array_equal(one[0], one[2])
    between = [raters_simulated.crowd(0.3, number, TINY).latent for number in range(200)]
    covariance = np.mean([(values[0] * values[1]).mean() for values in between])
    variance = np.mean([(values[0] ** 2).mean() for values in between])
    assert covariance / variance == pytest.approx(0.7, abs=0.06)
    assert not np.allclose(apart[0], apart[1])


def test_all_methods_of_a_repetition_see_the_same_people_and_no_question_twice() -> None:
    one, again, other = (raters_simulated.crowd(0.3, number, TINY) for number in (0, 0, 1))
    assert one.answers == again.answers
    assert one.unseen == again.unseen
    assert one.answers != other.answers
    for person, answers in one.answers.items():
        sets = [each.shown for each in (*answers, *one.unseen[person])]
        assert len(set(sets)) == len(sets)


def test_the_newcomer_joins_with_as_many_answers_as_asked_for() -> None:
    crowd = raters_simulated.crowd(0.3, 0, TINY)
    assert list(crowd.joined(0).answers) == ["p1", "p2"]
    assert [len(answers) for answers in crowd.joined(5).answers.values()] == [6, 6, 5]
    assert [len(answers) for answers in crowd.alone(5).answers.values()] == [5]
    assert set(crowd.joined(5).data().raters) == {"p1", "p2", "p3"}


def one_person(n_options: int = 12) -> Panel:
    rng = np.random.default_rng(0)
    X = rng.random((n_options, 1))
    answers = [cb.Choice(shown, [max(shown, key=lambda row: X[row, 0])]) for shown in _sets(rng, n_options, 14)]
    return Panel(X, {"p1": answers[:10], "p2": answers[:10]}, {"p1": answers[10:], "p2": answers[10:]})


def _sets(rng: np.random.Generator, n_options: int, count: int) -> list[list[int]]:
    return [rng.choice(n_options, 3, replace=False).tolist() for _ in range(count)]


def test_answers_are_scored_by_the_probability_that_the_posterior_gives_them() -> None:
    panel = one_person()
    posterior = QUICKEST.fit_silently(cb.ChoiceData(panel.X, panel.answers["p1"]))
    found = raters.of_sets(posterior, panel.X, panel.unseen["p1"])
    lapse, log_scores, right = posterior.spec.lapse, [], []
    for each in panel.unseen["p1"]:
        options = panel.X[list(each.shown)]
        kept = raters.positions(each)
        probability = posterior.choice_probabilities(options)[kept]
        log_scores.append(np.log((1 - lapse) * probability + lapse / 7))
        right.append(posterior.predict_choice(options) == kept)
    assert found.log_score == pytest.approx(np.mean(log_scores), abs=0.05)
    assert found.right == np.mean(right)


def test_who_is_unknown_is_guessed() -> None:
    panel = one_person()
    assert raters.of_sets(None, panel.X, panel.unseen["p1"]) == raters.Score(-np.log(7), 1 / 7)
    assert raters.of_winners(None, panel.X, panel.unseen["p1"]) == raters.Score(-np.log(3), 1 / 3)


def test_probabilities_of_winners_sum_to_one_and_are_those_of_the_likelihood() -> None:
    panel = one_person()
    model = cb.ChoiceGP(latent_dim=1, likelihood="batch_preference", engine="laplace", lapse=0.0)
    posterior = model.fit_silently(cb.ChoiceData(panel.X, panel.answers["p1"]))
    sets = panel.X[[each.shown for each in panel.unseen["p1"]]]
    found = np.exp(raters.winner_log_probabilities(posterior, sets))
    np.testing.assert_allclose(found.sum(1), 1.0)
    latent = posterior.sample(sets[0], draws=4000)[..., 0]
    noisy = latent + np.random.default_rng(0).standard_normal(latent.shape)
    np.testing.assert_allclose(found[0], np.bincount(noisy.argmax(1), minlength=3) / 4000, atol=0.03)


@pytest.mark.parametrize("way", raters.WAYS)
def test_every_way_learns_who_wants_what(way: str) -> None:
    learned = raters.learn(way, one_person(), QUICKEST)
    score = raters.of_sets(learned.person("p2"), one_person().X, one_person().unseen["p2"])
    assert score.log_score > -np.log(7)
    assert learned.seconds > 0.0
    assert ("agreement" in learned.told()) == (way == raters.RELATED)
    newcomer = learned.person("somebody else")
    assert (newcomer is None) == (way == raters.SEPARATE)


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="related, together, separate"):
        raters.learn("alone", one_person(), QUICKEST)


@pytest.mark.parametrize(("way", "joining"), [("truth", 0), ("together", 0), ("separate", 5)])
def test_a_simulated_trial_scores_people_and_newcomer(way: str, joining: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raters_simulated, "ChoiceGP", lambda **settings: cb.ChoiceGP(engine="laplace", **settings))
    (trial,) = (
        each
        for each in raters_simulated.trials(TINY)
        if (each.method, each.settings["joining"], each.settings["share"]) == (way, joining, 0.3)
    )
    found = raters_simulated.run_trial(trial)
    assert ("people" in found) == (joining == 0)
    assert found["newcomer"]["log_score"] < 0.0


def test_the_truth_foretells_better_than_anybody_guesses() -> None:
    crowd = raters_simulated.crowd(0.6, 0, Size(1, people=1, answers=1, unseen=200))
    assert crowd.true_score("p1").log_score > -1.8
    assert crowd.true_score("p1").right > 0.4


def test_a_logit_without_spread_is_a_softmax() -> None:
    X = np.random.default_rng(0).random((5, 4, 2))
    tastes = Tastes(np.array([1.0, -2.0]), np.zeros(2))
    np.testing.assert_allclose(mixed_logit.log_probabilities(tastes, X), log_softmax(X @ tastes.mean, axis=1))


def test_a_persons_own_answers_weigh_the_tastes_of_the_population() -> None:
    """Compared with the integral over one coefficient."""
    rng = np.random.default_rng(1)
    X, known = rng.random((1, 3, 1)), Answers(rng.random((6, 3, 1)), np.array([0, 1, 2, 2, 1, 0]), np.zeros(6, int))

    def joint(beta: float, chosen: int | None) -> float:
        log_p = log_softmax(beta * known.X[..., 0], axis=1)[np.arange(6), known.chosen].sum()
        extra = 0.0 if chosen is None else log_softmax(beta * X[0, :, 0])[chosen]
        return float(np.exp(log_p + extra - 0.5 * ((beta - 0.5) / 3.0) ** 2))

    whole = quad(lambda beta: joint(beta, None), -20, 20)[0]
    expected = [np.log(quad(lambda beta, i=i: joint(beta, i), -20, 20)[0] / whole) for i in range(3)]
    found = mixed_logit.log_probabilities(Tastes(np.array([0.5]), np.array([3.0])), X, known)
    np.testing.assert_allclose(found[0], expected, atol=0.03)


def test_xlogit_finds_what_people_want_and_how_much_they_differ() -> None:
    pytest.importorskip("xlogit")
    rng = np.random.default_rng(0)
    X, person = rng.uniform(-1, 1, (1500, 3, 2)), np.repeat(np.arange(150), 10)
    coefficients = np.array([3.0, -1.0]) + np.array([2.0, 0.0]) * rng.standard_normal((150, 2))
    utility = np.einsum("qad,qd->qa", X, coefficients[person]) + rng.gumbel(size=(1500, 3))
    answers = Answers(X, utility.argmax(1), person)
    found = mixed_logit.mixed(answers, draws=100)
    np.testing.assert_allclose(found.mean, [3.0, -1.0], atol=0.5)
    np.testing.assert_allclose(found.spread, [2.0, 0.0], atol=0.5)
    assert not mixed_logit.multinomial(answers).spread.any()


def suppliers(folder: Path, monkeypatch: pytest.MonkeyPatch, people: int = 3, questions: int = 6) -> Path:
    rng = np.random.default_rng(0)
    lines = [",".join(("question", "rater", "alternative", *raters_electricity.INPUTS, "chosen"))]
    number = 0
    for person in range(1, people + 1):
        for _ in range(questions):
            number += 1
            prices = rng.permutation([5, 6, 7, 9])
            for at, price in enumerate(prices):
                lines.append(f"{number},{person},{at + 1},{price},{at},0,1,0,0,{int(price == 5)}")
    text = "\n".join(lines) + "\n"
    (folder / raters_electricity.FILE).write_text(text, encoding="utf-8")
    monkeypatch.setattr(raters_electricity, "SHA256", hashlib.sha256(text.encode()).hexdigest())
    return folder


def test_the_last_three_answers_of_each_person_are_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = raters_electricity.read(suppliers(tmp_path, monkeypatch))
    assert list(panel.answers) == ["1", "2", "3"]
    assert {len(answers) for answers in panel.answers.values()} == {3}
    assert {len(answers) for answers in panel.unseen.values()} == {3}
    for each in (*panel.answers["2"], *panel.unseen["2"]):
        assert panel.X[each.kept[0], 0] == 5
        assert sorted(panel.X[list(each.shown), 0]) == [5, 6, 7, 9]


@pytest.mark.parametrize("method", ["together", "separate", "related", *raters_electricity.LOGITS])
def test_every_model_scores_every_person(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if method in raters_electricity.LOGITS:
        pytest.importorskip("xlogit")
        monkeypatch.setattr(mixed_logit, "DRAWS", 50)
    monkeypatch.setattr(raters_electricity, "ChoiceGP", lambda **settings: cb.ChoiceGP(engine="laplace", **settings))
    panel = raters_electricity.read(suppliers(tmp_path, monkeypatch))
    trial = Trial(raters_electricity.EXPERIMENT, "electricity", method, 0, {"people": 2})
    found = raters_electricity.run_trial(trial, panel)
    assert len(found["log_score"]) == len(found["right"]) == 2
    assert min(found["log_score"]) > -np.log(4)  # everybody takes the cheapest


def test_rows_that_are_no_questions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = suppliers(tmp_path, monkeypatch)
    path = folder / raters_electricity.FILE
    text = path.read_text(encoding="utf-8").replace(",1\n", ",0\n", 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="sha256"):
        raters_electricity.read(folder)
    monkeypatch.setattr(raters_electricity, "SHA256", hashlib.sha256(text.encode()).hexdigest())
    with pytest.raises(DataError, match="one of them chosen"):
        raters_electricity.read(folder)


def menu(people: int = 4) -> tuple[np.ndarray, dict[str, dict[int, int]]]:
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    return X, {f"p{n}": {int(i): int(4 * X[i, 0]) for i in rng.permutation(12)[:10]} for n in range(people)}


def test_sushi_questions_show_what_was_scored_and_none_twice() -> None:
    X, scores = menu()
    panel = raters_sushi.panel(X, scores, 3, 0)
    assert len(panel.answers) == 3
    for person, answers in panel.answers.items():
        asked = [*answers, *panel.unseen[person]]
        assert (len(answers), len(asked)) == (raters_sushi.ANSWERS, raters_sushi.ANSWERS + raters_sushi.UNSEEN)
        assert len({each.shown for each in asked}) == len(asked)
        for each in asked:
            of_shown = [scores[person][item] for item in each.shown]
            assert all(scores[person][item] == max(of_shown) for item in each.kept)
            assert len(each.kept) == of_shown.count(max(of_shown))


def test_sushi_eaters_are_scored_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raters_sushi, "ChoiceGP", lambda **settings: cb.ChoiceGP(engine="laplace", **settings))
    X, scores = menu()
    (trial,) = (each for each in raters_sushi.trials(3) if each.method == "together")
    found = raters_sushi.run_trial(trial, X, scores)
    assert len(found["log_score"]) == len(found["right"]) == 3
    assert np.mean(found["log_score"]) > -np.log(31)


@pytest.mark.skipif("CHOICEBO_DATA" not in os.environ, reason="set CHOICEBO_DATA to the folder of the real data sets")
def test_the_published_files_are_read() -> None:
    folder = Path(os.environ["CHOICEBO_DATA"])
    panel = raters_electricity.read(folder)
    assert (len(panel.answers), sum(map(len, panel.answers.values()))) == (361, 4308 - 3 * 361)
    X, scores = raters_sushi.read(folder)
    assert X.shape == (100, 6 + 12)
    assert (X.min(), X.max()) == (0.0, 1.0)
    assert len(scores) == 5000
    assert {len(given) for given in scores.values()} == {10}


def done(trial: Trial, **result: object) -> FinishedTrial:
    return FinishedTrial(trial, {"seconds": 1.0, "problems": [], **result}, 1.0, "2026-01-01T00:00:00+00:00", "0.1.0")


def simulated_results(size: Size = Size(repetitions=3)) -> list[FinishedTrial]:
    """Repetitions differ a lot, and related is ahead of the others by the same in all of them."""
    ahead = {"truth": 0.3, "related": 0.0, "together": -0.25, "separate": -0.5}
    found = []
    for trial in raters_simulated.trials(size):
        score = {"log_score": -1.0 - trial.repetition + ahead[trial.method], "right": 0.5}
        result: dict[str, object] = {"newcomer": score}
        if trial.settings["joining"] == 0:
            result["people"] = score
        if trial.method == "related":
            result["agreement"] = {"share": [0.3, 0.4], "lower": [0.2, 0.31], "upper": [0.5, 0.6]}
        found.append(done(trial, **result))
    return found


def cells(table: object) -> list[list[str]]:
    columns = [list(column.cells) for column in table.columns]  # type: ignore[attr-defined]
    return [list(row) for row in zip(*columns, strict=True)]


def test_differences_are_paired_by_repetition() -> None:
    rows = cells(raters_report.people_table(simulated_results(), "log_score"))
    assert [row[0] for row in rows] == ["0", "0.3", "0.6", "1"]
    assert rows[0][2] == "-2.000 ± 0.577"
    assert rows[0][-2:] == ["+0.250 ± 0.000", "+0.500 ± 0.000"]
    newcomers = cells(raters_report.newcomer_table(simulated_results(), "log_score"))
    assert [row[:2] for row in newcomers[:3]] == [["0", "0"], ["0", "5"], ["0", "10"]]


def test_a_share_counts_as_found_where_its_interval_holds_it() -> None:
    rows = {row[0]: row for row in cells(raters_report.agreement_table(simulated_results()))}
    assert rows["0.3"][4] == "3 of 6"
    assert rows["0.6"][4] == "3 of 6"
    assert rows["1"][4] == "0 of 6"


def test_a_report_of_what_is_stored_so_far_leaves_out_what_is_missing() -> None:
    some = [each for each in simulated_results() if each.trial.method != "related"]
    rows = cells(raters_report.people_table(some, "right"))
    assert rows[0][2] == rows[0][-1] == ""
    assert raters_report.simulated_section(some).title == "Simulated people"


def test_real_people_are_compared_one_by_one() -> None:
    results = {"related": [-1.0, -2.0], "mixed logit": [-1.5, -2.5]}
    finished = [
        done(Trial("raters-electricity", "electricity", method, 0, {"people": 2}), log_score=scores, right=[0.0, 1.0])
        for method, scores in results.items()
    ]
    section = raters_report.electricity_section(finished)
    rows = cells(section.blocks[1])
    assert rows[0] == ["related", "-1.500 ± 0.500", "", "0.500 ± 0.500", "", "1.0"]
    assert rows[1][2] == "+0.500 ± 0.000"
    assert "not installed" not in str(section.blocks[0])
    assert "not installed" in str(raters_report.electricity_section(finished[:1]).blocks[0])
