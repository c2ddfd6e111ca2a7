"""The Pareto map and the parallel plot: what is drawn where, from a model that is known."""

from __future__ import annotations

import numpy as np
import pytest

import choicebo as cb
from choicebo import plots
from choicebo.errors import InvalidInputError
from choicebo.insight import numbering

SPACE = cb.Space([cb.Real("size", 0, 10), cb.Categorical("colour $", ["red", "blue"])])


def posterior(latent_dim=2):
    options = [{"size": float(n), "colour $": "red" if n % 2 else "blue"} for n in range(6)]
    sets = [SPACE.encode([options[i], options[j]]) for i, j in ((0, 5), (1, 4), (2, 5), (3, 0), (4, 2))]
    data = cb.ChoiceData.from_sets(sets, [[1], [1], [1], [0], [0]])
    return cb.ChoiceGP(latent_dim, engine="laplace").fit(data, seed=0)


def marks(axes, size):
    return [line for line in axes.lines if line.get_marker() == "o" and line.get_markersize() == size]


@pytest.mark.parametrize(("latent_dim", "panels"), [(1, 1), (2, 1), (3, 3)])
def test_the_map_has_a_panel_for_each_two_objectives_and_every_option_once(latent_dim, panels):
    fitted = posterior(latent_dim)
    figure = plots.pareto_map(fitted)
    shown = [axes for axes in figure.axes if axes.axison]
    assert len(shown) == panels
    probability = fitted.pareto_probability(fitted.options)
    best = int((probability >= min(0.5, probability.max())).sum())
    for axes in shown:
        assert sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "o") == len(fitted.options)
        assert [len(line.get_xdata()) for line in marks(axes, 6.0)] == [best]
        assert [text.get_text() for text in axes.texts] == [str(number + 1) for number in range(best)]


def test_the_map_numbers_objectives_as_the_drivers_do_and_writes_their_names():
    fitted = posterior()
    figure = plots.pareto_map(fitted, threshold=0.0, space=SPACE, names=["warmth $", ""])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("warmth \\$ →", "hidden objective 2 →")
    mean = numbering(fitted, SPACE).latent(fitted.options).mean(0)
    best = int(np.argmax(fitted.pareto_probability(fitted.options)))
    assert axes.texts[0].xy == pytest.approx(mean[best])


def test_the_first_number_is_the_most_probable_option():
    fitted = posterior()
    figure = plots.pareto_map(fitted, threshold=0.0)
    (axes,) = figure.axes
    first = axes.texts[0].xy
    at = int(np.argmax(fitted.pareto_probability(fitted.options)))
    latent = fitted.sample(fitted.options, draws=200, seed=0)
    assert sorted(first) == pytest.approx(sorted(latent.mean(0)[at]), abs=0.8)


def test_the_parallel_plot_has_a_line_for_each_option_and_an_axis_for_what_varies():
    fitted = posterior()
    figure = plots.parallel_options(fitted, SPACE)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["size", "colour \\$"]
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_zorder() >= 1]
    assert len(lines) == len(fitted.options)
    options = SPACE.decode(fitted.options)
    expected = {(o["size"] / 5.0, float(o["colour $"] == "red")) for o in options}
    assert {tuple(np.round(line.get_ydata(), 6)) for line in lines} == expected
    assert {text.get_text() for text in axes.texts} == {"0", "5", "blue", "red"}
    figure.canvas.draw()  # a dollar sign is no formula


def test_a_space_that_is_not_the_posteriors_is_refused():
    with pytest.raises(InvalidInputError, match="space of its options"):
        plots.parallel_options(posterior(), cb.Space([cb.Real("size", 0, 1)]))


def test_what_is_known_has_an_axis_by_name_on_which_better_is_further_up():
    space = cb.Space(
        [cb.Real("flour", 1, 5), cb.Integer("minutes", 5, 40)],
        objectives=["minimise price = 2*flour + 0.3*minutes"],
    )
    X = space.sobol(12)
    choices = [cb.Choice((at, at + 1, at + 2), (at,)) for at in range(10)]
    posterior = cb.ChoiceGP(1, engine="laplace", known=space.known).fit_silently(cb.ChoiceData(X, choices))
    (axes,) = plots.pareto_map(posterior, space=space).axes
    assert axes.get_ylabel() == "price (known) →"
    assert axes.yaxis_inverted()
    assert not axes.xaxis_inverted()
    shown = np.concatenate([line.get_ydata() for line in axes.lines])
    np.testing.assert_allclose(np.sort(shown), np.sort(space.known.values(posterior.options)[:, 0]))
    (axes,) = plots.parallel_options(posterior, space).axes
    assert [label.get_text() for label in axes.get_xticklabels()][-1] == "price (known)"
