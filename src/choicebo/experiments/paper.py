"""The paper's figures, which ours stand beside."""

from __future__ import annotations

ACCURACY: dict[str, dict[int, float]] = {
    "toy": {100: 0.54, 300: 0.72},
    "enb": {100: 0.74, 300: 0.77},
    "jura": {100: 0.44, 300: 0.47},
    "real-estate": {100: 0.50, 300: 0.60},
    "slump": {100: 0.26, 300: 0.39},
}
"""Accuracy of Choice-GP by task and number of choices."""

ORACLE: dict[str, float] = {"toy": 0.77, "enb": 0.77, "jura": 0.53, "real-estate": 0.64, "slump": 0.45}
"""Accuracy of Oracle-GP by task."""

OPTIMISATION: dict[str, str] = {
    "branin-currin": "level",
    "zdt1": "ahead",
    "zdt2": "ahead",
    "dtlz1": "level",
    "kursawe": "level",
    "vehicle-safety": "level",
}
"""How choice-based optimisation ends beside Oracle-ParEGO; the paper shows curves and gives no numbers."""
