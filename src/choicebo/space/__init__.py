"""What can be offered: parameters, catalogue, constraints, the map to and from the unit cube."""

from choicebo.space.catalogue import Catalogue
from choicebo.space.constraints import Constraint
from choicebo.space.context import Context
from choicebo.space.discrete import Categorical, Ordinal
from choicebo.space.numeric import Angle, Integer, Real
from choicebo.space.objectives import KnownObjectives, Objective, known_of
from choicebo.space.parameters import Fixed, Parameter
from choicebo.space.searchable import Column, Option, Searchable
from choicebo.space.serialisation import from_dict
from choicebo.space.space import Space

__all__ = [
    "Angle",
    "Catalogue",
    "Categorical",
    "Column",
    "Constraint",
    "Context",
    "Fixed",
    "Integer",
    "KnownObjectives",
    "Objective",
    "Option",
    "Ordinal",
    "Parameter",
    "Real",
    "Searchable",
    "Space",
    "from_dict",
    "known_of",
]
