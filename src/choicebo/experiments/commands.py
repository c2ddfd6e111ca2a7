"""The commands that run experiments: ``demo``, ``reproduce`` and ``bench``.

Whatever computes is imported inside the commands, so that ``choicebo --help`` does not wait for it.
"""

from __future__ import annotations

import enum
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.cli import output

if TYPE_CHECKING:
    from choicebo.experiments.accuracy import Ceiling, Score
    from choicebo.model.diagnostics import Diagnostics

demo = typer.Typer(help="A simulated person, from choices to what was learned.", invoke_without_command=True)
reproduce = typer.Typer(help="Run the paper's experiments: our figures beside the paper's.", no_args_is_help=True)

DEMO_PICTURE = Path("choicebo-demo.png")
DEMO_TEST_SETS = 300
QUICK_REPETITIONS, FULL_REPETITIONS = 5, 20
QUICK_SETS, FULL_SETS = ("slump", "jura"), ("slump", "jura", "real-estate", "enb")
SIZES = (100, 300)


class Scaling(enum.StrEnum):
    """How the inputs of a real data set are brought into the unit cube."""

    min_max = "min-max"
    rank = "rank"


def _picture(path: Path) -> Path:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise typer.BadParameter(f"{path} is no picture that can be written; end it with .png, .pdf or .svg")
    return path


Choices = Annotated[int, typer.Option(min=1, help="How many choices to learn from.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the data and of the fit.")]
Picture = Annotated[
    Path,
    typer.Option("--out", dir_okay=False, callback=_picture, help="Picture to write (.png, .pdf or .svg)."),
]
Full = Annotated[bool, typer.Option("--full/--quick", help="All of it, or a run of some minutes.")]
Folder = Annotated[Path, typer.Option("--out", file_okay=False, help="Folder for the results.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes; more than cores does not help.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the app of the command line."""
    app.add_typer(demo, name="demo")
    app.add_typer(reproduce, name="reproduce")
    app.command()(bench)


@demo.callback()
def demo_default(context: typer.Context) -> None:
    """A simulated person, from choices to what was learned."""
    if context.invoked_subcommand is None:
        learn()


@demo.command()
def learn(choices: Choices = 100, seed: Seed = 0, out: Picture = DEMO_PICTURE) -> None:
    """Learn two hidden objectives of one input from choices among three options, and draw them."""
    _require_writable(out.parent)
    import warnings

    from choicebo.errors import ConvergenceWarning
    from choicebo.experiments.accuracy import share_equal
    from choicebo.experiments.figures import learned_and_true
    from choicebo.experiments.toy import toy_dataset
    from choicebo.model.gp import ChoiceGP

    console = output.results()
    data = toy_dataset(choices, n_test=DEMO_TEST_SETS, seed=seed)
    console.print(
        f"A simulated person with two hidden objectives, cos 2x and -sin 2x, answered {choices} questions:\n"
        "of three options x, keep those that no other beats in both."
    )
    with output.fit_progress() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # shown below the table
        posterior = ChoiceGP().fit(data.train, seed=seed, progress=progress)
    accuracy = share_equal(posterior.predict_choices(data.test_sets, seed=seed), data.test_kept)
    found = posterior.diagnostics
    console.print(_fit_table(accuracy, found))
    for problem in found.problems:
        output.warn(problem)
    learned_and_true(posterior).savefig(out)
    console.print(f"The learned objectives, above the true ones: [bold]{out}[/bold]")


@reproduce.command()
def toy(full: Full = False, out: Folder = Path("results"), jobs: Jobs = 1, seed: Seed = 0) -> None:
    """Accuracy on the toy function with 100 and 300 choices; with --full also the posterior figure."""
    _require_writable(out)
    from choicebo.experiments import accuracy, accuracy_report
    from choicebo.experiments.figures import PANELS, panel_posteriors, toy_panels
    from choicebo.experiments.runner import run

    seeds = range(seed, seed + (FULL_REPETITIONS if full else QUICK_REPETITIONS))
    fits = [partial(accuracy.toy_accuracy, n, each) for n in SIZES for each in seeds]
    bounds = [partial(accuracy.toy_ceiling, each) for each in seeds]
    with output.count_progress("Oracle-GP", len(bounds)) as done:
        ceilings = run(bounds, jobs, done)
    with output.count_progress("Choice-GP", len(fits)) as done:
        scores = run(fits, jobs, done)
    title = "Toy function, g = [cos 2x, -sin 2x]"
    output.results().print(accuracy_report.table(title, scores, ceilings, "seed"))
    settings = {
        "experiment": "toy",
        "full": full,
        "seeds": list(seeds),
        "set_size": 3,
        "test_sets": accuracy.TOY_TEST_SETS,
    }
    _save(out / "toy.json", settings, scores, ceilings)
    if full:
        with output.count_progress("Posterior figure", len(PANELS)) as done:
            figure = toy_panels(panel_posteriors(seed, done))
        figure.savefig(out / "toy.png")
        output.results().print(f"Posterior figure: [bold]{out / 'toy.png'}[/bold]")


@reproduce.command()
def real(
    full: Full = False,
    out: Folder = Path("results"),
    data: Annotated[
        Path | None, typer.Option(envvar="CHOICEBO_DATA", help="Folder that holds the data sets (CSV).")
    ] = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    scaling: Annotated[Scaling, typer.Option(help="How inputs are brought into the unit cube.")] = Scaling.min_max,
) -> None:
    """Accuracy on the paper's real data sets, 5-fold cross-validation with 100 and 300 choices."""
    from choicebo.experiments import accuracy, accuracy_report, datasets
    from choicebo.experiments.runner import run

    names = FULL_SETS if full else QUICK_SETS
    if data is None:
        wanted = [datasets.SOURCES[name] for name in names]
        raise typer.BadParameter(
            "the data sets are not part of choicebo. Give the folder that holds them, or set CHOICEBO_DATA: "
            + "; ".join(f"{source.file} from {source.publisher}" for source in wanted),
            param_hint="--data",
        )
    _require_writable(out)
    sets = [datasets.real_data(name, data) for name in names]
    scale = datasets.min_max if scaling is Scaling.min_max else datasets.rank_scaled
    numbers = range(accuracy.N_FOLDS)
    fits = [
        partial(accuracy.real_accuracy, each, n, fold, seed, scale=scale)
        for each in sets
        for n in SIZES
        for fold in numbers
    ]
    bounds = [partial(accuracy.real_ceiling, each, fold, seed, scale=scale) for each in sets for fold in numbers]
    with output.count_progress("Oracle-GP", len(bounds)) as done:
        ceilings = run(bounds, jobs, done)
    with output.count_progress("Choice-GP", len(fits)) as done:
        scores = run(fits, jobs, done)
    console = output.results()
    console.print(accuracy_report.table(f"Real data sets, inputs scaled by {scaling}", scores, ceilings, "fold"))
    console.print(accuracy_report.columns_table(sets))
    settings = {
        "experiment": "real",
        "full": full,
        "seed": seed,
        "folds": accuracy.N_FOLDS,
        "set_size": 3,
        "test_sets": accuracy.REAL_TEST_SETS,
        "scaling": scaling.value,
        "columns": {
            each.name: {"inputs": each.input_names, "outputs": each.output_names, "signs": each.signs} for each in sets
        },
    }
    _save(out / "real.json", settings, scores, ceilings)


def bench(
    json: Annotated[Path | None, typer.Option("--json", dir_okay=False, help="Also write this.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Slice sampling for the smaller data only.")] = False,
) -> None:
    """Time a whole fit on this machine, by Hamiltonian Monte Carlo and by elliptical slice sampling."""
    if json is not None:
        _require_writable(json.parent)
    from dataclasses import asdict
    from json import dumps

    from choicebo.experiments import bench as timing
    from choicebo.experiments.provenance import provenance

    cases, repetitions = (timing.QUICK if quick else timing.FULL), 3
    with output.count_progress("fits", len(cases) * (repetitions + 1)) as done:
        timings = [timing.time_fit(case, repetitions, done) for case in cases]
    output.results().print(timing.table(timings))
    if json is not None:
        measured: list[dict[str, Any]] = [
            {**asdict(each), "seconds_per_effective_draw": each.seconds_per_effective_draw} for each in timings
        ]
        content = {
            **provenance(),
            "repetitions": repetitions,
            "timings": measured,
            "ess_over_hmc": timing.price_ratios(timings),
        }
        json.write_text(dumps(content, indent=1) + "\n", encoding="utf-8")
        output.results().print(f"Figures: [bold]{json}[/bold]")


def _fit_table(accuracy: float, found: Diagnostics) -> Any:
    from rich.table import Table

    from choicebo.model.diagnostics import R_HAT_LIMIT, SAMPLE_SIZE_LIMIT

    table = Table(show_header=False)
    table.add_row("predicted exactly", f"{accuracy:.1%}", f"of {DEMO_TEST_SETS} unseen sets; blind guessing: 14 %")
    table.add_row("R-hat", f"{found.r_hat:.2f}", f"the chains agree at 1; above {R_HAT_LIMIT} is poor")
    table.add_row(
        "effective draws",
        f"{min(found.effective_sample_size, found.effective_sample_size_margins):.0f}",
        f"of {found.draws} draws, the worst quantity watched; below {SAMPLE_SIZE_LIMIT:.0f} is poor",
    )
    table.add_row("divergences", str(found.divergences), "trajectories that went astray; 0 is right")
    table.add_row("seconds", f"{found.seconds:.1f}", "for the fit; the first one of its kind has to be compiled")
    return table


def _save(path: Path, settings: dict[str, Any], scores: list[Score], ceilings: list[Ceiling]) -> None:
    from choicebo.experiments.accuracy_report import write_json
    from choicebo.experiments.provenance import provenance

    write_json(path, settings, scores, ceilings, provenance())
    output.results().print(f"Every single fit: [bold]{path}[/bold]")


def _require_writable(folder: Path) -> None:
    """Make the folder, or fail before the work starts instead of after it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to; give another place with --out")
