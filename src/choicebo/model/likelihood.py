"""Theorem 1 of the paper, exactly: the probability of a choice given the latent values of the options shown.

This is the reference that everything else is checked against. All in double precision and in logarithms, with
quadrature nodes that follow the integrand into the tails.

Throughout, ``z_id = (f_d(i) - f_d(j)) / noise`` compares a kept option ``i`` with a rejected option ``j``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr

from choicebo.choices import Choice, ChoiceData
from choicebo.choices.marks import ONE_OBJECTIVE
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.model.choice_table import choice_table

Array = NDArray[np.float64]

LIKELIHOODS = ("choice", "pseudo_rational", "batch_preference", "noticeable_difference")
THRESHOLD = 1.0
"""Of a noticeable difference, in units of the noise: a difference between two options of the same value is noticed about
every second time."""
MOST_BESTS = 5
"""Most latent dimensions of a pseudo-rational choice: all ways in which they can share the kept options are enumerated."""
MAX_KEPT = 12
"""Inclusion-exclusion over the kept options has ``2^kept`` terms; past this, a choice that also rejects is refused."""

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
SQRT_HALF = math.sqrt(0.5)

_NEWTON_STEPS = 12
_REACH = 8.0
_ELEMENTS_AT_ONCE = 2**21


@functools.cache
def subset_masks(size: int) -> NDArray[np.bool_]:
    """Every non-empty subset of ``size`` things as rows of a (2^size - 1, size) mask; row ``s - 1`` has the bits of ``s``.

    Examples:
        >>> subset_masks(2).astype(int).tolist()
        [[1, 0], [0, 1], [1, 1]]
    """
    codes = np.arange(1, 2**size)
    return np.asarray((codes[:, None] >> np.arange(size)) & 1, dtype=bool)


def log_expected_product(z: Array) -> Array:
    """``log E_u[ prod_i Phi(z_i - u) ]``, ``u ~ N(0, 1)``: the product is over the first axis, ``(factors, ...) -> (...)``.

    The trapezoidal rule around the mode of the integrand. Its logarithm has a second derivative between -1 and
    ``-(1 + factors)``: so far must the nodes reach, and so close must they lie for an error of about 1e-13.
    """
    mode = _mode(z)
    step = 0.8 / math.sqrt(1.0 + len(z))
    count = math.ceil(_REACH / step)
    u = mode + step * np.arange(-count, count + 1).reshape((-1,) + (1,) * mode.ndim)
    log_integrand = -0.5 * u * u - LOG_SQRT_2PI
    for factor in z:
        log_integrand += log_ndtr(factor - u)
    peak = log_integrand.max(0)
    return np.asarray(peak + np.log(step * np.exp(log_integrand - peak).sum(0)))


def _mode(z: Array) -> Array:
    """Where the integrand of `log_expected_product` is largest, by Newton's method.

    The derivative of its logarithm is concave and decreasing, and ``u = 0`` lies to the right of the mode, so that the
    iteration descends to it without overshooting, for any ``z``.
    """
    u = np.zeros(z.shape[1:])
    for _ in range(_NEWTON_STEPS):
        x = z - u
        mills = 2.0 * math.exp(-LOG_SQRT_2PI) / erfcx(-SQRT_HALF * x)
        u -= (u + mills.sum(0)) / (1.0 + (mills * (mills + x)).sum(0))
    return u


def log_joint_wins(z: Array) -> Array:
    """Log-probability that all of a group of options beat one whose noise is shared by the comparisons, for each group.

    ``(options, n_e, ...) -> (2^options - 1, ...)``, with the groups in the order of `subset_masks`.
    """
    masks = subset_masks(len(z))
    sizes = masks.sum(1)
    result = np.empty((len(masks), *z.shape[2:]))
    result[sizes == 1] = log_ndtr(SQRT_HALF * z).sum(1)
    for size in range(2, len(z) + 1):
        members = np.nonzero(masks[sizes == size])[1].reshape(-1, size)
        result[sizes == size] = log_expected_product(z[members.T]).sum(1)
    return result


def log_rejection(z: Array) -> Array:
    """Log-probability that one rejected option was beaten by some kept one, ``z: (kept, n_e, ...) -> (...)``.

    Inclusion-exclusion over the subsets of the kept options. No term exceeds the largest single one, and the sum is at
    least that, so the alternating signs cost almost no relative accuracy.
    """
    logs = log_joint_wins(z)
    largest = logs.max(0)
    signs = np.where(subset_masks(len(z)).sum(1) % 2 == 1, 1.0, -1.0)
    return np.asarray(largest + np.log(np.tensordot(signs, np.exp(logs - largest), axes=1)))


def log_coexistence(x: Array) -> Array:
    """Log-probability that neither of two kept options beats the other; ``x: (n_e, ...)``, ``x_d = (f_d(p) - f_d(i)) / noise``.

    ``1 - prod_d Phi_d`` is summed as ``q_1 + Phi_1 q_2 + Phi_1 Phi_2 q_3 + ...``: positive terms only, so nothing cancels
    in either tail. The two directions share their logarithms.
    """
    above, below = log_ndtr(x * SQRT_HALF), log_ndtr(-x * SQRT_HALF)
    return log_one_minus_product(above, below) + log_one_minus_product(below, above)


def log_one_minus_product(log_p: Array, log_q: Array) -> Array:
    """``log(1 - prod_d p_d)`` over the first axis from ``log p_d`` and ``log q_d = log(1 - p_d)``."""
    result, product = log_q[0], log_p[0]
    for p, q in zip(log_p[1:], log_q[1:], strict=True):
        result = np.logaddexp(result, product + q)
        product = product + p
    return np.asarray(result)


def log_batch_preference(z: Array) -> Array:
    """Log-probability of one winner whose noise is shared by all comparisons, ``z: (rejected, 1, ...) -> (...)``.

    The paper's batch preference.
    """
    if len(z) == 1:
        return np.asarray(log_ndtr(z[0, 0] * SQRT_HALF))
    return log_expected_product(z[:, 0])


def log_pseudo_rational(values: Array, kept: int) -> Array:
    """Log-probability that the first ``kept`` options are those that are best in at least one dimension.

    Each option has one noise in each dimension, so that each dimension has one best option. The sum is over all ways in which
    the dimensions can have the kept options, each at least once, as their best; there is none if there are more kept options.

    Args:
        values: Latent values of the options shown, in units of the noise: ``(shown, n_e, ...)``.
        kept: How many of them were kept.

    Returns:
        An array of the shape of what follows ``n_e``.
    """
    n_e = values.shape[1]
    bests = np.stack([log_expected_product(values[i] - np.delete(values, i, axis=0)) for i in range(kept)])
    ways = [way for way in itertools.product(range(kept), repeat=n_e) if len(set(way)) == kept]
    if not ways:
        return np.full(values.shape[2:], -np.inf)
    return np.asarray(np.logaddexp.reduce([sum(bests[i, d] for d, i in enumerate(way)) for way in ways]))


def log_noticeable(z: Array, threshold: float) -> Array:
    """Log-probability that one option is noticeably better than each of others, ``z: (others, ...) -> (...)``."""
    return np.asarray(log_ndtr((z - threshold) * SQRT_HALF).sum(0))


def log_no_difference(z: Array, threshold: float) -> Array:
    """Log-probability that two options differ by less than the threshold, noise included.

    The smaller of the two tails is taken from the other side, where nothing cancels.
    """
    far = np.abs(z)
    below, above = log_ndtr((threshold - far) * SQRT_HALF), log_ndtr((-threshold - far) * SQRT_HALF)
    return np.asarray(below + np.log1p(-np.exp(above - below)))


def with_lapse(log_p: Array, shown: ArrayLike, lapse: float) -> Array:
    """``log((1 - lapse) p + lapse / (2^shown - 1))``: with probability ``lapse`` the answer is any non-empty subset."""
    if lapse == 0.0:
        return log_p
    log_uniform = -np.log(2.0 ** np.asarray(shown) - 1.0)
    return np.asarray(np.logaddexp(np.log1p(-lapse) + log_p, np.log(lapse) + log_uniform))


def choice_log_likelihood(
    latent: ArrayLike,
    data: ChoiceData,
    noise: float = 1.0,
    *,
    likelihood: str = "choice",
    lapse: float = 0.0,
    threshold: float = THRESHOLD,
) -> Array:
    """The log-likelihood of each choice given the latent values of all options (Theorem 1, equation 6).

    Args:
        latent: Latent values ``(m, n_e)``, one row per option of ``data.X``.
        data: The options and the choices among them.
        noise: Standard deviation of the noise of each comparison, the unit in which differences count.
        likelihood: ``"choice"``; ``"pseudo_rational"``, where an option is kept if it is best in at least one dimension;
            ``"batch_preference"`` for one winner per choice and one latent dimension; or ``"noticeable_difference"`` for one
            latent dimension in which small differences are not noticed.
        lapse: Probability that an answer is a uniformly random non-empty subset.
        threshold: Of a noticeable difference, in units of the noise.

    Returns:
        One value per choice, ``(n_choices,)``, times the weight of the choice: their sum is the log-likelihood of the data.
        Over all subsets of a set the probabilities need not sum to one.

    Raises:
        InvalidInputError: A setting is out of range, the shape of ``latent`` does not fit, or a value is not finite.

    Examples:
        >>> import choicebo as cb
        >>> data = cb.ChoiceData([[0.0], [1.0]], [cb.Choice(shown=(0, 1), kept=(0,))])
        >>> cb.choice_log_likelihood([[0.0], [0.0]], data).round(4).tolist()
        [-0.6931]
    """
    scaled = _scaled_latent(latent, data, noise, likelihood, lapse, threshold)
    log_p = with_lapse(_log_likelihood(scaled, data.choices, likelihood, threshold), _sizes(data.choices), lapse)
    return log_p * _weights(data.choices)


def normalised_log_likelihood(
    latent: ArrayLike,
    data: ChoiceData,
    noise: float = 1.0,
    *,
    likelihood: str = "choice",
    lapse: float = 0.0,
    threshold: float = THRESHOLD,
) -> Array:
    """As `choice_log_likelihood`, with probabilities that sum to one over the possible answers to each question.

    Theorem 1's value is divided by its sum over all non-empty subsets of the set shown; a lapse is mixed in after that.
    The other likelihoods are normalised as they are: each option has one noise, and exactly one option comes out best, in each
    dimension; of a noticeable difference, what is left is that no option is noticeably better than all others.

    Raises:
        InvalidInputError: As above, or a set has more than ``choice_table.MAX_SET`` options and ``likelihood`` is ``"choice"``.

    Examples:
        >>> import choicebo as cb
        >>> data = cb.ChoiceData([[0.0], [1.0]], [cb.Choice(shown=(0, 1), kept=(0,))])
        >>> np.exp(normalised_log_likelihood([[0.0], [0.0]], data)).round(4).tolist()
        [0.4]
    """
    scaled = _scaled_latent(latent, data, noise, likelihood, lapse, threshold)
    log_p = _log_likelihood(scaled, data.choices, likelihood, threshold)
    if likelihood == "choice":
        log_p -= _log_mass(scaled, data.choices)
    return with_lapse(log_p, _sizes(data.choices), lapse) * _weights(data.choices)


def is_number(value: object) -> bool:
    """Whether it is a real number of a sensible size, which a truth value is not.

    Examples:
        >>> is_number(0.5), is_number(True), is_number([0.5])
        (True, False, False)
    """
    known = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return known and abs(value) < 1e300  # type: ignore[arg-type]


def check_likelihood_settings(
    choices: Iterable[Choice], n_e: int, noise: float, likelihood: str, lapse: float, threshold: float = THRESHOLD
) -> None:
    """Refuse settings that the likelihood is not defined for, saying which are accepted."""
    if not is_number(noise) or noise <= 0.0:
        raise InvalidInputError(f"noise must be a positive finite number, got {as_given(noise)}.")
    if not is_number(lapse) or not 0.0 <= lapse < 1.0:
        raise InvalidInputError(f"lapse must be at least 0 and below 1, got {as_given(lapse)}.")
    if not isinstance(likelihood, str) or likelihood not in LIKELIHOODS:
        raise InvalidInputError(
            f"likelihood must be one of {', '.join(map(repr, LIKELIHOODS))}, got {as_given(likelihood)}."
        )
    if not is_number(threshold) or threshold <= 0.0:
        raise InvalidInputError(f"threshold must be a positive finite number, got {as_given(threshold)}.")
    if likelihood in ONE_OBJECTIVE and n_e != 1:
        raise InvalidInputError(f"likelihood={likelihood!r} needs one latent dimension, got {n_e}.")
    if likelihood == "pseudo_rational" and n_e > MOST_BESTS:
        raise InvalidInputError(
            f"likelihood='pseudo_rational' takes at most {MOST_BESTS} latent dimensions, got {n_e}."
        )
    for number, choice in enumerate(choices):
        if likelihood in ONE_OBJECTIVE and len(choice.kept) != 1:
            pair = likelihood == "noticeable_difference"
            if not (pair and len(choice.shown) == 2):
                raise InvalidInputError(
                    f"likelihood={likelihood!r} takes one winner per "
                    f"choice{', or both of two options' if pair else ''}, but "
                    f"choice {number} kept {len(choice.kept)} options; use likelihood='choice' for subsets."
                )
        if likelihood == "pseudo_rational" and lapse == 0.0 and len(choice.kept) > n_e:
            raise InvalidInputError(
                f"Choice {number} kept {len(choice.kept)} options, but only {n_e} can be best in one of {n_e} "
                "dimensions each; "
                "use more latent dimensions, or a lapse above 0, which treats such answers as slips."
            )
        if likelihood == "choice" and choice.rejected and len(choice.kept) > MAX_KEPT:
            raise InvalidInputError(
                f"Choice {number} kept {len(choice.kept)} options and rejected others; the likelihood has 2^kept "
                "terms and "
                f"takes at most {MAX_KEPT} kept options; show smaller sets."
            )


class _Events(NamedTuple):
    """Comparisons of one kind, as lists of equal length."""

    first: list[tuple[int, ...]]
    """Options on the winning side of each event: one, or one per slot."""
    second: list[tuple[int, ...]]
    """Options on the losing side: one, or one per slot."""
    choice: list[int]
    """The choice that each event belongs to."""


def _events(choices: tuple[Choice, ...], likelihood: str) -> dict[tuple[str, int], _Events]:
    """Sort the comparisons that the choices imply by kind and number of slots, so that each kind is one array."""
    found: dict[tuple[str, int], _Events] = {}

    def add(kind: str, first: tuple[int, ...], second: tuple[int, ...], number: int) -> None:
        events = found.setdefault((kind, max(len(first), len(second))), _Events([], [], []))
        events.first.append(first)
        events.second.append(second)
        events.choice.append(number)

    for number, choice in enumerate(choices):
        if likelihood == "batch_preference":
            add("batch", choice.kept, choice.rejected, number)
            continue
        if likelihood == "noticeable_difference":
            both = not choice.rejected
            add(
                "alike" if both else "noticeable", choice.kept[:1], choice.kept[1:] if both else choice.rejected, number
            )
            continue
        for j in choice.rejected:
            add("rejection", choice.kept, (j,), number)
        for position, p in enumerate(choice.kept):
            for i in choice.kept[position + 1 :]:
                add("coexistence", (p,), (i,), number)
    return found


def _log_likelihood(scaled: Array, choices: tuple[Choice, ...], likelihood: str, threshold: float) -> Array:
    """Log-likelihood of each choice for latent values in units of the noise, without lapses."""
    if likelihood == "pseudo_rational":
        orders = ([*choice.kept, *choice.rejected] for choice in choices)
        values = [
            log_pseudo_rational(scaled[order], len(choice.kept)) for order, choice in zip(orders, choices, strict=True)
        ]
        return np.array(values, dtype=np.float64)
    result = np.zeros(len(choices))
    for (kind, slots), events in _events(choices, likelihood).items():
        first, second = np.array(events.first).T, np.array(events.second).T
        z = np.moveaxis(scaled[first] - scaled[second], 1, 2)  # (slots, n_e, events)
        np.add.at(result, events.choice, _evaluate(kind, slots, z, threshold))
    return result


def _evaluate(kind: str, slots: int, z: Array, threshold: float) -> Array:
    """Log-probabilities of events of one kind, ``(slots, n_e, events) -> (events,)``, in portions that bound the memory."""
    if kind == "coexistence":
        return log_coexistence(z[0])
    if kind in ("alike", "noticeable"):
        return log_no_difference(z[0, 0], threshold) if kind == "alike" else log_noticeable(z[:, 0], threshold)
    evaluate = log_rejection if kind == "rejection" else log_batch_preference
    nodes = 20.0 * math.sqrt(1.0 + slots)
    elements = z.shape[1] * nodes * (2**slots if kind == "rejection" else 1)
    events = max(1, int(_ELEMENTS_AT_ONCE / elements))
    return np.concatenate([evaluate(z[..., at : at + events]) for at in range(0, z.shape[2], events)])


def _log_mass(scaled: Array, choices: tuple[Choice, ...]) -> Array:
    """Logarithm of the sum of Theorem 1 over all non-empty subsets of each set shown, ``(n_choices,)``."""
    sizes = _sizes(choices)
    result = np.empty(len(choices))
    for size in np.unique(sizes):
        of_size = np.flatnonzero(sizes == size)
        sets = scaled[np.array([choices[number].shown for number in of_size])]
        result[of_size] = np.log(choice_table(sets, lambda z: np.exp(log_joint_wins(z))).sum(1))
    return result


def _sizes(choices: tuple[Choice, ...]) -> NDArray[np.int64]:
    return np.array([len(choice.shown) for choice in choices], dtype=np.int64)


def _weights(choices: tuple[Choice, ...]) -> Array:
    return np.array([choice.weight for choice in choices], dtype=np.float64)


def _scaled_latent(
    latent: ArrayLike, data: ChoiceData, noise: float, likelihood: str, lapse: float, threshold: float
) -> Array:
    """Check all arguments, and give the latent values in units of the noise."""
    if not isinstance(data, ChoiceData):
        raise InvalidInputError(f"data must be a ChoiceData, got {as_given(data)}.")
    try:
        values = np.asarray(latent, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInputError(f"latent must be a numeric array of shape (options, n_e): {error}") from None
    if values.ndim != 2 or values.shape[0] != len(data.X) or values.shape[1] < 1:
        raise InvalidInputError(
            f"latent must have one row per option and one column per latent dimension, ({len(data.X)}, n_e) here; "
            f"got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise InvalidInputError("latent has a value that is NaN or infinite; every entry must be finite.")
    check_likelihood_settings(data.choices, values.shape[1], noise, likelihood, lapse, threshold)
    return np.asarray(values / noise)
