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
    from choicebo.experiments.document import Section
    from choicebo.experiments.executors import Work
    from choicebo.experiments.trials import FinishedTrial, Trial

app = typer.Typer(help="Run the paper's experiments: our figures beside the paper's.", no_args_is_help=True)

QUICK_REPETITIONS, FULL_REPETITIONS = 5, 20
QUICK_SETS, FULL_SETS = ("slump", "jura"), ("slump", "jura", "real-estate", "enb")

Full = Annotated[bool, typer.Option("--full/--quick", help="The paper's sizes, or a run of some minutes.")]
Folder = Annotated[
    Path, typer.Option("--out", file_okay=False, help="Folder for results; a run continues from those already there.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes; more than there are cores does not help.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the workers of this dask scheduler, tcp://host:port.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the first repetition.")]
Data = Annotated[Path | None, typer.Option(envvar="CHOICEBO_DATA", help="Folder that holds the data sets (CSV).")]
Stored = Annotated[bool, typer.Option("--stored", help="Run nothing; report the stored results.")]
Splits = Annotated[int, typer.Option(min=1, help="How often to divide the rows into folds.")]
Scaling = Annotated[Literal["min-max", "rank"], typer.Option(help="How to scale inputs to the unit cube.")]


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
        self._grids: dict[str, tuple[Sequence[Trial], Sequence[FinishedTrial]]] = {}

    def add(self, trials: Sequence[Trial], work: Work, section: Callable[[Sequence[FinishedTrial]], Section]) -> None:
        """Run the trials of an experiment, print the tables of its section, and put that into the report."""
        from rich.table import Table

        require_writable(self.out)
        finished = self._finished(trials, work)
        self._grids[trials[0].experiment] = trials, finished
        if finished:
            self._sections.append(section(finished))
            for block in self._sections[-1].blocks:
                if isinstance(block, Table):
                    output.results().print(block)

    def _finished(self, trials: Sequence[Trial], work: Work) -> list[FinishedTrial]:
        """Their results; those that are not stored are worked on, unless only those are asked for."""
        from choicebo.experiments import progress, runner
        from choicebo.experiments.result_file import ResultFile

        experiment = trials[0].experiment
        file = ResultFile(self.out / f"{experiment}.jsonl")
        if self._stored:
            return file.of(trials)
        try:
            with progress.shown(experiment, file.of(trials), file.missing(trials), self._jobs) as ended:
                return runner.run(trials, work, file, jobs=self._jobs, cluster=self._cluster, ended=ended)
        except KeyboardInterrupt:
            stored = len(file.of(trials))
            output.warn(
                f"{stored} of {len(trials)} trials are stored in {file.path}; run the same command again to continue."
            )
            raise

    def report(self, name: str, title: str | None = None) -> None:
        """Write what was added."""
        from choicebo.experiments.document import Document
        from choicebo.experiments.provenance import provenance_section

        if not self._sections:
            raise DataError(f"{self.out} holds no results of this experiment; leave --stored out to run it.")
        last = provenance_section(self.settings, self._grids)
        title = title or ("choicebo reproduces the paper" + (f": {name}" if name != "report" else ""))
        markdown, page = Document(title, [*self._sections, last]).write(self.out, name)
        output.results().print(f"Report: [bold]{page}[/bold] and [bold]{markdown}[/bold]")


Experiment = TypeVar("Experiment", bound=Callable[..., None])


def experiment(name: str, report: str | None = None, title: str | None = None) -> Callable[[Experiment], Experiment]:
    """Make a command of a function that takes a run: its options are those of :class:`Run` and the function's own.

    Of both, those that may be given by position come first, as in any signature.
    """

    def add(work: Experiment) -> Experiment:
        shared = signature(Run, eval_str=True).parameters
        _, *own = signature(work, eval_str=True).parameters.values()
        options = sorted([*shared.values(), *own], key=lambda option: option.kind)

        def command(**given: Any) -> None:
            run = Run(**{each: given.pop(each) for each in shared})
            work(run, **given)
            run.report(report or name, title)

        command.__signature__ = Signature(options)  # type: ignore[attr-defined]
        app.command(name, help=getdoc(work))(command)
        return work

    return add


@experiment("toy")
def toy(run: Run, *, seed: Seed = 0) -> None:
    """Accuracy on the toy function with 100 and 300 choices, and the posterior figure."""
    from choicebo.experiments import accuracy_report, accuracy_trials

    run.settings |= {"first seed": seed}
    seeds = range(seed, seed + (FULL_REPETITIONS if run.full else QUICK_REPETITIONS))
    run.add(accuracy_trials.toy_trials(seeds), accuracy_trials.run_toy_trial, accuracy_report.toy_section)


@experiment("real")
def real(run: Run, data: Data = None, *, seed: Seed = 0, splits: Splits = 1, scaling: Scaling = "min-max") -> None:
    """Accuracy on the paper's real data sets, 5-fold cross-validation with 100 and 300 choices."""
    from choicebo.experiments import accuracy_report, accuracy_trials, datasets

    run.settings |= {"first seed": seed, "splits": splits, "scaling": scaling}
    folder = _data_folder(data, run.full)
    sets = {name: datasets.real_data(name, folder) for name in (FULL_SETS if run.full else QUICK_SETS)}
    run.add(
        accuracy_trials.real_trials(list(sets), scaling, range(seed, seed + splits), more=run.full),
        partial(accuracy_trials.run_real_trial, sets=sets),
        partial(accuracy_report.real_section, sets=list(sets.values()), scaling=scaling),
    )


@experiment("dimension")
def dimension(run: Run, *, seed: Seed = 0) -> None:
    """How many hidden objectives there are: leave-one-out scores, test accuracies and what is selected."""
    from choicebo.experiments import latent_dim_report, latent_dim_trials

    run.settings |= {"first seed": seed}
    protocol = latent_dim_trials.FULL if run.full else latent_dim_trials.QUICK
    run.add(latent_dim_trials.trials(protocol, seed), latent_dim_trials.run_trial, latent_dim_report.section)


@experiment("stopping")
def stopping(run: Run, *, seed: Seed = 0) -> None:
    """Whether the advice to stop is calibrated, on simulated studies."""
    from choicebo.experiments import stopping_trials

    run.settings |= {"first seed": seed}
    studies, questions = stopping_trials.FULL if run.full else stopping_trials.QUICK
    trials = stopping_trials.trials(studies, questions, seed)
    run.add(trials, stopping_trials.run_trial, stopping_trials.section)


@experiment("calibration")
def calibration(run: Run, *, seed: Seed = 0) -> None:
    """Whether what is shown as a probability can be trusted, on simulated people."""
    from choicebo.experiments import calibration_report, calibration_trials

    run.settings |= {"first seed": seed}
    trials = calibration_trials.trials(calibration_trials.FULL if run.full else calibration_trials.QUICK, seed)
    run.add(trials, calibration_trials.run_trial, calibration_report.section)


RatersParts = Annotated[
    str,
    typer.Option(
        help="Only these of simulated, electricity and sushi, separated by commas; by default all that have data."
    ),
]


@experiment("raters", title="choicebo learns from several people")
def raters(
    run: Run,
    data: Data = None,
    *,
    seed: Seed = 0,
    parts: RatersParts = "",
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Number of simulated people, instead of 2 or 10.")
    ] = None,
) -> None:
    """Several people: what they share and where they differ, beside pooling, learning apart, and logit models."""
    from dataclasses import replace

    from choicebo.experiments import raters_electricity, raters_report, raters_simulated, raters_sushi
    from choicebo.experiments.baselines import mixed_logit

    chosen = _raters_parts(parts, data)
    if "simulated" in chosen:
        size = raters_simulated.FULL if run.full else raters_simulated.QUICK
        size = replace(size, repetitions=repetitions or size.repetitions)
        run.settings |= {"first seed": seed, "simulated, repetitions": size.repetitions}
        trials = raters_simulated.trials(size, seed)
        run.add(trials, raters_simulated.run_trial, raters_report.simulated_section)
    if "electricity" in chosen and data is not None:
        if not mixed_logit.installed():
            output.warn(
                "xlogit is not installed, so the logits are left out; pip install 'choicebo[experiments]' brings it."
            )
        run.add(
            raters_electricity.trials(raters_electricity.FULL if run.full else raters_electricity.QUICK),
            partial(raters_electricity.run_trial, panel=raters_electricity.read(data)),
            raters_report.electricity_section,
        )
    if "sushi" in chosen and data is not None:
        X, scores = raters_sushi.read(data)
        run.add(
            raters_sushi.trials(raters_sushi.FULL if run.full else raters_sushi.QUICK, seed=seed),
            partial(raters_sushi.run_trial, X=X, scores=scores),
            raters_report.sushi_section,
        )


def _raters_parts(given: str, data: Path | None) -> tuple[str, ...]:
    """Which parts are run; the real ones need data."""
    from choicebo.experiments import raters_electricity, raters_sushi

    real = {"electricity": raters_electricity.PUBLISHER, "sushi": raters_sushi.PUBLISHER}
    chosen = _names(given) or ("simulated", *real)
    if unknown := set(chosen) - {"simulated", *real}:
        raise typer.BadParameter(
            f"no part is called {sorted(unknown)[0]!r}; choose some of simulated, {', '.join(real)}",
            param_hint="--parts",
        )
    if data is None and (lacking := [name for name in real if name in chosen]):
        told = "; ".join(f"{name} from {real[name]}" for name in lacking)
        if given:
            raise typer.BadParameter(
                f"give the folder that holds the data, or set CHOICEBO_DATA: {told}", param_hint="--data"
            )
        output.warn(
            f"Only the simulated people are run: the data are not part of choicebo. --data names their folder: {told}."
        )
    return chosen if data is not None else ("simulated",)


@experiment("known")
def known(
    run: Run,
    *,
    seed: Seed = 0,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Instead of the protocol's number.")] = None,
    questions: Annotated[int | None, typer.Option(min=1, help="Instead of the protocol's number.")] = None,
) -> None:
    """What it is worth to know one of the objectives: the same studies with it and without, from the same beginnings."""
    from choicebo.experiments import known_trials

    protocol = known_trials.FULL if run.full else known_trials.QUICK
    repetitions, questions = repetitions or protocol[0], questions or protocol[1]
    run.settings |= {"first seed": seed, "known, repetitions": repetitions, "known, questions": questions}
    trials = known_trials.trials(repetitions, questions, seed)
    run.add(trials, known_trials.run_trial, known_trials.section)


@experiment("answers")
def answers(run: Run, data: Data = None, *, seed: Seed = 0) -> None:
    """What each way of answering teaches, and what it costs; real single choices beside a multinomial logit."""
    from choicebo.experiments import answers_report, answers_trials, bench_logit

    run.settings |= {"first seed": seed}
    protocol = answers_trials.FULL if run.full else answers_trials.QUICK
    real = {}
    if data is None:
        output.warn("No folder of data sets is given (--data), so the real choices are left out.")
    else:
        most = {"travelmode": None if run.full else 60, "swissmetro": protocol.swissmetro}
        real = {name: bench_logit.read(data, source, most[name]) for name, source in answers_trials.REAL.items()}
    run.add(
        answers_trials.trials(protocol, seed, real),
        partial(answers_trials.run_trial, real=real),
        answers_report.section,
    )


@experiment("bo")
def bo(
    run: Run,
    *,
    problems: Annotated[
        str | None,
        typer.Option(help="Only these, separated by commas; or all of a group: paper, held-out, development."),
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Instead of the protocol's number.")] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Instead of the protocol's number.")] = None,
    noise: Annotated[
        float, typer.Option(min=0.0, help="Noise of the simulated person, in standard deviations of each objective.")
    ] = 0.0,
    lapse: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How often the simulated person answers blindly.")
    ] = 0.0,
) -> None:
    """Bayesian optimisation of six benchmarks: log hypervolume difference against iterations."""
    from dataclasses import replace

    from choicebo.experiments import baselines, optimisation_report, optimisation_trials
    from choicebo.experiments.methods import METHODS
    from choicebo.experiments.problems import DEVELOPMENT, HELD_OUT, PROBLEMS

    protocol = optimisation_trials.FULL if run.full else optimisation_trials.QUICK
    chosen = _names(methods)
    if not chosen and not baselines.installed():
        chosen = tuple(name for name in protocol.methods if not METHODS[name].needs_botorch)
        output.warn(
            "BoTorch is not installed, so its methods are left out; pip install 'choicebo[botorch]' brings them."
        )
    groups = {"paper": PROBLEMS, "held-out": HELD_OUT, "development": DEVELOPMENT}
    named = tuple(each for name in _names(problems) for each in groups.get(name, (name,)))
    changes: dict[str, Any] = {"noise": noise, "lapse": lapse, "problems": named, "methods": chosen}
    changes |= {"repetitions": repetitions, "iterations": iterations}
    protocol = replace(protocol, **{key: value for key, value in changes.items() if value})
    run.settings |= {"bo, " + key: value for key, value in vars(protocol).items()}
    run.add(optimisation_trials.trials(protocol), optimisation_trials.run_trial, optimisation_report.section)


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
