"""The model as a scikit-learn estimator, for cross-validation, grid search and pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.choices import ChoiceData
from choicebo.errors import DataError
from choicebo.extras import needs
from choicebo.model.covariance import HyperPrior, Kernel
from choicebo.model.engines import Engine
from choicebo.model.gp import ChoiceGP

with needs("sklearn", "ChoiceEstimator"):
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class ChoiceEstimator(BaseEstimator):  # type: ignore[misc]
    """Learns which options of a set are kept. A sample is a set of options together with the answer to it.

    ``X`` holds one set per sample, ``(n, k, d)`` in the unit cube, or is a list of ``(k_i, d)`` arrays where sets differ in size.
    ``choices`` holds the answers, as booleans ``(n, k)``, or as lists of the positions kept. Predictions are booleans.

    The parameters are those of `ChoiceGP`, with two more.

    Args:
        latent_dim: Number of hidden objectives.
        kernel: Covariance function.
        engine: How to compute the posterior.
        likelihood: ``"choice"`` or ``"batch_preference"``.
        lapse: Probability that an answer is a slip.
        nugget: Fraction of the prior variance that is option-specific.
        prior: Prior of the hyperparameters.
        correlated: Whether hidden objectives may be correlated.
        rule: How to predict, see `predict_choices`.
        random_state: Seed of the fit; the same seed gives the same draws.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((40, 3, 1))
        >>> best = X[:, :, 0] == X[:, :, 0].max(1, keepdims=True)
        >>> estimator = ChoiceEstimator(latent_dim=1, engine="laplace", random_state=0).fit(X[:30], best[:30])
        >>> estimator.predict([[[0.1], [0.9]]]).tolist()
        [[False, True]]
        >>> estimator.score(X[30:], best[30:]) > 0.7
        True
    """

    def __init__(
        self,
        latent_dim: int = 2,
        kernel: str | Kernel = "matern32",
        engine: str | Engine = "hmc",
        likelihood: str = "choice",
        lapse: float = 0.01,
        nugget: float = 0.01,
        prior: HyperPrior | None = None,
        correlated: bool = True,
        rule: str = "pareto",
        random_state: Any = 0,
    ) -> None:
        self.latent_dim = latent_dim
        self.kernel = kernel
        self.engine = engine
        self.likelihood = likelihood
        self.lapse = lapse
        self.nugget = nugget
        self.prior = prior
        self.correlated = correlated
        self.rule = rule
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, choices: Any) -> ChoiceEstimator:
        """Learn from sets and answers.

        Args:
            X: The sets shown, ``(n, k, d)``, or a list of ``(k_i, d)``.
            choices: What was kept: booleans ``(n, k)``, or the positions kept of each set.

        Returns:
            The estimator, with ``posterior_`` and ``n_features_in_``.

        Raises:
            DataError: The sets are not in the unit cube, or there is not one answer for each of them.
        """
        if choices is None:
            raise DataError("choices is None: the estimator requires y to be passed, one answer for each set.")
        sets = _sets(X)
        data = ChoiceData.from_sets(sets, _positions(choices))
        model = ChoiceGP(
            latent_dim=self.latent_dim,
            kernel=self.kernel,
            engine=self.engine,
            likelihood=self.likelihood,
            lapse=self.lapse,
            nugget=self.nugget,
            prior=HyperPrior() if self.prior is None else self.prior,
            correlated=self.correlated,
        )
        self.posterior_ = model.fit(data, _seed(self.random_state))
        self.n_features_in_ = data.dim
        return self

    def predict(self, X: Any) -> Mask:
        """Which options of each set are expected to be kept: booleans ``(n, k)``, with False beyond the end of a smaller set."""
        check_is_fitted(self)
        sets = _sets(X)
        result = np.zeros((len(sets), max(map(len, sets), default=0)), dtype=np.bool_)
        for row, options in enumerate(sets):
            # One by one, each with the same seed: the company that a set is in must not change its prediction.
            (kept,) = self.posterior_.predict_choices(options[None], rule=self.rule)
            result[row, list(kept)] = True
        return result

    def score(self, X: Any, choices: Any) -> float:
        """The share of sets whose answer is predicted exactly."""
        expected = _positions(choices)
        predicted = [tuple(np.flatnonzero(row)) for row in self.predict(X)]
        if len(expected) != len(predicted):
            raise DataError(
                f"{len(predicted)} sets but {len(expected)} answers were given; give one answer for each set."
            )
        return float(np.mean([tuple(sorted(kept)) == found for kept, found in zip(expected, predicted, strict=True)]))


def _sets(X: Any) -> list[Array]:
    """One array (k, d) per set."""
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise DataError(f"X must be an array (n, k, d) or a list of sets (k, d), got {type(X).__name__}.")
    sets = [_numbers(options, number) for number, options in enumerate(X)]
    wrong = next((options.shape for options in sets if options.ndim != 2), None)
    if wrong is not None:
        raise DataError(
            f"Each sample must be a set of options of shape (k, d), but one has shape {wrong}: "
            "give X as an array (n, k, d). Reshape your data if it has one row per option."
        )
    return sets


def _numbers(options: ArrayLike, number: int) -> Array:
    try:
        return np.asarray(options, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"Set {number} must be a numeric array of shape (k, d): {error}") from None


def _positions(choices: Any) -> list[list[int]]:
    """The positions kept of each set."""
    if isinstance(choices, (str, bytes)) or not hasattr(choices, "__len__"):
        raise DataError(f"choices must have an answer for each set, got {type(choices).__name__}.")
    return [_kept(answer, number) for number, answer in enumerate(choices)]


def _kept(answer: Sequence[Any], number: int) -> list[int]:
    found = np.asarray(answer)
    if found.ndim != 1 or found.dtype.kind not in "biu":
        raise DataError(
            f"Answer {number} must be booleans, one for each option of the set, or the positions kept; got {answer!r}."
        )
    return [int(at) for at in (np.flatnonzero(found) if found.dtype == np.bool_ else found)]


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
