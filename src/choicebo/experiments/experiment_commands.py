"""The commands that run experiments: ``demo``, ``reproduce`` and ``bench``.

Whatever computes is imported inside the commands, so that ``choicebo --help`` does not wait for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.experiments import reproduce
from choicebo.experiments.reproduce import require_writable
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.experiments.demo import Course
    from choicebo.model.diagnostics import Diagnostics

demo = typer.Typer(invoke_without_command=True)

DEMO_PICTURE = Path("choicebo-demo.png")
DEMO_TEST_SETS = 300
_STUDY = 40
"""Questions of an ordinary study, whose fits ``bench`` looks at."""
_SCALE_SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000)


def _picture(path: Path) -> Path:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise typer.BadParameter(f"{path} is not a picture that can be written; use the ending .png, .pdf or .svg")
    return path


Choices = Annotated[int, typer.Option(min=1, help="How many choices to learn from.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the data and of the fit.")]
Picture = Annotated[
    Path,
    typer.Option("--out", dir_okay=False, callback=_picture, help="Picture to write (.png, .pdf or .svg)."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the app of the command line."""
    app.add_typer(demo, name="demo")
    app.add_typer(reproduce.app, name="reproduce")
    app.command()(bench)


@demo.callback()
def optimise(
    context: typer.Context,
    answers: Annotated[int, typer.Option(min=1, help="How many questions the simulated person answers.")] = 40,
    seed: Seed = 0,
    out: Picture = DEMO_PICTURE,
) -> None:
    """A simulated person, start to finish.

    The person has two hidden objectives, Branin and Currin, and keeps of five options those that no other one beats in
    both. Ends with a table of what was found, and a picture.

    \b
    Examples:
      choicebo demo
      choicebo demo --answers 15 --out demo.svg
      choicebo demo learn               only learn, from choices among random options
    """
    if context.invoked_subcommand is not None:
        return
    require_writable(out.parent)
    from choicebo.model import compiling

    compiling.start()  # the first questions need no model, so that nobody waits for it
    from choicebo.experiments import demo as simulated

    console = output.results()
    console.print(
        f"A simulated person with two hidden objectives, Branin and Currin, answers {answers} questions:\n"
        "of five options, keep those that no other one beats in both."
    )
    with output.answer_progress(answers) as (progress, answered):
        course = simulated.run(answers, seed, progress=progress, answered=answered)
    console.print("Options that probably no other one beats:")
    console.print(_found_table(course))
    console.print(
        f"log10 hypervolume difference: [bold]{course.log_differences[-1]:.2f}[/bold] after {answers} answers; "
        f"{course.by_chance(seed)[-1]:.2f} with as many options spread evenly ({course.shown[-1]})."
    )
    simulated.figure(course, seed).savefig(out)
    console.print(f"What was still missing after each answer, and the true and the found front: [bold]{out}[/bold]")


@demo.command()
def learn(choices: Choices = 100, seed: Seed = 0, out: Picture = DEMO_PICTURE) -> None:
    """Learn two hidden objectives of one input from choices among three options, and draw them."""
    require_writable(out.parent)
    from choicebo.experiments.accuracy import share_equal
    from choicebo.experiments.toy import toy_dataset
    from choicebo.experiments.toy_figures import learned_and_true
    from choicebo.model.gp import ChoiceGP

    console = output.results()
    data = toy_dataset(choices, n_test=DEMO_TEST_SETS, seed=seed)
    console.print(
        f"A simulated person with two hidden objectives, cos 2x and -sin 2x, answered {choices} questions:\n"
        "of three options x, keep those that no other beats in both."
    )
    with output.fit_progress() as progress:
        posterior = ChoiceGP().fit_silently(data.train, seed=seed, progress=progress)
    accuracy = share_equal(posterior.predict_choices(data.test_sets, seed=seed), data.test_kept)
    found = posterior.diagnostics
    console.print(_fit_table(accuracy, found))
    for problem in found.problems:
        output.warn(problem)
    learned_and_true(posterior).savefig(out)
    console.print(f"The learned objectives, above the true ones: [bold]{out}[/bold]")


def bench(
    json: Annotated[
        Path | None, typer.Option("--json", dir_okay=False, help="Also write the figures to this JSON file.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only fits for a question, and a study of 23 questions.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Also slice sampling, and studies of all three problems.")
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also run BoTorch's PairwiseGP; needs choicebo[botorch].")
    ] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Instead: time, memory and accuracy as the number of choices grows.")
    ] = False,
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="N,N,...", help="With --scale: the numbers of choices.")
    ] = ",".join(map(str, _SCALE_SIZES)),
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", file_okay=False, envvar="CHOICEBO_DATA", help="With --scale: folder with the real data."
        ),
    ] = None,
    peer_seconds: Annotated[
        float,
        typer.Option("--peer-seconds", min=1.0, help="With --scale --peers: seconds after which a peer is stopped."),
    ] = 120.0,
) -> None:
    """Time what a person waits for on this machine.

    The first fit of a process (compiled from nothing, and compiled earlier), fits to the limits of a question and of a fit
    alone, the fits of an ordinary study, and whole steps of it. Takes some minutes; only a quiet machine gives true times.

    \b
    Examples:
      choicebo bench
      choicebo bench --full --json bench.json
      choicebo bench --scale --sizes 1000,3000 --peers --data DIR
    """
    if json is not None:
        require_writable(json.parent)
    if quick and full:
        raise typer.BadParameter("give --quick or --full, not both")
    if scale:
        _bench_scale(_as_sizes(sizes), peers, peer_seconds, data, json)
        return
    from dataclasses import asdict
    from json import dumps

    from choicebo.experiments import baselines, bench_loop, bench_step
    from choicebo.experiments import bench as timing
    from choicebo.experiments.provenance import provenance
    from choicebo.model import compiling

    if peers:
        baselines.require("--peers")

    console, repetitions = output.results(), 3
    with output.fit_progress() as progress:
        progress("starting processes: one compiles from nothing", 0.0)
        start = timing.time_start()
        progress("loading the compiled code", 0.9)
        compiling.prepare()
        progress("the first fits are measured", 1.0)
    console.print(timing.start_table(start))

    cases = timing.QUICK if quick else timing.FULL if full else timing.DEFAULT
    with output.count_progress("fits", len(cases) * repetitions) as done:
        timings = [timing.time_fit(case, repetitions, done) for case in cases]
    console.print(timing.table(timings))

    # Two more than the last step to be timed, so that it is a median over five.
    longest = 23 if quick else max(bench_step.AT) + bench_step.AROUND + 1
    studies = [(bench_loop.published("branin-currin"), longest)]
    if full:
        studies += [(scenario, _STUDY) for scenario in (bench_loop.published("vehicle-safety"), bench_loop.palette())]
    with output.count_progress("questions", sum(questions for _, questions in studies)) as done:
        courses = [bench_loop.run(scenario, questions, done=done) for scenario, questions in studies]
    stretches = [stretch for course in courses for stretch in course.stretches(_STUDY)]
    console.print(bench_loop.table(stretches))
    steps = bench_step.timings(courses[0].steps)
    console.print(bench_step.table(steps))

    rivals = []
    if peers:
        answers = courses[0].data.subset(range(steps[-1].answers))
        rivals.append(bench_step.time_pairwise(answers, repetitions))
        console.print(bench_step.peers_table(steps[-1], rivals))
    if json is not None:
        content = {
            **provenance(),
            "repetitions": repetitions,
            "start": asdict(start),
            "timings": [asdict(each) for each in timings],
            "loop": [asdict(each) for each in stretches],
            "steps": [{**asdict(each), "seconds": each.seconds} for each in steps],
            "peers": [asdict(each) for each in rivals],
        }
        json.write_text(dumps(content, indent=1) + "\n", encoding="utf-8")
        console.print(f"Figures: [bold]{json}[/bold]")


def _as_sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 10:
        raise typer.BadParameter(f"--sizes is {text!r}; give whole numbers of at least 10, such as 1000,3000")
    return sizes


def _bench_scale(sizes: list[int], peers: bool, patience: float, data: Path | None, json: Path | None) -> None:
    """Rows are printed as they are measured."""
    from dataclasses import asdict
    from json import dumps

    from choicebo.experiments import baselines, bench_forms, bench_logit, bench_scale
    from choicebo.experiments.provenance import provenance

    if peers:
        baselines.require("--peers")
    singles = None if data is None else bench_logit.read(data)
    output.say(
        "Choices of 5 over as many options, two hidden objectives; accuracy is that of exact sets, on unseen options."
    )
    output.say(bench_scale.line(bench_scale.HEADINGS))
    timings = []
    for found in bench_scale.measure(sizes, peers, patience):
        timings.append(found)
        output.say(bench_scale.line(bench_scale.row(found)))
    question = bench_scale.in_own_process(bench_scale.time_question, bench_scale.LONG_STUDY)
    output.say(
        f"\nThe next question of a study after {question.answers:,} answers about {question.options:,} options: "
        f"{question.seconds:.1f} s, {question.cpu_seconds:.1f} CPU-s"
    )
    people = bench_scale.in_own_process(bench_scale.time_people, *bench_scale.CROWD)
    output.say(
        f"\n{people.people} people with {people.answers_each} answers each about {people.options} options, what they share "
        f"and where they differ: {people.seconds:.1f} s, {people.cpu_seconds:.1f} CPU-s, {people.megabytes:,.0f} MB"
    )
    output.say(f"\nFeatures beside square factors, {bench_forms.N_CHOICES} choices of 3, accuracy of exact sets:")
    forms = []
    for form in bench_forms.compare(data):
        forms.append(form)
        output.say(bench_forms.line(form))
    logit = []
    if singles is not None:
        output.say(
            f"\nSingle choices of {len(singles.chosen)} travellers among {singles.X.shape[1]} modes, five folds:"
        )
        for each in bench_logit.compare(singles):
            logit.append(each)
            output.say(f"{each.method:<26}  log score {each.log_score:.4f}  {each.seconds:.1f} s")
    if json is not None:
        parts: dict[str, list[Any]] = {"scale": timings, "question": [question], "people": [people]}
        parts |= {"forms": forms, "logit": logit}
        content = {**provenance(), **{name: [asdict(each) for each in part] for name, part in parts.items()}}
        json.write_text(dumps(content, indent=1) + "\n", encoding="utf-8")
        output.say(f"Figures: {json}")


def _found_table(course: Course) -> Any:
    from rich.table import Table

    table = Table(border_style="dim")
    for heading in ("probability", "x1", "x2", "Branin", "Currin"):
        table.add_column(heading, justify="right")
    for each, values in zip(course.found, -course.found_values, strict=True):
        inputs = (f"{value:.3f}" for value in each.option.values())
        table.add_row(f"{each.probability:.0%}", *inputs, *(f"{value:.2f}" for value in values))
    return table


def _fit_table(accuracy: float, found: Diagnostics) -> Any:
    from rich.table import Table

    table = Table(show_header=False)
    table.add_row("predicted exactly", f"{accuracy:.1%}", f"of {DEMO_TEST_SETS} unseen sets; blind guessing: 14 %")
    table.add_row("R-hat", f"{found.r_hat:.2f}", f"the chains agree at 1; above {found.limits.r_hat:g} is poor")
    table.add_row(
        "effective draws",
        f"{found.effective_sample_size:.0f}",
        f"of {found.draws} draws, the worst quantity watched; below {found.limits.effective_draws:.0f} is poor",
    )
    table.add_row("divergences", str(found.divergences), "trajectories that went astray; 0 is right")
    table.add_row("seconds", f"{found.seconds:.1f}", "for the fit")
    return table
