"""A study is the loop in memory, kept: whatever is done to both, they stay the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_helpers import SPACE, new_study

import choicebo as cb
import choicebo.optimizer
from choicebo.study import Study

OPTIONS = [{"temperature": 150.0 + number, "minutes": 5 + number} for number in range(6)]

KEPT = st.lists(st.integers(0, 2), unique=True, max_size=3)
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("ask")),
        st.tuples(st.just("tell"), KEPT),
        st.tuples(st.just("skip")),
        st.tuples(st.just("undo")),
        st.tuples(st.just("add"), st.permutations(OPTIONS).map(lambda options: options[:3]), KEPT.filter(len)),
    ),
    max_size=12,
)
BASELINE = st.sampled_from([None, {"temperature": 200.0, "minutes": 30}])
relaxed = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@relaxed
@given(deeds=DEEDS, baseline=BASELINE)
def test_a_study_does_what_the_loop_in_memory_does(deeds, baseline):
    loop = cb.ChoiceOptimizer(SPACE, acquisition="sobol", query_size=3, baseline=baseline)
    with tempfile.TemporaryDirectory() as folder:
        study = new_study(Path(folder) / "study.db", baseline=baseline)
        for kind, *arguments in deeds:
            waiting = loop.open_queries
            if kind == "ask":
                assert study.ask(another=True) == loop.ask()
            elif kind == "tell" and waiting:
                loop.tell(waiting[-1], *arguments)
                study.tell(waiting[-1].id, *arguments)
            elif kind == "skip" and waiting:
                loop.skip(waiting[0])
                study.skip(waiting[0].id)
            elif kind == "undo" and len(loop.situation.events) > len(loop.queries):
                loop.undo()
                study.undo()
            elif kind == "add":
                loop.add(*arguments)
                study.add(*arguments)
            assert study.n_answers == loop.n_answers
        assert study.optimizer().to_dict() == loop.to_dict()
        copy = Study.import_json(Path(folder) / "copy.db", study.export_json())
        assert copy.optimizer().to_dict() == loop.to_dict()
        assert copy.export_json() == study.export_json()


@relaxed
@given(answers=st.integers(1, 5), retracted=st.sets(st.integers(0, 4)), data=st.data())
def test_restoring_what_was_retracted_restores_the_state_in_any_order(answers, retracted, data):
    with tempfile.TemporaryDirectory() as folder:
        study = new_study(Path(folder) / "study.db")
        receipts = [study.tell(study.ask(), [number % 3]) for number in range(answers)]
        before = study.optimizer().to_dict()
        chosen = [receipts[number] for number in retracted if number < answers]
        for receipt in chosen:
            study.retract(receipt)
        assert study.n_answers == answers - len(chosen)
        for receipt in data.draw(st.permutations(chosen)):
            study.restore(receipt)
        assert study.optimizer().to_dict() == before
