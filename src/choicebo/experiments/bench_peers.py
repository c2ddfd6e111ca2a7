"""Our step beside a peer's in the same run: BoTorch's PairwiseGP with qEUBO, fed the pairs that the choices imply."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from rich.table import Table

from choicebo.choices import ChoiceData
from choicebo.experiments import baselines
from choicebo.experiments.bench_step import StepTiming
from choicebo.experiments.report_tables import new_table


@dataclass(frozen=True)
class PeerTiming:
    """A whole step of the peer: fit and next question."""

    name: str
    answers: int
    comparisons: int
    seconds: float


def time_pairwise(data: ChoiceData, repetitions: int = 3) -> PeerTiming:
    """Time PairwiseGP and qEUBO on the answers that our step was timed after."""
    baselines.require("Timing PairwiseGP")
    from choicebo.experiments.baselines import pairwise, torch_tools

    pairs = pairwise.implied_pairs([(choice.shown, choice.kept) for choice in data.choices])
    seconds = []
    for seed in range(repetitions):
        began = time.perf_counter()
        with torch_tools.quiet_and_seeded(seed):
            pairwise.eubo_query(data.X, pairs, 5, seed)
        seconds.append(time.perf_counter() - began)
    return PeerTiming("PairwiseGP + qEUBO", data.n_choices, len(pairs), median(seconds))


def table(ours: StepTiming, peers: list[PeerTiming]) -> Table:
    """Both, and the ratio."""
    title = f"One step beside peers, {ours.answers} answers of 5; a peer learns one utility from the implied pairs"
    found = new_table(title, ("", "step s", "times ours"))
    found.add_row("choicebo", f"{ours.seconds:.2f}", "1.0")
    for peer in peers:
        found.add_row(
            f"{peer.name} ({peer.comparisons} pairs)", f"{peer.seconds:.2f}", f"{peer.seconds / ours.seconds:.1f}"
        )
    return found
