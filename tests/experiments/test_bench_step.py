import pytest

from choicebo.experiments import baselines, bench_peers, bench_step


def test_a_step_is_timed_in_its_parts():
    found = bench_step.time_step(answers=4, options=12, repetitions=1, engine="vi")
    assert found.seconds == found.fit_seconds + found.question_seconds
    assert min(found.fit_seconds, found.question_seconds, found.cpu_seconds) > 0
    assert bench_step.table([found]).row_count == 1


@pytest.mark.skipif(not baselines.installed(), reason="BoTorch is not installed")
def test_a_peer_is_timed_on_the_same_answers():
    ours = bench_step.StepTiming(answers=6, options=12, fit_seconds=1.0, question_seconds=1.0, cpu_seconds=2.0)
    peer = bench_peers.time_pairwise(answers=6, options=12, repetitions=1)
    assert peer.comparisons > 0
    assert bench_peers.table(ours, [peer]).row_count == 2
