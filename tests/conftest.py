from __future__ import annotations

from hypothesis import settings

# The same code gives the same result, on a busy machine too; `pytest --hypothesis-profile default` draws new examples.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
