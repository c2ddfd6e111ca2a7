import numpy as np
import pytest

from choicebo import plots
from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.model.covariance import Hyperparameters
from choicebo.model.diagnostics import Diagnostics
from choicebo.model.engines import ModelSpec
from choicebo.model.posterior import Posterior


def handmade(dim: int = 1, options: int = 20) -> Posterior:
    """A posterior whose draws nobody fitted: a picture of it shows whatever it holds."""
    rng = np.random.default_rng(0)
    X = rng.random((options, dim))
    whitened = 0.3 * rng.standard_normal((2, 10, 2, options)) + rng.standard_normal((2, options))
    return Posterior(
        data=ChoiceData(X, [((0, 1, 2), (0,))]),
        spec=ModelSpec(2),
        hyper=Hyperparameters(np.log(np.full((2, dim), 0.2)), np.log([3.0, 2.0]), np.zeros((2, 2))),
        options=X,
        whitened=whitened,
        log_likelihood=np.zeros((2, 10, 1)),
        diagnostics=Diagnostics("hmc", 1.0, 20.0, 0, 0.9, -12.0, np.linspace(-40.0, -12.0, 30), 20, 0.1),
    )


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return handmade()


@pytest.fixture(scope="module")
def posterior_of_two_inputs() -> Posterior:
    return handmade(dim=2)


def test_each_latent_function_has_a_line_and_a_band(posterior):
    (axes,) = plots.latent_against_input(posterior).axes
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    assert [line.get_label() for line in lines] == ["latent function 1", "latent function 2"]
    assert len(axes.collections) == 2
    summary = posterior.latent(np.linspace(0, 1, 400)[:, None])
    np.testing.assert_allclose(lines[1].get_ydata(), summary.mean[:, 1])
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(summary.upper[:, 0].max())
    assert band[:, 1].min() == pytest.approx(summary.lower[:, 0].min())


def test_the_options_shown_are_marked_in_the_axis_own_units(posterior):
    (axes,) = plots.latent_against_input(posterior, x_of_unit=(-4.5, 4.5), input_name="dose").axes
    (marks,) = [line for line in axes.lines if line.get_label().startswith("_")]
    np.testing.assert_allclose(np.sort(marks.get_xdata()), np.sort(9 * posterior.options[:, 0] - 4.5))
    assert axes.get_xlim() == pytest.approx((-4.5, 4.5))
    assert axes.get_xlabel() == "dose"


def test_units_may_be_a_function(posterior):
    (axes,) = plots.latent_against_input(posterior, x_of_unit=lambda u: 10**u).axes
    assert axes.get_xlim() == pytest.approx((1, 10))


def test_a_part_of_the_range_shows_only_its_options(posterior):
    (axes,) = plots.latent_against_input(posterior, x_range=(0.0, 0.25)).axes
    (marks,) = [line for line in axes.lines if line.get_label().startswith("_")]
    assert len(marks.get_xdata()) == np.sum(posterior.options[:, 0] <= 0.25)


def test_labels_and_order_follow_the_caller(posterior):
    (axes,) = plots.latent_against_input(posterior, labels=["taste", "price"], order=[1, 0]).axes
    summary = posterior.latent(np.linspace(0, 1, 400)[:, None])
    assert axes.lines[0].get_label() == "taste"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), summary.mean[:, 1])


def test_matching_order_finds_the_latent_dimension_like_a_known_function(posterior):
    X = np.linspace(0, 1, 50)[:, None]
    mean = posterior.latent(X).mean
    assert plots.matching_order(posterior, X, mean[:, ::-1]) == [1, 0]
    assert plots.matching_order(posterior, X, 3 * mean + 1) == [0, 1]
    assert plots.matching_order(posterior, X, mean[:, [1]]) == [1, 0]


def test_any_input_can_be_on_the_axis_while_the_others_rest(posterior_of_two_inputs):
    (axes,) = plots.latent_against_input(posterior_of_two_inputs, column=1).axes
    along = np.linspace(0, 1, 400)
    expected = posterior_of_two_inputs.latent(np.column_stack([np.full(400, 0.5), along])).mean
    np.testing.assert_allclose(axes.lines[0].get_ydata(), expected[:, 0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"column": 1}, "column must be from 0 to 0"),
        ({"column": -1}, "column must be from 0 to 0"),
        ({"x_range": (1.0, 0.0)}, "x_range must be"),
        ({"labels": ["one"]}, "labels must be 2 names"),
        ({"order": [0, 0]}, "order must name each"),
    ],
)
def test_wrong_arguments_are_named(posterior, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        plots.latent_against_input(posterior, **wrong)


def test_pictures_can_be_written_without_a_display(posterior, tmp_path):
    path = tmp_path / "latent.png"
    plots.latent_against_input(posterior).savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 10_000


def test_learned_and_true_functions_share_their_colours(posterior):
    from choicebo.experiments.toy_figures import learned_and_true

    above, below = learned_and_true(posterior).axes
    assert [line.get_color() for line in above.lines[:2]] == [line.get_color() for line in below.lines]


def test_the_papers_figure_has_a_panel_for_each_data_set(posterior):
    from choicebo.experiments.toy_figures import toy_panels

    titles = [axes.get_title() for axes in toy_panels([posterior] * 4).axes]
    assert titles == ["N = 50, |A| = 3", "N = 50, |A| = 5", "N = 150, |A| = 3", "N = 150, |A| = 5"]
