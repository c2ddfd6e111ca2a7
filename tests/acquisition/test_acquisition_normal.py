import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from choicebo.acquisition.normal import cdf, log_cdf, mills_ratio

X = np.concatenate([np.linspace(-12, 12, 2001), [-1000.0, -50.0, 30.0]])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-7), (np.float32, 2e-6)])
def test_the_normal_distribution_function_and_its_logarithm_are_those_of_scipy(dtype, tolerance):
    x = X.astype(dtype)
    exact = x.astype(np.float64)
    assert log_cdf(x).dtype == cdf(x).dtype == mills_ratio(x).dtype == dtype
    np.testing.assert_allclose(log_cdf(x), log_ndtr(exact), rtol=tolerance, atol=0.2 * tolerance)
    np.testing.assert_allclose(cdf(x), ndtr(exact), rtol=tolerance, atol=0.2 * tolerance)
    ratio = np.exp(norm.logpdf(exact) - log_ndtr(exact))
    np.testing.assert_allclose(mills_ratio(x), ratio, rtol=5e-6 + tolerance, atol=tolerance)
