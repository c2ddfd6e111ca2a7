"""Studies that ask by their model: the cache, preparing ahead, what is known."""

from __future__ import annotations

import io
import json
import multiprocessing
import tracemalloc
import zipfile
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import sqlalchemy as sa
from study_helpers import SPACE

import choicebo as cb
from choicebo.optimizer import situation as compute
from choicebo.study import Study, posterior_store
from choicebo.study.tables import CacheRow

SETTINGS = {"engine": "laplace", "latent_dim": 2, "query_size": 3, "initial_queries": 2, "seed": 3}


def likes(option) -> tuple[float, float]:
    return -abs(option["temperature"] - 180), -option["minutes"]


def choose(options) -> list[int]:
    """What somebody keeps who wants it near 180 degrees, and soon."""
    values = [likes(option) for option in options]
    beaten = [any(all(a >= b for a, b in zip(o, v, strict=True)) and o != v for o in values) for v in values]
    return [position for position, lost in enumerate(beaten) if not lost]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A study of seven answers, six of them to questions of the model."""
    with Study.create(tmp_path_factory.mktemp("model") / "study.db", "bread", SPACE, **SETTINGS) as study:
        study.add_rater("ann")
        for number in range(7):
            question = study.ask("ann" if number == 3 else None)
            study.tell(question, choose(question.options))
        return study.export_json()


@pytest.fixture
def study(exported, tmp_path):
    with Study.import_json(tmp_path / "study.db", exported) as study:
        yield study


def never(*_, **__):
    pytest.fail("it was computed again")


def test_the_next_question_after_a_restart_is_the_one_that_would_have_been_asked(study, exported, tmp_path):
    loop = cb.ChoiceOptimizer.from_dict(study.optimizer().to_dict())
    question = study.ask()
    assert question.strategy != "sobol"
    assert question.latent_dim == 2
    assert question.options == loop.ask().options
    study.drop_cache()
    again = Study.import_json(tmp_path / "again.db", exported)
    again.posterior()  # a model that is kept already changes nothing
    assert again.ask().options == question.options


def test_a_fitted_model_is_kept_and_can_be_thrown_away(study, monkeypatch):
    assert not study.has_posterior()
    fitted = study.posterior()
    assert study.has_posterior()
    with monkeypatch.context() as patched:
        patched.setattr(compute, "fit", never)
        kept = Study.open(study.url).posterior()
    study.drop_cache()
    assert not study.has_posterior()
    X = SPACE.sobol(5)
    np.testing.assert_array_equal(kept.latent(X).mean, fitted.latent(X).mean)
    np.testing.assert_array_equal(kept.sample(X, seed=1), fitted.sample(X, seed=1))
    assert kept.data == fitted.data == study.data
    assert kept.diagnostics.r_hat == fitted.diagnostics.r_hat
    np.testing.assert_allclose(study.posterior().latent(X).mean, fitted.latent(X).mean)


def test_asking_leaves_the_model_behind_for_who_wants_to_see_it(study, monkeypatch):
    study.ask()
    monkeypatch.setattr(compute, "fit", never)
    assert study.has_posterior()
    assert study.pareto_set()[0].probability > 0


def test_another_answer_asks_for_another_model(study):
    study.posterior()
    study.retract(study.history()[2])
    assert not study.has_posterior()
    study.restore(study.history()[2])
    assert study.has_posterior()


def test_a_model_from_a_file_cannot_run_code(study):
    import pickle

    with pytest.raises((ValueError, zipfile.BadZipFile)):
        posterior_store.from_bytes(pickle.dumps({"text": 1}))


def rewritten(content, **changed):
    """The bytes of a model with other arrays in it."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        everything = {**arrays, **changed}
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in everything.items() if array is not None})
    return buffer.getvalue()


def with_text(content, **changed):
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        record = json.loads(str(arrays["text"]))
    return rewritten(content, text=np.array(json.dumps({**record, **changed})))


def compressed(content):
    """A small blob that unpacks to a large one."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        everything = {**arrays, "more": np.zeros(10**7)}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **everything)
    return buffer.getvalue()


def boasting(content):
    """An array whose header says that it is larger than it is."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for part in old.infolist():
            data = old.read(part)
            if part.filename == "whitened.npy":
                header = io.BytesIO()
                fields = {"descr": "<f8", "fortran_order": False, "shape": (2**20, 2**20)}
                np.lib.format.write_array_header_1_0(header, fields)
                data = header.getvalue() + data
            new.writestr(part.filename, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content, fitted: b"",
        lambda content, fitted: b"PK\x03\x04",
        lambda content, fitted: content[: len(content) // 2],
        lambda content, fitted: content[:2000] + bytes(500) + content[2500:],
        lambda content, fitted: compressed(content),
        lambda content, fitted: boasting(content),
        lambda content, fitted: rewritten(content, whitened=fitted.whitened[..., :-1]),
        lambda content, fitted: rewritten(content, whitened=fitted.whitened[:0]),
        lambda content, fitted: rewritten(content, whitened=np.where(fitted.whitened > 2, np.nan, fitted.whitened)),
        lambda content, fitted: rewritten(content, whitened=fitted.whitened.astype("U5")),
        lambda content, fitted: rewritten(content, whitened=None),
        lambda content, fitted: rewritten(content, log_likelihood=fitted.log_likelihood[:, :, :1]),
        lambda content, fitted: rewritten(content, options=fitted.options[::-1]),
        lambda content, fitted: rewritten(content, hyper_log_scale=np.zeros(3)),
        lambda content, fitted: rewritten(content, text=np.array("[" * 100_000)),
        lambda content, fitted: rewritten(content, text=np.array([b"{}"])),
        lambda content, fitted: with_text(content, diagnostics={}),
        lambda content, fitted: with_text(content, diagnostics=dict.fromkeys(vars(fitted.diagnostics), "x")),
        lambda content, fitted: with_text(content, likelihood="batch"),
        lambda content, fitted: with_text(
            content, data=cb.ChoiceData([[0.0, 0.0], [1.0, 1.0]], [((0, 1), (0,))]).to_json()
        ),
    ],
)
def test_a_damaged_model_is_computed_again(study, fitted_once, damage):
    store, key = study._posteriors, (study.data.fingerprint, 2)
    store.save(key, fitted_once)
    assert store.load(key) is not None
    content = damage(posterior_store.to_bytes(fitted_once), fitted_once)
    with study._storage.write() as connection:
        connection.execute(sa.update(CacheRow).values(content=content))
    tracemalloc.start()
    assert store.load(key) is None
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()


@pytest.fixture(scope="module")
def fitted_once(exported, tmp_path_factory):
    with Study.import_json(tmp_path_factory.mktemp("fitted") / "study.db", exported) as study:
        return study.posterior()


def test_the_model_of_other_answers_is_not_taken_for_this_one(study, fitted_once):
    key = (study.data.fingerprint, 2)
    study._posteriors.save(("other", 2), fitted_once)
    assert study._posteriors.load(("other", 2)) is None
    study._posteriors.save((key[0], 3), fitted_once)
    assert study._posteriors.load((key[0], 3)) is None


@pytest.mark.parametrize("error", [MemoryError, RecursionError, RuntimeError])
def test_whatever_goes_wrong_in_reading_a_model_costs_only_time(study, fitted_once, monkeypatch, error):
    def fails(_):
        raise error

    key = (study.data.fingerprint, 2)
    study._posteriors.save(key, fitted_once)
    monkeypatch.setattr(posterior_store, "from_bytes", fails)
    assert study._posteriors.load(key) is None


def test_status_tells_where_the_study_stands(study):
    plain = study.status(insight=False)
    assert (plain.answers, plain.skips, plain.open_questions, plain.advice, plain.pareto_set) == (7, 0, 0, None, ())
    status = study.status()
    assert status.latent_dim == 2
    assert status.advice.answers == 7
    assert status.advice.sentence
    assert status.pareto_set == study.pareto_set()
    assert [rater.answers for rater in status.raters] == [6, 1]
    assert all(surprise.past.counts for surprise in status.surprising)
    assert json.loads(json.dumps(status.to_dict()))["advice"]["sentence"] == status.advice.sentence


def test_one_rater_can_be_looked_at_alone(study):
    assert study.posterior("ann").data.n_choices == 1
    assert study.posterior().data.n_choices == 7


def test_the_pareto_set_is_exported_with_its_probabilities(study):
    head, *rows = study.export_csv("pareto").splitlines()
    assert head == "probability,temperature,minutes"
    found = [float(row.split(",")[0]) for row in rows]
    assert found == sorted(found, reverse=True)
    assert len(rows) == len(study.posterior().options)


def test_progress_is_reported_while_it_computes(study):
    stages = []
    study.posterior(progress=lambda stage, fraction: stages.append(stage))
    assert stages


def test_computing_in_another_process_gives_the_same_question(study, exported, tmp_path):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = Study.import_json(tmp_path / "elsewhere.db", exported, executor=pool)
        question = elsewhere.ask()
    assert question.options == study.ask().options
