"""The ``reproduce`` commands: run an experiment, go on where it was stopped, and report.

Whatever computes is imported inside the commands, so that ``choicebo --help`` does not wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Signature, getdoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from choicebo.errors import DataError
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.experiments.cells import Cell, Done
    from choicebo.experiments.document import Section

app = typer.Typer(help="Run the paper's experiments: our figures beside the paper's.", no_args_is_help=True)

QUICK_REPETITIONS, FULL_REPETITIONS = 5, 20
QUICK_SETS, FULL_SETS = ("slump", "jura"), ("slump", "jura", "real-estate", "enb")

Full = Annotated[bool, typer.Option("--full/--quick", help="The paper's sizes, or a run of some minutes.")]
Folder = Annotated[
    Path, typer.Option("--out", file_okay=False, help="Folder for results; a run goes on from those there.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes; more than cores does not help.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the workers of this dask scheduler, tcp://host:port.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the first repetition.")]
Data = Annotated[Path | None, typer.Option(envvar="CHOICEBO_DATA", help="Folder that holds the data sets (CSV).")]
Stored = Annotated[bool, typer.Option("--stored", help="Run nothing; report the results that are there.")]
Splits = Annotated[int, typer.Option(min=1, help="How often the rows are divided into folds anew.")]
Scaling = Annotated[Literal["min-max", "rank"], typer.Option(help="How inputs are brought into the unit cube.")]


class Run:
    """One invocation: where results go, who works on them, and what belongs in the report.

    What it is made from are the options that all experiments share.
    """

    def __init__(
        self,
        full: Full = False,
        out: Folder = Path("results"),
        *,
        jobs: Jobs = 1,
        cluster: Cluster = None,
        stored: Stored = False,
    ) -> None:
        self.full, self.out = full, out
        self.settings: dict[str, Any] = {"full": full}
        self._jobs, self._cluster, self._stored = jobs, cluster, stored
        self._sections: list[Section] = []
        self._grids: dict[str, tuple[Sequence[Cell], Sequence[Done]]] = {}

    def cells(self, experiment: str, grid: Sequence[Cell], work: Callable[[Cell], dict[str, Any]]) -> list[Done]:
        """The results of a grid, worked on unless they are stored already, or unless only those are asked for."""
        from choicebo.experiments.progress import display
        from choicebo.experiments.results import ResultFile
        from choicebo.experiments.runner import run

        require_writable(self.out)
        file = ResultFile(self.out / f"{experiment}.jsonl")
        if self._stored:
            finished = file.of(grid)
            self._grids[experiment] = grid, finished
            return finished
        try:
            with display(experiment) as watcher:
                finished = run(grid, work, file, jobs=self._jobs, cluster=self._cluster, watcher=watcher)
        except KeyboardInterrupt:
            output.warn(
                f"{len(file.of(grid))} of {len(grid)} cells are stored in {file.path}; the same command goes on."
            )
            raise
        self._grids[experiment] = grid, finished
        return finished

    def add(self, section: Section) -> None:
        """Print the tables of a section, and put it into the report."""
        from rich.table import Table

        for block in section.blocks:
            if isinstance(block, Table):
                output.results().print(block)
        self._sections.append(section)

    def report(self, name: str) -> None:
        """Write what was added."""
        from choicebo.experiments.document import Document
        from choicebo.experiments.provenance import provenance
        from choicebo.experiments.sections import settings_section

        if not self._sections:
            raise DataError(f"{self.out} holds no results of this experiment; leave --stored out to run it.")
        last = settings_section(self.settings, provenance(), self._grids)
        title = f"choicebo reproduces the paper: {name}" if name != "report" else "choicebo reproduces the paper"
        markdown, page = Document(title, [*self._sections, last]).write(self.out, name)
        output.results().print(f"Report: [bold]{page}[/bold] and [bold]{markdown}[/bold]")


Work = TypeVar("Work", bound=Callable[..., None])


def experiment(name: str, report: str | None = None) -> Callable[[Work], Work]:
    """Make a command of a function that takes a run: its options are those of :class:`Run` and the function's own.

    Of both, those that may be given by position come first, as in any signature.
    """

    def add(work: Work) -> Work:
        shared = signature(Run, eval_str=True).parameters
        _, *own = signature(work, eval_str=True).parameters.values()
        options = sorted([*shared.values(), *own], key=lambda option: option.kind)

        def command(**given: Any) -> None:
            run = Run(**{each: given.pop(each) for each in shared})
            work(run, **given)
            run.report(report or name)

        command.__signature__ = Signature(options)  # type: ignore[attr-defined]
        app.command(name, help=getdoc(work))(command)
        return work

    return add


@experiment("toy")
def toy(run: Run, *, seed: Seed = 0) -> None:
    """Accuracy on the toy function with 100 and 300 choices, and the posterior figure."""
    from choicebo.experiments import accuracy, accuracy_cells, accuracy_report, sections
    from choicebo.experiments.provenance import provenance

    run.settings |= {"first seed": seed}
    seeds = range(seed, seed + (FULL_REPETITIONS if run.full else QUICK_REPETITIONS))
    finished = run.cells("toy", accuracy_cells.toy_cells(seeds), accuracy_cells.run_toy_cell)
    if not finished:
        return
    results = accuracy_cells.found(finished)
    settings = {"experiment": "toy", "full": run.full, "seeds": list(seeds), "set_size": 3}
    settings["test_sets"] = accuracy.TOY_TEST_SETS
    accuracy_report.write_json(
        run.out / "toy.json", settings, results.scores, results.ceilings, provenance(), results.peers
    )
    run.add(sections.toy_section(finished))


@experiment("real")
def real(run: Run, data: Data = None, *, seed: Seed = 0, splits: Splits = 1, scaling: Scaling = "min-max") -> None:
    """Accuracy on the paper's real data sets, 5-fold cross-validation with 100 and 300 choices."""
    from choicebo.experiments import accuracy, accuracy_cells, accuracy_report, datasets, sections
    from choicebo.experiments.provenance import provenance

    run.settings |= {"first seed": seed, "splits": splits, "scaling": scaling}
    folder = _data_folder(data, run.full)
    names = FULL_SETS if run.full else QUICK_SETS
    sets = {name: datasets.real_data(name, folder) for name in names}
    grid = accuracy_cells.real_cells(names, scaling, range(seed, seed + splits), more=run.full)
    finished = run.cells("real", grid, partial(accuracy_cells.run_real_cell, sets=sets))
    if not finished:
        return
    results = accuracy_cells.found(finished)
    columns = {
        each.name: {"inputs": each.input_names, "outputs": each.output_names, "signs": each.signs}
        for each in sets.values()
    }
    settings = {"experiment": "real", "full": run.full, "seed": seed, "splits": splits}
    settings |= {"folds": accuracy.N_FOLDS, "set_size": 3}
    settings |= {"test_sets": accuracy.REAL_TEST_SETS, "scaling": scaling, "columns": columns}
    accuracy_report.write_json(
        run.out / "real.json", settings, results.scores, results.ceilings, provenance(), results.peers
    )
    run.add(sections.real_section(finished, list(sets.values()), scaling))


@experiment("dimension")
def dimension(run: Run, *, seed: Seed = 0) -> None:
    """How many hidden objectives there are: leave-one-out scores, test accuracies and what is selected."""
    from choicebo.experiments import dimension as selection
    from choicebo.experiments import dimension_report

    run.settings |= {"first seed": seed}
    grid = selection.cells(selection.FULL if run.full else selection.QUICK, seed)
    if finished := run.cells(selection.EXPERIMENT, grid, selection.run_cell):
        run.add(dimension_report.section(finished))


@experiment("stopping")
def stopping(run: Run, *, seed: Seed = 0) -> None:
    """Whether the advice to stop is calibrated, on simulated studies."""
    from choicebo.experiments import stopping as studies

    run.settings |= {"first seed": seed}
    grid = studies.cells(*(studies.FULL if run.full else studies.QUICK), seed=seed)
    if finished := run.cells(studies.EXPERIMENT, grid, studies.run_cell):
        run.add(studies.section(finished))


@experiment("bo")
def bo(
    run: Run,
    *,
    problems: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Instead of the protocol's number.")] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Instead of the protocol's number.")] = None,
    noise: Annotated[
        float, typer.Option(min=0.0, help="Of the simulated person, in standard deviations of each objective.")
    ] = 0.0,
    lapse: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How often the simulated person answers blindly.")
    ] = 0.0,
) -> None:
    """Bayesian optimisation of six benchmarks: log hypervolume difference against iterations."""
    from dataclasses import replace

    from choicebo.experiments import baselines, optimisation, sections
    from choicebo.experiments.methods import METHODS

    protocol = optimisation.FULL if run.full else optimisation.QUICK
    chosen = _names(methods)
    if not chosen and not baselines.installed():
        chosen = tuple(name for name in protocol.methods if not METHODS[name].needs_botorch)
        output.warn(
            "BoTorch is not installed, so its methods are left out; pip install 'choicebo[botorch]' brings them."
        )
    changes: dict[str, Any] = {"noise": noise, "lapse": lapse, "problems": _names(problems), "methods": chosen}
    changes |= {"repetitions": repetitions, "iterations": iterations}
    protocol = replace(protocol, **{key: value for key, value in changes.items() if value})
    run.settings |= {"bo, " + key: value for key, value in vars(protocol).items()}
    if finished := run.cells("bo", optimisation.cells(protocol), optimisation.run_cell):
        run.add(sections.optimisation_section(finished))


@experiment("all", report="report")
def everything(run: Run, data: Data = None, *, seed: Seed = 0, scaling: Scaling = "min-max") -> None:
    """All experiments, and one report of them."""
    folder = _data_folder(data, run.full)  # a missing one is told before the work starts
    toy(run, seed=seed)
    real(run, folder, seed=seed, scaling=scaling)
    dimension(run, seed=seed)
    bo(run)


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def _data_folder(data: Path | None, full: bool) -> Path:
    if data is not None:
        return data
    from choicebo.experiments import datasets

    wanted = [datasets.SOURCES[name] for name in (FULL_SETS if full else QUICK_SETS)]
    raise typer.BadParameter(
        "the data sets are not part of choicebo. Give the folder that holds them, or set CHOICEBO_DATA: "
        + "; ".join(f"{source.file} from {source.publisher}" for source in wanted),
        param_hint="--data",
    )


def require_writable(folder: Path) -> None:
    """Make the folder, or fail before the work starts instead of after it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to; give another place with --out")
