"""BoTorch in both directions: a posterior as a BoTorch ``Model``, and a BoTorch model as a simulated person."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import InvalidInputError
from choicebo.extras import needs
from choicebo.formatting import as_given
from choicebo.model.alignment import aligned_orders
from choicebo.model.covariance import JITTER, kernel_named
from choicebo.model.draws import LatentDraws, evenly, frequencies
from choicebo.model.engines.base import are_whole
from choicebo.model.posterior import Posterior, numeric

with needs("botorch", "The bridge to BoTorch"):
    import torch
    from botorch.models.ensemble import EnsembleModel
    from botorch.posteriors.ensemble import EnsemblePosterior
    from torch import Tensor

from choicebo.experiments.choosers import Chooser

Array = NDArray[np.float64]


class ChoiceModel(EnsembleModel):  # type: ignore[misc]
    """The hidden objectives as a BoTorch model: an ensemble with one function for each draw of the posterior.

    Every draw is a function of the whole unit cube: random Fourier features of the prior, corrected to pass through the draw at
    the options that were shown (Matheron's rule). It has derivatives by the point, so that acquisitions can be climbed. Monte
    Carlo acquisitions such as ``qLogNoisyExpectedHypervolumeImprovement`` take the model; sample ``k`` is the same draw at all
    points.

    As in choicebo's own acquisitions, a point is judged by the part of the objectives that depends on its inputs: what is an
    option's own (the nugget) cannot be searched for. Known objectives need no model and are not among the outputs.

    Args:
        posterior: What was learned.
        draws: How many draws become functions; evenly spread over all, and no more than there are.
        features: Random features of the prior; more are more accurate far from the options, and slower.
        seed: Of the random features.

    Raises:
        InvalidInputError: ``posterior`` is not one, or a number is too small.
    """

    def __init__(self, posterior: Posterior, *, draws: int = 128, features: int = 1024, seed: int = 0) -> None:
        if not isinstance(posterior, Posterior):
            raise InvalidInputError(
                f"posterior is {as_given(posterior)}; give what ChoiceGP.fit() or optimizer.posterior() returned."
            )
        for name, given in (("draws", draws), ("features", features)):
            if not are_whole(given) or given < 1:
                raise InvalidInputError(f"{name} must be a whole number of at least 1, got {as_given(given)}.")
        super().__init__()
        if posterior.latent_dim == 0:
            raise InvalidInputError(
                "nothing of this posterior is hidden: its objectives are known functions or measured"
            )
        known = posterior.draws.thinned(draws).hidden_only()
        self._num_outputs = posterior.latent_dim
        self._kernel, self._nugget = kernel_named(known.kernel), known.nugget
        for name, value in _paths(known, features, np.random.default_rng(seed)).items():
            self.register_buffer(f"_{name}", torch.as_tensor(value))
        # The numbering of the objectives is arbitrary, and may differ between draws.
        self.register_buffer("_orders", torch.as_tensor(aligned_orders(known.latent)))

    @property
    def batch_shape(self) -> torch.Size:
        """There is one model, not a batch of them."""
        return torch.Size([])

    def forward(self, X: Tensor) -> Tensor:
        """The functions of all draws at ``X: batch_shape x n x d``, as ``batch_shape x draws x n x m``."""
        points = X.to(self._options).reshape(-1, X.shape[-1])
        scaled, options = points / self._lengthscales[:, None], self._options / self._lengthscales[:, None]
        squared = (scaled**2).sum(2, keepdim=True) + (options**2).sum(2)[:, None] - 2.0 * scaled @ options.mT
        covariance = (1.0 - self._nugget) * _Covariance.apply(squared.clamp_min(0.0), self._kernel)
        prior = torch.cos(points @ self._frequency.mT + self._phase[:, None])
        parts = prior @ self._amplitude + covariance @ self._weights  # (n_e, points, draws)
        latent = torch.einsum("ep,pnd->dne", self._mixing, parts)
        latent = latent.gather(2, self._orders[:, None].expand(-1, len(points), -1))
        # The batch comes before the draws.
        return latent.reshape(len(latent), *X.shape[:-1], self.num_outputs).movedim(0, -3).to(X)

    def posterior(
        self, X: Tensor, output_indices: list[int] | None = None, posterior_transform: Any = None, **kwargs: Any
    ) -> Any:
        """The draws at ``X: batch_shape x q x d``, a point of the unit cube in each row."""
        values = super().posterior(X, output_indices=output_indices, **kwargs).values
        found = DrawsPosterior(values)
        return found if posterior_transform is None else posterior_transform(posterior=found, X=X)


class DrawsPosterior(EnsemblePosterior):  # type: ignore[misc]
    """Draws at some points, from which every sampler takes the same ones: sample ``k`` is one function, whatever the batch.

    BoTorch's own ensembles draw the members anew for each shape of batch. Acquisitions that compare new points with what a sample
    says of earlier ones, such as noisy expected hypervolume improvement, would compare different functions.
    """

    @property
    def base_sample_shape(self) -> torch.Size:
        """As samplers of normal posteriors expect it; the base samples themselves are not used."""
        return torch.Size([*self.values.shape[:-3], *self.values.shape[-2:]])

    @property
    def batch_range(self) -> tuple[int, int]:
        """The batch comes before the points and the outputs."""
        return 0, -2

    def rsample(self, sample_shape: torch.Size | None = None) -> Tensor:
        """Draws of shape ``sample_shape x batch_shape x q x m``, evenly spread over all; of too few, some twice."""
        shape = torch.Size([1]) if sample_shape is None or len(sample_shape) == 0 else sample_shape
        total, count = self.ensemble_size, shape.numel()
        rows = torch.as_tensor(np.resize(evenly(total, min(total, count)), count), device=self.values.device)
        return self.values.movedim(-3, 0)[rows].reshape(*shape, *self.base_sample_shape)

    def rsample_from_base_samples(self, sample_shape: torch.Size, base_samples: Tensor) -> Tensor:
        """The same: the draws are there already."""
        return self.rsample(sample_shape)


def chooser_of(
    model: Any, *, bounds: ArrayLike | None = None, seed: int | None = None, noise: float = 0.0, lapse: float = 0.0
) -> Chooser:
    """A simulated person who keeps the options that no other one beats by the outputs of a fitted BoTorch model.

    Args:
        model: A fitted model with one output for each objective; more is better.
        bounds: (2, d), the ranges of the model's inputs, where these are not the unit cube.
        seed: Of a function drawn from the model's posterior, which is then what the person wants. None: the posterior mean.
        noise: Standard deviation of the noise that every answer adds to every objective, in the model's units.
        lapse: Probability that an answer is any non-empty subset.

    Returns:
        A function of options (k, d) in the unit cube and a NumPy generator, which gives the positions kept.

    Raises:
        InvalidInputError: The bounds are not those of a box.
    """
    low, width = 0.0, 1.0
    if bounds is not None:
        ends = numeric(bounds, "bounds", "(2, d)")
        if ends.ndim != 2 or len(ends) != 2 or not np.isfinite(ends).all() or not (ends[0] < ends[1]).all():
            raise InvalidInputError(
                f"bounds must have shape (2, d), lower ends before upper ones, got {as_given(bounds)}."
            )
        low, width = ends[0], ends[1] - ends[0]
    wanted = model
    if seed is not None:
        from botorch.sampling.pathwise import get_matheron_path_model

        with torch.random.fork_rng():
            torch.manual_seed(seed)
            wanted = get_matheron_path_model(model)

    def objectives(options: Array) -> Array:
        with torch.no_grad():
            values = wanted.posterior(torch.as_tensor(low + options * width, dtype=torch.double)).mean
        return np.asarray(values.cpu().numpy(), dtype=np.float64)

    return Chooser(objectives, noise=noise, lapse=lapse)


class _Covariance(torch.autograd.Function):  # type: ignore[misc]
    """A kernel of choicebo's as a function of the squared scaled distance, with its derivative ``k'(r) / (2 r)``."""

    @staticmethod
    def forward(ctx: Any, squared: Tensor, kernel: Any) -> Tensor:
        ctx.save_for_backward(squared)
        ctx.kernel = kernel
        return _elementwise(kernel.value, squared)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, by_covariance: Tensor) -> tuple[Tensor, None]:
        (squared,) = ctx.saved_tensors
        return 0.5 * by_covariance * _elementwise(ctx.kernel.slope, squared), None


def _elementwise(function: Any, squared: Tensor) -> Tensor:
    r = np.sqrt(squared.detach().cpu().numpy())
    return torch.as_tensor(function(r), dtype=squared.dtype, device=squared.device)


def _paths(known: LatentDraws, features: int, rng: np.random.Generator) -> dict[str, Array]:
    """Draws as functions; all have the same random features, with amplitudes of their own."""
    n_e, draws = known.hidden_dim, known.count
    frequency = np.stack([frequencies(known.kernel, features, known.X.shape[1], rng) for _ in range(n_e)])
    frequency /= known.lengthscales[:, None]
    phase = rng.uniform(0.0, 2.0 * math.pi, (n_e, features))
    size = math.sqrt((1.0 - known.nugget) * 2.0 / features)
    amplitude = size * rng.standard_normal((n_e, features, draws))
    prior = np.cos(known.X @ np.swapaxes(frequency, 1, 2) + phase[:, None]) @ amplitude
    prior += math.sqrt(known.nugget + JITTER) * rng.standard_normal(prior.shape)
    # K^-1 (part - prior), where K = L L^T and part = L whitened.
    gap = np.moveaxis(known.whitened, 0, 2) - np.linalg.solve(known.factors, prior)
    return {
        "options": known.X,
        "lengthscales": known.lengthscales,
        "mixing": known.mixing,
        "frequency": frequency,
        "phase": phase,
        "amplitude": amplitude,
        "weights": np.asarray(np.linalg.solve(np.swapaxes(known.factors, 1, 2), gap), dtype=np.float64),
    }
