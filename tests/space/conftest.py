from __future__ import annotations

from hypothesis import settings

# On a busy machine a single example may take long; what is promised here is not speed.
settings.register_profile("space", parent=settings.default, deadline=None)
settings.load_profile("space")
