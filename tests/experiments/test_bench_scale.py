"""``choicebo bench --scale``: what it measures, and that a peer is given up in time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import choicebo as cb
from choicebo.__main__ import build_app
from choicebo.errors import InvalidInputError
from choicebo.experiments import bench_forms, bench_logit, bench_scale
from choicebo.experiments.bench_scale import GivenUp, ScaleTiming

OURS = ScaleTiming("choicebo", 1000, 990, 5.91, 5.5, 242.4, 2304.0, 0.6345, 0.6445, "53 inducing options")


def test_a_task_has_as_many_options_as_occur_and_unseen_sets() -> None:
    task = bench_scale.task(60, test_sets=7)
    assert task.train.n_choices == 60
    assert {len(choice.shown) for choice in task.train.choices} == {5}
    assert task.train.n_options <= 60
    assert task.test_sets.shape == (7, 5, 2)
    known = {row.tobytes() for row in task.train.X}
    assert not any(row.tobytes() in known for row in task.test_sets.reshape(-1, 2))
    assert 0.0 < bench_scale.task(20, test_sets=300).truth < 1.0
    assert len(bench_scale.task(60, test_sets=7).test_kept) == 7


def test_our_fit_is_measured_with_its_memory_and_its_accuracy() -> None:
    found = bench_scale.time_ours(30, test_sets=20)
    assert (found.method, found.choices, found.told) == ("choicebo", 30, "square factor")
    assert found.seconds > 0.0
    assert found.cpu_seconds > 0.0
    assert found.megabytes > 50.0
    assert 0.0 <= (found.accuracy or 0.0) <= 1.0


def _slow(size: int, test_sets: int) -> ScaleTiming:
    time.sleep(60.0)
    return OURS


def _broken(size: int, test_sets: int) -> ScaleTiming:
    raise RuntimeError("no memory left")


def test_a_peer_is_ended_when_it_takes_too_long_and_its_failure_is_told() -> None:
    assert bench_scale._within(1.0, _slow, 100, 1) == GivenUp("PairwiseGP", 100, "not done after 1 s")
    assert bench_scale._within(60.0, _broken, 100, 1) == GivenUp("PairwiseGP", 100, "failed (RuntimeError)")


def test_a_peer_that_was_given_up_is_not_tried_at_larger_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_scale, "in_own_process", lambda *_, **__: OURS)
    given_up = GivenUp("PairwiseGP", 20, "not done")
    monkeypatch.setattr(bench_scale, "_within", lambda *_: given_up)
    assert list(bench_scale.measure([10, 20], peers=True)) == [OURS, given_up, OURS]


def test_rows_are_aligned_and_say_what_there_is_not() -> None:
    lines = [
        bench_scale.line(cells)
        for cells in (
            bench_scale.HEADINGS,
            bench_scale.row(OURS),
            bench_scale.row(GivenUp("PairwiseGP", 1000, "not done after 40 s")),
        )
    ]
    assert "242" in lines[1]
    assert "0.6345" in lines[1]
    assert lines[2].endswith("not done after 40 s")
    assert lines[0].index("choices") + len("choices") == lines[1].index("1,000") + len("1,000")


def travellers(folder: Path, n: int = 30) -> Path:
    rng = np.random.default_rng(0)
    rows = ["traveller_id,mode,chosen,in_vehicle_cost_usd,in_vehicle_time_min"]
    for traveller in range(n):
        cost, minutes = rng.uniform(10, 90, 3), rng.uniform(50, 500, 3)
        best = int((cost + 0.2 * minutes).argmin())
        for number, mode in enumerate(("air", "train", "car")):
            rows.append(f"{traveller},{mode},{int(number == best)},{cost[number]:.1f},{minutes[number]:.1f}")
    (folder / bench_logit.TRAVELMODE.file).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def test_the_logit_learns_what_decides_and_so_do_we(tmp_path: Path) -> None:
    singles = bench_logit.read(travellers(tmp_path))
    assert singles.X.shape == (30, 3, 5)
    assert singles.X.min() >= 0.0
    assert singles.X.max() <= 1.0
    log_p = bench_logit.logit(singles, singles.X)
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1.0)
    assert (log_p.argmax(1) == singles.chosen).mean() > 0.9
    ours, theirs = bench_logit.compare(singles)
    assert ours.log_score > np.log(1 / 3)
    assert theirs.log_score > np.log(1 / 3)


def test_the_logit_finds_the_coefficients_of_its_own_model() -> None:
    rng = np.random.default_rng(1)
    X, truth = rng.random((4000, 3, 2)), np.array([2.0, -1.0])
    utility = X @ truth + rng.gumbel(size=(4000, 3))
    log_p = bench_logit.logit(bench_logit.Singles(X, utility.argmax(1)), X)
    np.testing.assert_allclose(log_p, X @ truth - np.log(np.exp(X @ truth).sum(1, keepdims=True)), atol=0.25)


def test_a_file_that_is_missing_or_incomplete_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="does not exist"):
        bench_logit.read(tmp_path)
    (tmp_path / bench_logit.TRAVELMODE.file).write_text("traveller_id,mode\n1,air\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="no column 'chosen'"):
        bench_logit.read(tmp_path)


def test_both_forms_are_compared_on_the_same_toy() -> None:
    (found,) = bench_forms.compare(None, repetitions=1, n_choices=40, model=cb.ChoiceGP(engine="laplace"))
    assert found.task == "toy"
    assert found.inducing < found.options
    assert "difference" in bench_forms.line(found)


def test_the_command_prints_rows_and_writes_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_scale, "measure", lambda sizes, *_: iter([OURS] * len(sizes)))
    form = bench_forms.FormTiming("toy", 60.0, 32.0, 0.81, 0.82, 0.01, 1.0, 0.5)
    monkeypatch.setattr(bench_forms, "compare", lambda _: iter([form]))
    asked = bench_scale.QuestionTiming(5000, 4966, 1.9, 2.7)
    crowd = bench_scale.PeopleTiming(50, 50, 100, 12.3, 20.1, 456.0, 400.0, ())
    measured = {bench_scale.time_question: asked, bench_scale.time_people: crowd}
    monkeypatch.setattr(bench_scale, "in_own_process", lambda function, *_: measured[function])
    path = tmp_path / "scale.json"
    arguments = ["bench", "--scale", "--sizes", "1000,2000", "--json", str(path)]
    result = CliRunner().invoke(build_app(), arguments, env={"CHOICEBO_DATA": ""})
    assert result.exit_code == 0, result.output
    assert result.output.count("53 inducing options") == 2
    written = json.loads(path.read_text(encoding="utf-8"))
    assert [each["choices"] for each in written["scale"]] == [1000, 1000]
    assert written["forms"][0]["task"] == "toy"
    assert "after 5,000 answers about 4,966 options: 1.9 s" in result.output
    assert written["question"][0]["answers"] == 5000
    assert "50 people with 50 answers each about 100 options" in result.output
    assert "12.3 s, 20.1 CPU-s, 456 MB" in result.output
    assert written["people"][0]["people"] == 50


def test_the_question_of_a_long_study_is_timed() -> None:
    found = bench_scale.time_question(40)
    assert found.answers == 40
    assert found.seconds > 0.0


def test_the_fit_of_several_people_is_timed() -> None:
    found = bench_scale.time_people(3, 6)
    assert (found.people, found.answers_each) == (3, 6)
    assert found.options > 20
    assert found.seconds > 0.0
    assert found.megabytes > 50.0


@pytest.mark.parametrize("sizes", ["", "abc", "5", "100,-1"])
def test_sizes_that_make_no_sense_are_refused(sizes: str) -> None:
    result = CliRunner().invoke(build_app(), ["bench", "--scale", "--sizes", sizes])
    assert result.exit_code == 2
    assert "whole numbers of at least 10" in " ".join(result.output.split())
