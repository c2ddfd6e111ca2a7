"""What every storage promises: a test class inherits this one and supplies the fixture ``url``, a new place each time."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa
from study_helpers import MENU, SPACE, answer, new_study

import choicebo as cb
from choicebo.errors import DataError, InvalidInputError, SpaceError, StorageError
from choicebo.optimizer import prospect
from choicebo.optimizer import situation as compute
from choicebo.study import (
    OWNER,
    AlreadyAnsweredError,
    Storage,
    Study,
    StudyArchivedError,
    StudyError,
    StudyExistsError,
    StudyNotFoundError,
    UnknownRaterError,
    upgrade,
)
from choicebo.study.definition import Show
from choicebo.study.event_store import EventStore
from choicebo.study.posterior_store import PosteriorStore
from choicebo.study.schema import VERSION_TABLE
from choicebo.study.tables import (
    Base,
    CacheRow,
    ChecksumRow,
    LogRow,
    OptionRow,
    QuestionRow,
    RaterRow,
    ShownRow,
    StudyRow,
    TokenRow,
)

CRASHER = Path(__file__).with_name("study_crasher.py")


def crash(url: str, *arguments: object) -> list[tuple[int, int]]:
    """What was acknowledged, as (number of the question, position kept)."""
    command = [sys.executable, str(CRASHER), str(url), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return [(int(number), int(kept)) for number, kept in map(str.split, done.stdout.splitlines())]


class WhereStudiesLive:
    def test_a_study_is_found_again_as_it_was_created(self, url):
        space = cb.Space([cb.Real("a", 0, 1), cb.Categorical("flour", ["rye", "wheat"])], ["a <= 0.9"], {"oven": "gas"})
        baseline = {"a": 0.5, "flour": "rye", "oven": "gas"}
        made = new_study(url, "loaf", space, question="Which?", baseline=baseline, seed=7)
        opened = Study.open(url, "loaf")
        assert (opened.name, opened.question, opened.space, opened.baseline) == ("loaf", "Which?", space, baseline)
        assert opened.settings == made.settings
        assert opened.settings["seed"] == 7
        assert opened.created_at == made.created_at
        assert datetime.now(UTC) - opened.created_at < timedelta(minutes=5)

    def test_the_name_may_be_left_out_where_there_is_one_study(self, url):
        new_study(url, "bread")
        assert Study.open(url).name == "bread"
        new_study(url, "soup", MENU)
        with pytest.raises(StudyNotFoundError, match=r"2 studies.*'bread', 'soup'"):
            Study.open(url)
        with pytest.raises(StudyNotFoundError, match="no study 'cake'"):
            Study.open(url, "cake")

    def test_a_name_is_given_once(self, url):
        answer(new_study(url))
        with pytest.raises(StudyExistsError, match="'bread'"):
            new_study(url)
        assert Study.open(url).n_answers == 1

    def test_studies_are_listed_oldest_first(self, url):
        answer(new_study(url, "soup", MENU))
        new_study(url, "bread").add_rater("ann")
        listed = Study.list(url)
        assert [(info.name, info.answers, info.raters) for info in listed] == [("soup", 1, 1), ("bread", 0, 2)]

    def test_a_deleted_study_is_gone_and_the_others_are_not(self, url):
        study, other = new_study(url), new_study(url, "soup", MENU)
        token = study.add_rater("ann")
        answer(study)
        answer(other)
        study.undo()
        study.posterior()
        Study.delete(url, "bread")
        assert [info.name for info in Study.list(url)] == ["soup"]
        assert other.n_answers == 1
        assert other.rater_of(token) is None
        with pytest.raises(StudyNotFoundError, match="no longer"):
            study.ask()
        with pytest.raises(StudyNotFoundError, match="'bread'"):
            Study.delete(url, "bread")
        assert new_study(url).n_answers == 0

    def test_a_study_that_makes_no_sense_is_refused_before_anything_is_stored(self, url):
        for wrong in ({"query_size": 1}, {"engine": "magic"}, {"colour": "red"}, {"baseline": {"temperature": 1}}):
            with pytest.raises(InvalidInputError):
                new_study(url, **wrong)
        with pytest.raises(InvalidInputError):
            new_study(url, name=" ")
        with pytest.raises(InvalidInputError):
            new_study(url, raters="apart")
        new_study(url, "soup")
        assert [info.name for info in Study.list(url)] == ["soup"]

    @pytest.mark.parametrize(
        "wrong", [{"name": "a\0b"}, {"name": "x" * 3000}, {"question": "a\0b"}, {"question": "\ud800"}, {"seed": 2**63}]
    )
    def test_what_no_database_takes_is_refused_in_words(self, url, wrong):
        with pytest.raises(InvalidInputError):
            new_study(url, **wrong)

    def test_what_is_just_accepted_can_be_stored(self, url):
        study = new_study(url, "ü" * 200, question="x" * 100_000, seed=2**63 - 1)
        study.add_rater("ß" * 200)
        answer(study, rater="ß" * 200)
        assert Study.open(url, "ü" * 200).n_answers == 1

    def test_tables_made_by_the_migrations_are_those_of_the_models(self, url):
        from alembic.autogenerate import compare_metadata
        from alembic.runtime.migration import MigrationContext

        new_study(url)
        with Storage(url).read() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
            assert compare_metadata(context, Base.metadata) == []
        assert upgrade(url) == ()


class TheLoop:
    def test_a_question_stays_until_it_is_answered(self, url):
        study = new_study(url)
        question = study.ask()
        assert study.ask() == question == study.open_question() == Study.open(url).ask()
        study.tell(question, [0])
        assert study.open_question() is None
        assert study.ask().number == 2

    def test_another_question_can_be_opened_beside_it(self, url):
        study = new_study(url)
        first, second = study.ask(), study.ask(another=True)
        assert (first.number, second.number) == (1, 2)
        assert not {str(option) for option in first.options} & {str(option) for option in second.options}
        assert [question.number for question in study.questions(open_only=True)] == [1, 2]

    def test_an_answer_is_stored_with_who_when_and_how_long(self, url):
        study = new_study(url)
        question = study.ask()
        receipt = study.tell(question, [2, 0], seconds=4.25)
        (past,) = Study.open(url).history()
        assert past.options == question.options
        assert (past.kept, past.rater, past.seconds, past.state) == ((0, 2), OWNER, 4.25, "standing")
        assert past.id == receipt.id
        assert past.reason == question.reason
        assert past.asked_at == question.asked_at <= past.at == receipt.at

    def test_the_same_answer_twice_is_one_answer(self, url):
        study = new_study(url)
        question = study.ask()
        first = study.tell(question, [0, 1])
        again = Study.open(url).tell(question.number, [1, 0])
        assert (again.id, again.repeated, first.repeated) == (first.id, True, False)
        assert len(study.history()) == 1

    def test_another_answer_is_refused_unless_it_is_a_correction(self, url):
        study = new_study(url)
        question = study.ask()
        study.tell(question, [0])
        with pytest.raises(AlreadyAnsweredError, match="Question 1 is answered with") as refused:
            study.tell(question, [1])
        assert (refused.value.question, refused.value.kept) == (1, (0,))
        with pytest.raises(AlreadyAnsweredError):
            study.skip(question)
        receipt = study.tell(question, [1], correction=True)
        assert receipt.kind == "correction"
        assert [(past.kept, past.state) for past in study.history()] == [((0,), "corrected"), ((1,), "standing")]
        assert study.n_answers == 1
        assert study.get_question(1).kept == (1,)

    def test_a_skipped_question_is_closed_and_teaches_nothing(self, url):
        study = new_study(url)
        question = study.ask()
        assert study.skip(question).kind == "skip"
        assert study.skip(question).repeated
        with pytest.raises(AlreadyAnsweredError, match="skipped"):
            study.tell(question, [0])
        assert (study.n_answers, study.data, study.get_question(1).state) == (0, None, "skipped")
        study.tell(question, [0], correction=True)
        assert study.n_answers == 1

    def test_none_of_these_means_the_baseline_where_there_is_one(self, url):
        baseline = {"temperature": 200.0, "minutes": 20}
        with_baseline = new_study(url, baseline=baseline)
        receipt = with_baseline.tell(with_baseline.ask(), [])
        assert (receipt.kind, receipt.kept) == ("answer", ())
        (choice,) = with_baseline.data.choices
        assert len(choice.shown) == 4
        assert with_baseline.data.X[choice.kept[0]].tolist() == SPACE.encode([baseline])[0].tolist()
        without = new_study(url, "plain")
        assert without.tell(without.ask(), []).kind == "skip"
        assert without.n_answers == 0

    @pytest.mark.parametrize("kept", [[3], [-1], [0, 0], "01", [0.5], [True], None, 1])
    def test_positions_that_make_no_sense_store_nothing(self, url, kept):
        study = new_study(url)
        question = study.ask()
        with pytest.raises(InvalidInputError):
            study.tell(question, kept)
        assert study.history() == ()
        assert study.ask() == question

    def test_questions_that_were_not_asked_are_refused(self, url):
        study = new_study(url)
        with pytest.raises(StudyError, match="none was asked yet"):
            study.tell(1, [0])
        study.ask()
        with pytest.raises(StudyError, match=r"no question 7.*1 to 1"):
            study.skip(7)

    def test_undo_restores_the_state_before_the_answer(self, url):
        study = new_study(url)
        answer(study)
        question = study.ask()
        before = study.optimizer().to_dict()
        study.tell(question, [1])
        (undone,) = study.undo()
        assert (undone.question, undone.kept, undone.state) == (2, (1,), "undone")
        assert study.optimizer().to_dict() == before
        assert study.ask() == question
        study.tell(question, [2])
        assert [past.state for past in study.history()] == ["standing", "undone", "standing"]

    def test_undo_after_the_next_question_was_asked_shows_the_earlier_one_again(self, url):
        study = new_study(url)
        first = study.ask()
        study.tell(first, [0])
        second = study.ask()
        study.undo()
        assert study.ask() == first
        study.tell(first, [1])
        assert study.ask() == second

    def test_undo_of_a_correction_brings_the_first_answer_back(self, url):
        study = new_study(url)
        question = study.ask()
        study.tell(question, [0])
        study.tell(question, [1], correction=True)
        study.undo()
        assert study.get_question(1).kept == (0,)
        study.undo()
        assert study.get_question(1).is_open

    def test_several_can_be_undone_at_once_and_too_many_undo_nothing(self, url):
        study = new_study(url)
        answer(study)
        study.skip(study.ask())
        study.add([{"temperature": 160, "minutes": 10}, {"temperature": 170, "minutes": 11}], [0])
        with pytest.raises(StudyError, match="4 cannot be taken back"):
            study.undo(4)
        assert study.n_answers == 2
        assert [past.kind for past in study.undo(3)] == ["addition", "skip", "answer"]
        assert study.n_answers == 0
        assert len(study.questions(open_only=True)) == 2

    def test_a_retracted_answer_is_hidden_from_the_model_until_it_is_restored(self, url):
        study = new_study(url)
        first = answer(study)
        answer(study, (1,))
        before = study.data
        study.retract(first)
        study.retract(first.id)
        assert study.data.n_choices == 1
        assert [past.state for past in Study.open(url).history()] == ["retracted", "standing"]
        assert study.get_question(1).state == "retracted"
        assert study.ask().number == 3
        study.restore(study.history()[0])
        assert study.data == before

    def test_only_answers_that_stand_can_be_retracted(self, url):
        study = new_study(url)
        receipt = answer(study)
        skipped = study.skip(study.ask())
        study.undo(2)
        with pytest.raises(StudyError, match="was undone"):
            study.retract(receipt)
        for nothing in (skipped, 99, 1):
            with pytest.raises(StudyError, match="no answer"):
                study.retract(nothing)

    def test_choices_made_elsewhere_count_like_answers(self, url):
        study = new_study(url, space=MENU)
        study.add([{"sku": "A"}, "B", "C"], kept=[2])
        assert study.n_answers == 1
        assert study.history()[0].options[1] == {"sku": "B", "price": 5}
        for shown, kept in ((["A"], [0]), (["A", "Z"], [0]), (["A", "B"], []), (["A", "A"], [0]), ("AB", [0])):
            with pytest.raises((DataError, SpaceError)):
                study.add(shown, kept)
        assert study.n_answers == 1

    def test_what_is_measured_is_stored_replaced_and_withdrawn(self, url):
        space = cb.Space([cb.Integer("minutes", 5, 40)], objectives=["minimise cost = measured"])
        with Study.create(url, "bread", space, query_size=3) as study:
            study.tell(study.ask(), [0])
            token = study.add_rater("Ann")
            before = study.learned_until
            study.measure({"minutes": 12}, cost=12.5, rater="Ann")
            assert study.learned_until > before
            study.measure({"minutes": 20}, cost=3)
            study.measure({"minutes": 12}, cost=13)
            study.measure({"minutes": 20}, cost=None)
            found = [(each.option, each.name, each.value) for each in study.measurements()]
            assert found == [({"minutes": 12}, "cost", 13.0)]
            assert study.rater_of(token) == "Ann"
            assert study.n_answers == 1
        assert [info.answers for info in Study.list(url)] == [1]
        with Study.open(url) as again:
            assert again.measurements() == study.measurements()
            assert again.history() == study.history()
            copy = Study.import_json(url, again.export_json(), name="copy")
            assert copy.measurements() == again.measurements()
            assert copy.duplicate("another", answers=True).measurements() == again.measurements()
            again.archive()
            with pytest.raises(StudyArchivedError):
                again.measure({"minutes": 12}, cost=1)
            assert len(again.measurements()) == 1


class SeveralRaters:
    def test_each_has_own_open_questions_and_answers_are_learned_together(self, url):
        study = new_study(url)
        study.add_rater("ann")
        mine, hers = study.ask(), study.ask("ann")
        assert (mine.rater, hers.rater) == (OWNER, "ann")
        assert mine.number != hers.number
        assert not {str(option) for option in mine.options} & {str(option) for option in hers.options}
        study.tell(hers, [0])
        assert study.ask() == mine
        study.tell(mine, [1])
        assert study.data.n_choices == 2
        assert study.optimizer("ann").data.n_choices == 1
        assert [past.rater for past in study.history()] == ["ann", OWNER]
        assert [past.rater for past in study.history("ann")] == ["ann"]

    def test_modelled_apart_each_loop_is_as_if_alone(self, url):
        alone = new_study(url, "alone")
        study = new_study(url, raters="separate")
        study.add_rater("ann")
        for _ in range(3):
            answer(study)
            answer(study, (1,), "ann")
            answer(alone, (1,))
        assert [q.options for q in study.questions(rater="ann")] == [q.options for q in alone.questions()]
        assert study.optimizer("ann").data == alone.data
        assert study.data.n_choices == 6

    def test_nobody_answers_or_undoes_for_somebody_else(self, url):
        study = new_study(url)
        study.add_rater("ann")
        question = study.ask()
        with pytest.raises(StudyError, match="was asked to 'owner', not to 'ann'"):
            study.tell(question, [0], rater="ann")
        study.tell(question, [0], rater=OWNER)
        with pytest.raises(StudyError, match="cannot be taken back"):
            study.undo(rater="ann")

    def test_unknown_raters_are_refused_with_a_hint(self, url):
        study = new_study(url)
        study.add_rater("Annabel")
        with pytest.raises(UnknownRaterError, match="did you mean 'Annabel'"):
            study.ask("Anabel")
        with pytest.raises(StudyError, match="already"):
            study.add_rater("Annabel")
        with pytest.raises(StudyError, match="printable"):
            study.add_rater("  ")

    def test_a_token_leads_to_its_rater_and_is_stored_only_as_a_hash(self, url):
        study, other = new_study(url), new_study(url, "soup", MENU)
        token = study.add_rater("ann")
        assert study.rater_of(token) == "ann"
        assert other.rater_of(token) is None
        assert Study.of_token(url, token) == ("bread", "ann")
        assert study.rater_of("") is study.rater_of(token[:-1]) is Study.of_token(url, "nonsense") is None
        with Storage(url).read() as connection:
            stored = [str(row) for table in Base.metadata.sorted_tables for row in connection.execute(sa.select(table))]
        assert token not in "".join(stored)
        replaced = study.new_token("ann")
        assert (study.rater_of(token), study.rater_of(replaced)) == (None, "ann")

    def test_the_owner_sees_who_answered_what(self, url):
        study = new_study(url)
        study.add_rater("ann")
        answer(study, (0,), "ann")
        study.ask("ann")
        owner, ann = study.raters()
        assert (owner.name, owner.answers, owner.has_token, owner.last_seen) == (OWNER, 0, False, None)
        assert (ann.name, ann.answers, ann.open_questions, ann.has_token) == ("ann", 1, 1, True)
        assert ann.last_seen == study.history()[0].at


class CrashesAndCrowds:
    def test_kill_9_loses_no_acknowledged_answer_and_doubles_none(self, url, tmp_path):
        study = new_study(url)
        acknowledged = crash(url, "kill", 10, 1)
        assert len(acknowledged) >= 10
        stored = [(past.question, past.kept[0]) for past in study.history()]
        assert len(set(stored)) == len(stored)
        # At the moment of each kill one answer may have been stored whose receipt was still on its way.
        assert set(acknowledged) <= set(stored)
        assert len(stored) - len(acknowledged) <= 10
        assert all(past.state == "standing" for past in study.history())
        assert [question.number for question in study.questions()] == list(range(1, len(study.questions()) + 1))
        elsewhere = Study.import_json(tmp_path / "copy.db", study.export_json())
        assert elsewhere.ask().options == study.ask().options

    def test_processes_at_once_lose_nothing_and_ask_nothing_twice(self, url):
        study = new_study(url)
        for number in range(4):
            study.add_rater(f"r{number}")
        acknowledged = crash(url, "crowd", 4, 6)
        assert len(acknowledged) == len(set(acknowledged)) == 24
        stored = [(past.question, past.kept[0]) for past in study.history()]
        assert sorted(stored) == sorted(acknowledged)
        shown = [str(option) for question in study.questions() for option in question.options]
        assert len(set(shown)) == len(shown) == 72

    def test_an_earlier_state_of_the_database_that_is_put_back_is_noticed(self, url):
        study = new_study(url)
        answer(study)
        answer(study, (1,))
        with Storage(url).write() as connection:
            for table in (ShownRow, QuestionRow, LogRow):
                connection.execute(sa.delete(table).where(table.position > 2))
        assert study.n_answers == 1
        assert study.ask().number == 2
        answer(study, (2,))
        assert [past.kept for past in Study.open(url).history()] == [(0,), (2,)]
        assert [past.kept for past in study.history()] == [(0,), (2,)]

    def test_a_backup_that_lacks_a_rater_is_noticed(self, url):
        study = new_study(url)
        answer(study)
        study.add_rater("ann")
        answer(study, (1,), "ann")
        with Storage(url).write() as connection:
            for table in (ShownRow, QuestionRow, LogRow):
                connection.execute(sa.delete(table).where(table.position > 2))
            connection.execute(sa.delete(TokenRow))
            connection.execute(sa.delete(RaterRow).where(RaterRow.name == "ann"))
        with pytest.raises(UnknownRaterError, match="'ann'"):
            study.ask("ann")
        answer(study, (2,))
        copy = Study.import_json(url, study.export_json(), name="copy")
        assert [past.kept for past in copy.history()] == [(0,), (2,)]

    def test_an_answer_to_a_question_that_a_backup_lacks_is_not_taken_for_another(self, url):
        study = new_study(url)
        answer(study)
        lost = study.ask()
        with Storage(url).write() as connection:
            for table in (ShownRow, QuestionRow, LogRow):
                connection.execute(sa.delete(table).where(table.position > 1))
        with pytest.raises(StudyError, match="no question 2"):
            study.tell(lost, [0])
        study.skip(1)
        first = study.questions()[0]
        other = dataclasses.replace(first, options=[{"temperature": 160, "minutes": 10}, *first.options[1:]])
        with pytest.raises(StudyError, match="Question 1 shows other options"):
            Study.open(url).tell(other, [0], correction=True)

    def test_a_history_that_was_changed_in_the_database_is_refused(self, url):
        study = new_study(url)
        answer(study)
        answer(study)
        answer(study, (1,))
        changes = [
            sa.update(LogRow).where(LogRow.position == 2).values(kept=[1]),
            sa.update(LogRow).where(LogRow.position == 2).values(seconds=1.0),
            sa.update(ShownRow).where(ShownRow.position == 1, ShownRow.place == 0).values(option_id=2),
            sa.update(OptionRow).where(OptionRow.id == 1).values(option={"temperature": 160.0, "minutes": 10}),
            sa.update(QuestionRow).where(QuestionRow.position == 1).values(seed=5),
            sa.update(QuestionRow).where(QuestionRow.position == 1).values(wishes={"locked": {"minutes": 5}}),
            sa.update(RaterRow).values(name="ann"),
            sa.delete(ChecksumRow).where(ChecksumRow.position == 6),
        ]

        def read_with(change):
            with Storage(url).write() as connection:
                connection.execute(change)
                EventStore(study._storage, study._id, study.definition)._catch_up(connection)

        for change in changes:
            with pytest.raises(StorageError, match="damaged"):  # which takes the change back
                read_with(change)
        assert Study.open(url).history() == study.history()

    def test_a_definition_that_was_changed_in_the_database_is_refused(self, url):
        new_study(url).close()
        with Storage(url).write() as connection:
            connection.execute(sa.update(StudyRow).values(question="Which not?"))
        with pytest.raises(StorageError, match=r"'bread' is damaged .* checksum"):
            Study.open(url)

    def test_threads_that_ask_for_one_rater_get_one_question(self, url):
        study = new_study(url)
        found, start = [], threading.Barrier(6)

        def ask():
            start.wait()
            found.append(study.ask())

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        assert {question.number for question in found} == {1}
        assert len(study.questions()) == 1

    @pytest.mark.parametrize("stand_in", [False, True])
    def test_raters_who_ask_at_once_have_as_many_questions_computed(self, url, monkeypatch, stand_in):
        study, crowd, computed = new_study(url), 12, []
        for number in range(crowd):
            study.add_rater(f"r{number}")
        compute_question, start = prospect.Prospect.question, threading.Barrier(crowd)

        def counted(*given):
            computed.append(1)
            return compute_question(*given)

        def ask(name):
            start.wait()
            study.tell(study.ask(name, stand_in=stand_in), [0])

        monkeypatch.setattr(prospect.Prospect, "question", counted)
        threads = [threading.Thread(target=ask, args=(f"r{number}",)) for number in range(crowd)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(study.history()) == len(computed) == crowd
        shown = [str(option) for question in study.questions() for option in question.options]
        assert len(set(shown)) == len(shown)

    @pytest.mark.parametrize("stand_in", [False, True])
    def test_others_who_keep_asking_do_not_keep_a_question_from_being_asked(self, url, monkeypatch, stand_in):
        study, other = new_study(url), Study.open(url)
        study.add_rater("ann")
        compute_question, mine = prospect.Prospect.question, []

        def meanwhile_somebody_else_asks(*given):
            found = compute_question(*given)
            if len(mine) < 2:  # the third time it is computed in the transaction
                mine.append(1)
                monkeypatch.setattr(prospect.Prospect, "question", compute_question)
                other.ask("ann", another=True)
                monkeypatch.setattr(prospect.Prospect, "question", meanwhile_somebody_else_asks)
            return found

        monkeypatch.setattr(prospect.Prospect, "question", meanwhile_somebody_else_asks)
        question = study.ask(stand_in=stand_in)
        hers = [option for asked in other.questions(rater="ann") for option in asked.options]
        assert len(hers) == 6
        assert not any(option in hers for option in question.options)

    def test_two_answers_to_one_question_at_once_are_one(self, url):
        study = new_study(url)
        question = study.ask()
        outcomes, start = [], threading.Barrier(6)

        def tell(kept):
            start.wait()
            try:
                outcomes.append(Study.open(url).tell(question.number, [kept]).kept)
            except AlreadyAnsweredError as refused:
                outcomes.append(refused.kept)

        threads = [threading.Thread(target=tell, args=(number % 3,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (past,) = study.history()
        assert outcomes == [past.kept] * 6

    def test_a_question_computed_beside_another_is_not_asked(self, url, monkeypatch):
        study, other = new_study(url), Study.open(url)
        study.add_rater("ann")
        computed, calls = compute.next_question, []

        def meanwhile_somebody_else_asks(*given, **options):
            found = computed(*given, **options)
            if not calls:
                calls.append(1)
                other.ask("ann")
            return found

        monkeypatch.setattr(compute, "next_question", meanwhile_somebody_else_asks)
        mine = study.ask()
        (hers,) = other.questions(rater="ann")
        assert (hers.number, mine.number) == (1, 2)
        assert not {str(option) for option in mine.options} & {str(option) for option in hers.options}

    def test_answers_that_keep_coming_in_do_not_keep_a_question_from_being_asked(self, url, monkeypatch):
        study, other = new_study(url), Study.open(url)
        study.add_rater("ann")
        computed = compute.next_question

        def meanwhile_an_answer_arrives(*given, **options):
            other.add([{"temperature": 160, "minutes": 10}, {"temperature": 170, "minutes": 11}], [0], rater="ann")
            return computed(*given, **options)

        monkeypatch.setattr(compute, "next_question", meanwhile_an_answer_arrives)
        assert study.ask().number == 1


class Preparation:
    def test_a_prepared_question_is_asked_without_computing_and_is_the_one_that_follows(self, url, monkeypatch):
        study = new_study(url)
        answer(study)
        study.prepare()
        assert study.is_ready()
        assert study.open_question() is None
        copy = Study.import_json(url, study.export_json(), name="copy")
        after = copy.ask().options
        monkeypatch.setattr(compute, "next_question", lambda *_, **__: pytest.fail("it was computed again"))
        assert study.ask().options == after

    def test_what_is_forgotten_is_computed_again(self, url):
        study = new_study(url)
        answer(study)
        study.prepare()
        study.drop_cache()
        assert not study.is_ready()
        copy = Study.import_json(url, study.export_json(), name="copy")
        assert study.ask().options == copy.ask().options

    def test_a_damaged_model_costs_nothing_but_time(self, url):
        study = new_study(url, engine="laplace")
        answer(study)
        expected = study.posterior().hyper.log_scale.tolist()
        for damaged in (b"", b"PK\x03\x04", b"no posterior"):
            with Storage(url).write() as connection:
                connection.execute(sa.update(CacheRow).values(content=damaged))
            opened = Study.open(url)
            assert opened.optimizer().known_posterior is None
            assert opened.posterior().hyper.log_scale.tolist() == expected
        assert study.ask().number == 2

    def test_stored_models_do_not_grow_without_end(self, url):
        study = new_study(url, engine="laplace")
        answer(study)
        posterior = study.posterior()
        with Storage(url).write() as connection:
            # As an earlier version left it.
            row = {"study_id": 1, "kind": "question", "key": "old", "content": b"{}"}
            connection.execute(sa.insert(CacheRow).values(row))
        store = PosteriorStore(Storage(url), 1, study.settings)
        for number in range(20):
            store.save((f"answers {number}", 2), posterior)
        assert not store.has(("answers 3", 2))
        assert store.has(("answers 19", 2))
        with Storage(url).read() as connection:
            assert connection.execute(sa.select(sa.func.count(CacheRow.id))).scalar() == 12


class InAndOut:
    def test_an_exported_study_is_imported_whole(self, url):
        study = new_study(url, question="Größe?", baseline={"temperature": 200, "minutes": 20})
        study.add_rater("ann")
        receipt = answer(study)
        answer(study, (1, 2), "ann")
        study.skip(study.ask())
        study.tell(2, [], correction=True)
        study.add([{"temperature": 160.1, "minutes": 10}, {"temperature": 170, "minutes": 11}], [0], rater="ann")
        study.retract(receipt)
        study.undo(rater="ann")
        study.ask("ann")
        text = study.export_json()
        copy = Study.import_json(url, text, name="copy")
        assert copy.history() == study.history()
        assert copy.questions() == study.questions()
        assert copy.data == study.data
        assert [rater.name for rater in copy.raters()] == [OWNER, "ann"]
        exported, expected = json.loads(copy.export_json()), json.loads(text)
        expected["study"]["name"] = "copy"
        assert exported == expected
        assert copy.ask().options == study.ask().options

    def test_an_import_that_fails_leaves_nothing(self, url):
        study = new_study(url)
        answer(study)
        document = json.loads(study.export_json())
        document["log"][1]["kept"] = [9]
        with pytest.raises(DataError, match=r"log\[1\].*kept holds 9"):
            Study.import_json(url, json.dumps(document), name="copy")
        with pytest.raises(StudyExistsError):
            Study.import_json(url, study.export_json())
        assert [info.name for info in Study.list(url)] == ["bread"]

    def test_pairs_are_imported_and_undone_together(self, url):
        study = new_study(url, space=MENU)
        answer(study)
        assert study.import_pairs("winner,loser\nA,B\n\nC,D\n") == 2
        assert study.n_answers == 3
        assert [past.options[0]["sku"] for past in study.history()[1:]] == ["A", "C"]
        assert len(study.undo()) == 2
        assert study.n_answers == 1

    def test_a_bad_row_is_named_and_nothing_is_imported(self, url):
        study = new_study(url, space=MENU)
        with pytest.raises(DataError, match=r"Line 3: loser is 'Z', which is not among the options"):
            study.import_pairs("winner,loser\nA,B\nC,Z\n")
        with pytest.raises(DataError, match="Pair 1"):
            study.import_pairs([("A", "B"), ("A", "A")])
        assert study.n_answers == 0

    def test_answers_of_every_kind_are_added_and_undone_together(self, url):
        study = new_study(url, space=MENU)
        study.add(["A", "B", "C"], ranking=[2, 0])
        study.add(["A", "B", "C", "D"], best=3, worst=0)
        study.add(["A", "B"], best=1)
        study.add(["A", "B", "C"], ranking=[[0, 1], 2])
        keys = [("".join(o["sku"] for o in past.options), past.kept, past.marks.words()) for past in study.history()]
        assert keys == [
            ("ABC", (2,), "in order: 3, 1"),
            ("ABCD", (3,), "best: 4, worst: 1"),
            ("AB", (1,), "best: 2"),
            ("ABC", (0, 1), "in order: 1 = 2, 3"),
        ]
        assert study.n_answers == 4
        # As choices: C of ABC, A of AB; D of ABCD, B of AB, C of AC; B of AB; A and B of ABC.
        assert [len(choice.shown) for choice in study.data.choices] == [3, 2, 4, 2, 2, 2, 3]
        assert [len(study.undo()) for _ in range(4)] == [1, 1, 1, 1]
        for wrong in (
            {},
            {"kept": [0], "best": 0},
            {"worst": 1},
            {"best": 2},
            {"ranking": [0, 0]},
            {"best": 0, "worst": 0},
        ):
            with pytest.raises(DataError):
                study.add(["A", "B"], **wrong)
        assert study.n_answers == 0

    def test_tables_of_every_kind_are_imported(self, url):
        study = new_study(url, space=MENU, baseline={"sku": "D"})
        assert study.import_table("choice,rank,option\n1,2,A\n1,1,B\n1,,C\n", "rankings") == 2
        assert study.import_table("option1,option2,option3,best,worst\nA,B,C,C,B\n", "best-worst") == 2
        assert study.import_table("approved,sku\n1,A\n0,B\n", "approvals") == 2
        assert study.import_choices([{"choice": 1, "kept": k, "option": o} for k, o in ((1, "A"), (0, "C"))]) == 1
        assert (
            study.import_pairs(
                pd.DataFrame({"chosen": ["A"], "other": ["D"]}), columns={"winner": "chosen", "loser": "other"}
            )
            == 1
        )
        keys = [([o["sku"] for o in past.options], past.kept) for past in study.history()]
        assert keys[:4] == [(["A", "B", "C"], (1,)), (["A", "C"], (0,)), (["A", "B", "C"], (2,)), (["A", "B"], (0,))]
        assert keys[4:] == [(["A", "D"], (0,)), (["D", "B"], (0,)), (["A", "C"], (0,)), (["A", "D"], (0,))]
        assert study.data.n_choices == 8

    def test_what_a_study_exports_as_answers_another_reads(self, url, tmp_path):
        study, other = new_study(url), new_study(tmp_path / "other.db")
        answer(study, (0, 2))
        answer(study, (1,))
        assert other.import_choices(study.export_csv("answers"), columns={"choice": "id"}) == 2
        assert [(past.options, past.kept) for past in other.history()] == [
            (past.options, past.kept) for past in study.history()
        ]

    def test_a_table_may_name_the_rater_of_each_answer(self, url):
        study = new_study(url, space=MENU)
        study.add_rater("ann")
        study.add_rater("bob")
        table = "choice,rank,option,rater\n1,1,A,ann\n1,2,B,\n1,3,C,ann\n2,1,B,bob\n2,2,A,bob\n3,1,D,\n3,2,A,\n"
        assert study.import_table(table, "rankings") == 4
        assert study.import_pairs("winner,loser,rater\nA,B,ann\n") == 1
        assert [past.rater for past in study.history()] == ["ann", "ann", "bob", OWNER, "ann"]
        assert [len(study.undo(rater="ann")) for _ in range(2)] == [1, 2]
        assert [past.rater for past in study.history() if past.state == "standing"] == ["bob", OWNER]
        copy = Study.import_json(url, study.export_json(), name="copy")
        assert copy.history() == study.history()
        with pytest.raises(
            DataError, match=r"(?s)2 lines are wrong.*Line 2: .*'eve'.*Line 3: .*'joe'.*Nothing was imported"
        ):
            study.import_pairs("winner,loser,rater\nA,B,eve\nC,D,joe\nA,C,ann\n")
        with pytest.raises(DataError, match="Line 3: choice 1 has the rater, but another one in an earlier line"):
            study.import_table("choice,rank,option,rater\n1,1,A,ann\n1,2,B,bob\n", "rankings")
        assert study.import_pairs("winner,loser,rater\nA,B,eve\n", rater="bob") == 1
        assert study.latest()[0].rater == "bob"

    def test_all_bad_rows_are_named(self, url):
        study = new_study(url)
        header = "winner.temperature,winner.minutes,loser.temperature,loser.minutes\n"
        with pytest.raises(DataError) as caught:
            study.import_pairs(header + "180,20,500,20\n150,10,160,10\n" + "150,10,160,x\n" * 30)
        lines = str(caught.value).splitlines()
        assert lines[0] == "31 lines are wrong:"
        assert lines[1].startswith("    Line 2: ")
        assert lines[-2:] == ["    and 11 more", "Nothing was imported."]
        with pytest.raises(
            DataError, match=r"Line 2: its weight is 2; answers of a study have none.*Nothing was imported"
        ):
            study.import_pairs(header.strip() + ",weight\n150,10,160,10,2\n")
        assert study.n_answers == 0

    def test_a_large_import_is_one_transaction(self, url, monkeypatch):
        monkeypatch.setattr("choicebo.study.event_store._BATCH", 3)
        study = new_study(url)
        answer(study)
        before = study.history()
        table = (
            "winner.temperature,winner.minutes,loser.temperature,loser.minutes\n" + "150,10,160,10\n170,9,160,10\n" * 5
        )
        seen = []

        def interrupt(stage, fraction):
            seen.append((stage, fraction))
            if stage == "storing" and fraction > 0.5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            study.import_pairs(table, progress=interrupt)
        assert seen == [("storing", 0.3), ("storing", 0.6)]
        assert study.history() == before
        assert Study.open(url, "bread").history() == before
        assert study.import_pairs(table) == 10
        again = Study.open(url, "bread")
        assert again.history() == study.history()
        assert [past.options for past in again.history()][1] == [
            {"temperature": 150.0, "minutes": 10},
            {"temperature": 160.0, "minutes": 10},
        ]
        assert len(again.undo()) == 10

    def test_choice_data_is_imported_as_options(self, url):
        study = new_study(url)
        options = [{"temperature": 150.0, "minutes": 5}, {"temperature": 185.0, "minutes": 20}]
        data = cb.ChoiceData.from_sets([SPACE.encode(options)], [[1]])
        assert study.import_choices(data) == 1
        assert study.history()[0].options == options
        assert study.data == data

    def test_each_way_of_answering_is_one_answer_and_comes_back_as_it_was_given(self, url):
        study = new_study(url, space=MENU, query_size=3, answer="ranking")
        assert (study.answer, study.question) == ("ranking", "Which of these is the best, which the next?")
        ways = [{"ranking": [2, 0]}, {"best": 1}, {"best": 1, "worst": 0}, {"ranking": [[0, 1], 2]}, {"kept": [0, 2]}]
        told = [study.tell(study.ask(), **way, seconds=2.5) for way in ways]
        words = ["in order: 3, 1", "best: 2", "best: 2, worst: 1", "in order: 1 = 2, 3", None]
        assert [each.marks and each.marks.words() for each in told] == words
        assert study.n_answers == 5
        assert study.data.n_choices == 2 + 1 + 2 + 1 + 1
        again = Study.open(url)
        assert again.history() == study.history() == tuple(told)
        assert again.get_question(1).marks == told[0].marks
        with tempfile.TemporaryDirectory() as folder:
            copy = Study.import_json(f"{folder}/copy.db", study.export_json())
            assert [past.marks for past in copy.history()] == [past.marks for past in study.history()]
            assert copy.ask().options == study.ask().options
            copy.close()
        said = [line.split(",")[9] for line in study.export_csv("answers").splitlines()[1:]]
        assert said[:9] == ["2", "", "1", "", "best", "", "worst", "best", ""]
        study.undo(2)
        assert study.n_answers == 3
        assert study.data.n_choices == 5

    def test_another_way_of_answering_is_a_correction(self, url):
        study = new_study(url, space=MENU, query_size=3)
        question = study.ask()
        study.tell(question, best=1)
        assert study.tell(question, best=1).repeated
        with pytest.raises(AlreadyAnsweredError, match="best"):
            study.tell(question, kept=[1])  # the same option, but not the same answer
        assert study.tell(question, ranking=[1, 2], correction=True).marks.ranking == ((1,), (2,))
        assert study.data.n_choices == 2
        for wrong in (
            {},
            {"kept": [0], "best": 0},
            {"worst": 1},
            {"best": 3},
            {"ranking": []},
            {"best": 0, "worst": 0},
        ):
            with pytest.raises(InvalidInputError):
                study.tell(study.ask(), **wrong)

    def test_what_the_likelihood_cannot_learn_from_is_refused(self, url):
        study = new_study(url, space=MENU, query_size=3, answer="best", likelihood="batch_preference")
        assert study.settings["latent_dim"] == 1
        with pytest.raises(DataError, match="one winner"):
            study.tell(study.ask(), kept=[0, 1])
        with pytest.raises(DataError, match="one winner"):
            study.add(["A", "B"], kept=[0, 1])
        study.tell(study.ask(), ranking=[0, 1])
        assert study.n_answers == 1

    def test_tables_hold_what_was_shown_and_kept(self, url):
        study = new_study(url)
        answer(study, (0, 2))
        study.ask()
        answers = study.export_csv("answers").splitlines()
        assert answers[0] == "id,question,kind,state,rater,at,seconds,place,kept,said,temperature,minutes"
        assert [line.split(",")[8] for line in answers[1:]] == ["1", "0", "1"]
        options = study.export_csv("options").splitlines()
        assert options[0] == "option,temperature,minutes,shown,kept"
        assert [line.split(",")[3:] for line in options[1:]] == [["1", "1"], ["1", "0"], ["1", "1"]] + [["0", "0"]] * 3
        with pytest.raises(StudyError, match="no table"):
            study.export_csv("everything")


class KeepingHouse:
    def test_an_edit_leaves_the_answers_alone_and_is_seen_by_everybody_who_has_it_open(self, url):
        study = new_study(url)
        answer(study)
        beside = Study.open(url)
        history, following = study.history(), study.ask().options
        study.edit(question="Again?", show=Show("svg", template="<svg>{minutes}</svg>"))
        for seen in (study, beside, Study.open(url)):
            assert (seen.history(), seen.ask().options) == (history, following)
            assert (seen.question, seen.show.kind) == ("Again?", "svg")
        beside.edit(question="Once more?")
        assert study.n_answers == 1
        assert study.question == "Once more?"

    def test_an_edit_of_two_processes_loses_neither(self, url):
        study, beside = new_study(url), Study.open(url)
        study.edit(question="Again?")
        beside.rename("loaf")
        opened = Study.open(url)
        assert (opened.question, opened.name) == ("Again?", "loaf")

    def test_an_edit_that_cannot_be_is_refused_and_changes_nothing(self, url):
        study = new_study(url)
        new_study(url, "soup", MENU)
        with pytest.raises(StudyExistsError, match="'soup'"):
            study.rename("soup")
        for wrong in ({"name": " "}, {"question": ""}, {"show": Show("image")}):
            with pytest.raises(InvalidInputError):
                study.edit(**wrong)
        assert Study.open(url, "bread").definition == study.definition

    def test_a_renamed_study_goes_on_for_those_who_have_it_open(self, url):
        study = new_study(url)
        token = study.add_rater("ann")
        beside = Study.open(url)
        question = beside.ask("ann")
        study.rename("loaf")
        beside.tell(question, [0])
        assert (beside.name, Study.open(url, "loaf").n_answers) == ("loaf", 1)
        assert Study.of_token(url, token) == ("loaf", "ann")
        with pytest.raises(StudyNotFoundError, match="no study 'bread'"):
            Study.open(url, "bread")
        assert new_study(url, "bread").n_answers == 0
        assert beside.n_answers == 1

    def test_a_copy_has_the_definition_and_on_demand_the_answers(self, url):
        study = new_study(url, question="Again?")
        study.add_rater("ann")
        answer(study)
        answer(study, rater="ann")
        study.archive()
        plain, full = study.duplicate("plain"), study.duplicate("full", answers=True)
        assert (plain.question, plain.n_answers, len(plain.raters())) == ("Again?", 0, 1)
        assert (full.history(), full.data) == (study.history(), study.data)
        assert full.archived_at is None
        answer(full)
        assert (study.n_answers, full.n_answers) == (2, 3)
        with pytest.raises(StudyExistsError):
            study.duplicate("full")

    def test_an_archived_study_can_be_read_and_not_answered(self, url):
        study = new_study(url)
        answer(study)
        question = study.ask()
        beside = Study.open(url)
        study.archive()
        refused = (
            beside.ask,
            lambda: beside.tell(question, [0]),
            lambda: beside.skip(question),
            beside.undo,
            lambda: beside.retract(beside.history()[0]),
            lambda: beside.add_rater("ann"),
        )
        for act in refused:
            with pytest.raises(StudyArchivedError, match="archived"):
                act()
        assert (beside.n_answers, len(beside.history()), beside.archived_at) == (1, 1, study.archived_at)
        assert beside.open_question() is None
        assert [info.archived_at for info in Study.list(url)] == [study.archived_at]
        assert Study.open(url).name == "bread"
        new_study(url, "soup", MENU)
        assert Study.open(url).name == "soup"
        copy = Study.import_json(url, study.export_json(), name="copy")
        assert copy.archived_at == study.archived_at
        study.unarchive()
        assert beside.tell(question, [0]).question == 2
        Study.delete(url, "copy")

    @pytest.mark.parametrize("answers", ["keep", "retract"])
    def test_a_removed_rater_answers_no_longer_until_they_are_brought_back(self, url, answers):
        study = new_study(url)
        token = study.add_rater("ann")
        for rater in ("ann", "ann", OWNER):
            answer(study, rater=rater)
        beside = Study.open(url)
        question = beside.ask("ann")
        study.retract(study.history("ann")[0])
        study.remove_rater("ann", answers=answers)
        assert (study.rater_of(token), Study.of_token(url, token)) == (None, None)
        for act in (lambda: beside.ask("ann"), lambda: beside.tell(question, [0]), lambda: beside.undo(rater="ann")):
            with pytest.raises(StudyError, match="'ann' was removed"):
                act()
        for act in (study.add_rater, study.new_token):
            with pytest.raises(StudyError, match="removed"):
                act("ann")
        assert (study.n_answers, len(study.history("ann"))) == (2 if answers == "keep" else 1, 2)
        assert [rater.removed_at is None for rater in study.raters()] == [True, False]
        assert [info.raters for info in Study.list(url)] == [1]
        copy = Study.import_json(url, study.export_json(), name="copy")
        assert [rater.removed_at for rater in copy.raters()] == [rater.removed_at for rater in study.raters()]
        for has_ann in (study, copy):
            renewed = has_ann.restore_rater("ann")
            assert has_ann.rater_of(renewed) == "ann"
            assert has_ann.rater_of(token) is None
            assert [past.state for past in has_ann.history("ann")] == ["retracted", "standing"]
        assert beside.tell(question, [0]).rater == "ann"

    def test_who_cannot_be_removed_or_brought_back_is_refused(self, url):
        study = new_study(url)
        study.add_rater("ann")
        with pytest.raises(StudyError, match="owner"):
            study.remove_rater(OWNER)
        with pytest.raises(UnknownRaterError):
            study.remove_rater("bob")
        with pytest.raises(StudyError, match="'keep' or 'retract'"):
            study.remove_rater("ann", answers="burn")
        with pytest.raises(StudyError, match="was not removed"):
            study.restore_rater("ann")


class StudyContract(WhereStudiesLive, TheLoop, SeveralRaters, CrashesAndCrowds, Preparation, InAndOut, KeepingHouse):
    """All of it."""
