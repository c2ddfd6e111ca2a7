import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from choicebo.experiments import optimisation_report
from choicebo.experiments.document import Document, Picture
from choicebo.experiments.provenance import provenance_section
from choicebo.experiments.report_tables import MIXED
from choicebo.experiments.trials import FinishedTrial, Trial

ENDS = {("default", 0): 0.5, ("default", 1): 0.3, ("parego", 0): 0.6, ("parego", 1): 0.9, ("sobol", 0): 1.2}


def done(method: str, repetition: int, end: float, task: str = "zdt1") -> FinishedTrial:
    new = 2 if method == "default" else 1
    result = {
        "log_hv_difference": [2.0, 1.5, end],
        "log_hv_difference_per_option": [2.0, *np.linspace(1.5, end, 2 * new)],
        "new_options": [new, new],
        "seconds": [1.0, 3.0],
        "settings": {},
    }
    return FinishedTrial(Trial("bo", task, method, repetition, {"iterations": 2}), result, 60.0, "2026-01-01", "0.1.0")


@pytest.fixture
def finished() -> list[FinishedTrial]:
    return [done(method, repetition, end) for (method, repetition), end in ENDS.items()]


def printed(table) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(table)
    return " ".join(console.export_text().split())


def test_the_table_has_mean_standard_error_and_repetitions_of_every_method(finished):
    shown = printed(optimisation_report.final_table(finished))
    assert "0.400 ± 0.100 (2)" in shown
    assert "0.750 ± 0.150 (2)" in shown
    assert "1.200 (1)" in shown
    assert "2.000" in shown


def test_a_number_that_several_revisions_went_into_is_marked(finished):
    one = [dataclasses.replace(each, commit="aaa") for each in finished]
    assert MIXED not in printed(optimisation_report.final_table(one))
    two = [dataclasses.replace(one[0], commit="bbb"), *one[1:]]
    shown = printed(optimisation_report.final_table(two))
    assert "0.400 ± 0.100 (2)†" in shown
    assert shown.count(MIXED) == 2  # and once in the caption
    last = provenance_section({}, {"bo": ([each.trial for each in two], two)})
    text = Document("Report", [last]).markdown()
    assert "| bbb (1), aaa (1) |" in text
    assert "| aaa |" in text


def test_the_reference_points_are_told(finished):
    assert "│ zdt1 │ 4 │ 2 │ -11, -11 │ 120.66667 │" in printed(optimisation_report.problem_table(finished))


def test_fits_that_were_flagged_are_counted(finished):
    finished[0].result["settings"] = {"fits_flagged": 1}
    shown = printed(optimisation_report.time_table(finished))
    assert "1/2" in shown


def test_what_a_person_reads_and_marks_is_told(finished):
    finished[0].result.update(options_read=[5, 5], marks=[2, 1])
    table = optimisation_report.time_table(finished)
    cells = {column.header: list(column.cells) for column in table.columns}
    assert (cells["read"][0], cells["marked"][0]) == ("5.0", "1.5")
    assert cells["read"][1] == ""


def test_methods_are_compared_with_parego_from_the_same_start(finished):
    shown = printed(optimisation_report.duel_table(finished))
    assert "-0.350 ± 0.250 (2)" in shown
    assert "0.600 (1)" in shown
    assert "ahead" in shown


def test_the_comparison_with_equally_many_options_stops_ours_earlier(finished):
    # After two new options the default, which shows two at a time, has had one iteration.
    at_two = [np.linspace(1.5, end, 4)[1] for end in (0.5, 0.3)]
    expected = np.mean(at_two) - 0.75
    shown = printed(optimisation_report.duel_table(finished, optimisation_report.PER_OPTION))
    assert f"{expected:.3f} ±" in shown


def test_where_parego_asks_for_an_option_again_both_are_read_at_its_number_of_different_options(finished):
    for each in finished:
        if each.trial.method == "parego":
            del each.result["log_hv_difference_per_option"][
                -1
            ]  # its second iteration showed nothing new: 1.5 at one option
    shown = printed(optimisation_report.duel_table(finished, optimisation_report.PER_OPTION))
    assert " 0.000 ± 0.000 (2)" in shown  # the default was at 1.5 as well after one option
    assert "equally many different options" in shown


def test_without_parego_nothing_is_compared_with_it(finished):
    assert optimisation_report.duel_table([each for each in finished if each.trial.method != "parego"]) is None


def test_the_time_of_an_iteration_is_reported(finished):
    shown = printed(optimisation_report.time_table(finished))
    assert "Oracle-ParEGO │ 2.00" in shown
    assert "1.0" in shown


def test_the_figure_has_a_panel_for_each_problem_with_all_methods(finished):
    figure = optimisation_report.figure([*finished, done("sobol", 0, 1.0, task="kursawe")])
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["zdt1", "kursawe"]
    assert [len(axes.lines) for axes in panels] == [3, 1]
    np.testing.assert_allclose(panels[0].lines[0].get_ydata(), [2.0, 1.5, 0.4])
    assert len(panels[0].collections) == 2  # bands where there is more than one repetition
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"choicebo (default)", "Oracle-ParEGO", "Sobol"}


def test_the_report_says_how_it_was_made(finished):
    grid = [*(each.trial for each in finished), Trial("bo", "zdt1", "sobol", 1, {"iterations": 2})]
    last = provenance_section({"full": False}, {"bo": (grid, finished)})
    text = Document("Report", [optimisation_report.section(finished), last]).markdown()
    for part in ("| full | False |", "| numpy | " + np.__version__, "| date | 20", "| bo | sobol | 1 of 2 | 60.0 s |"):
        assert part in text, part
    assert "(bo.png)" in text
    assert "(bo-per-option.png)" in text


def test_the_section_holds_both_figures(finished):
    blocks = optimisation_report.section(finished).blocks
    assert [block.name for block in blocks if isinstance(block, Picture)] == ["bo", "bo-per-option"]
