"""Ready studies to start from; terminal and browser offer them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from choicebo.study.definition import StudyDefinition
from choicebo.study.study_file import read


@dataclass(frozen=True)
class Example:
    """A study file and the files that it names."""

    name: str
    about: str
    """What there is to choose, in a few words."""
    files: tuple[str, ...]
    """The first one is the study file."""


EXAMPLES = {
    example.name: example
    for example in (
        Example(
            "palette",
            "Colours, corners and typeface of a small website, drawn as cards.",
            ("palette.toml", "palette.svg"),
        ),
        Example(
            "products", "Backpacks from a catalogue: price, size, weight and more.", ("products.toml", "products.csv")
        ),
        Example("bread", "A baking recipe with two rules, compared with the loaf of today.", ("bread.toml",)),
    )
}


def content(file: str) -> bytes:
    """One of the files."""
    return resources.files(__name__).joinpath(file).read_bytes()


def definition(example: Example) -> StudyDefinition:
    """The study, which needs none of the files any more.

    >>> definition(EXAMPLES["bread"]).question
    'Which of these loaves would you bake again?'
    """
    with resources.as_file(resources.files(__name__)) as folder:
        return read(folder / example.files[0]).model_copy(update={"folder": None})
