"""What is marked in the terminal, whichever way a question is answered."""

from __future__ import annotations

from choicebo.presentation.answering import Said, said

MARKED = {
    "subset": "Keep",
    "best": "Best",
    "best-worst": "Best and worst",
    "ranking": "In order",
    "pair": "Better",
}
"""What stands before the marks."""
LINES = {
    "subset": "Type the numbers to keep, such as 1 3",
    "best": "Type the number of the best, such as 2",
    "best-worst": "Type the numbers of the best and the worst, such as 2 4",
    "ranking": "Type numbers in order, the best first, all or the first few, such as 3 1 2",
    "pair": "Type the number of the better one, or = if you cannot decide",
}
"""What to type in one line."""


class Marking:
    """Marks that keys set and take back.

    >>> marks = Marking("best-worst")
    >>> for place in (1, 3, 1, 2):
    ...     marks.press(place)
    >>> marks.words("12345"), marks.said
    ('best [3], worst [4]', {'best': 2, 'worst': 3})
    """

    def __init__(self, way: str) -> None:
        self.way = way
        self._places: list[int | None] = []
        """In the order of marking; of the best and the worst, one that was taken back leaves its place empty."""

    @property
    def places(self) -> list[int]:
        """What is marked."""
        return [place for place in self._places if place is not None]

    @property
    def said(self) -> Said | None:
        """The answer, if it is one."""
        return None if None in self._places else said(self.way, self.places)

    def press(self, place: int) -> None:
        """Mark an option, or take its mark back."""
        if place in self._places:
            if self.way == "best-worst":
                self._places[self._places.index(place)] = None
                if not self.places:
                    self._places = []
            else:
                self._places.remove(place)
        elif self.way in ("best", "pair"):
            self._places = [place]
        elif self.way != "best-worst":
            self._places.append(place)
        elif None in self._places:
            self._places[self._places.index(None)] = place
        else:
            self._places = [*self._places[:1], place]

    def words(self, keys: str) -> str:
        """The marks, by the keys that set them."""
        if self.way == "best-worst":
            named = zip(("best", "worst"), self._places, strict=False)
            return ", ".join(f"{name} [{keys[place]}]" for name, place in named if place is not None)
        return " ".join(f"[{keys[place]}]" for place in self.places)
