"""Optional parts of the package: what is missing is named together with the command that installs it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from choicebo.errors import MissingExtraError


@contextmanager
def needs(extra: str, what: str) -> Generator[None, None, None]:
    """Turn a failed import of another package into an error that names the extra to install.

    Args:
        extra: The extra of choicebo that brings the package.
        what: What the user asked for, as the beginning of a sentence.

    Raises:
        MissingExtraError: A package that is imported inside the ``with`` block is not installed.

    >>> with needs("plots", "A picture"):
    ...     import no_such_package
    Traceback (most recent call last):
    choicebo.errors.MissingExtraError: A picture needs the package no_such_package: pip install 'choicebo[plots]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "choicebo"):  # a mistake of ours, which no extra would mend
            raise
        raise MissingExtraError(
            f"{what} needs the package {package}: pip install 'choicebo[{extra}]'", package
        ) from None
