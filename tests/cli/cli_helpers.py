from __future__ import annotations

import choicebo as cb

SPACE = cb.Space([cb.Integer("minutes", 5, 40, unit="min"), cb.Categorical("flour", ["rye", "wheat"])])
QUICK = {"acquisition": "sobol", "engine": "laplace", "latent_dim": 1, "query_size": 3}
"""Settings whose questions need no model, and whose model is fitted quickly."""
