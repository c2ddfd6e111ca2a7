"""Where the server listens: its port, or another that is free, and sentences for what stands in the way."""

from __future__ import annotations

import errno
import socket

from choicebo.errors import InvalidInputError

DEFAULT_PORT = 8000
_TRIED = 20
"""How many ports are tried from the default one on before any free one is taken."""


def listen(host: str, port: int | None) -> list[socket.socket]:
    """Sockets bound to every address of the host; without a port, to the default one or the next that is free.

    Raises:
        InvalidInputError: If the port is used, or the address cannot be listened on.
    """
    try:
        return _first_free(host) if port is None else _bound(host, port)
    except OSError as error:
        raise _problem(host, DEFAULT_PORT if port is None else port, error) from None


def port_of(bound: list[socket.socket]) -> int:
    """The port that was taken."""
    found: int = bound[0].getsockname()[1]
    return found


def _bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of a host, all with the same port."""
    found: list[socket.socket] = []
    try:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(known):
            taken = port_of(found) if found else port
            found.append(socket.create_server((address[0], taken, *address[2:]), family=family))
    except BaseException:
        for each in found:
            each.close()
        raise
    return found


def _first_free(host: str) -> list[socket.socket]:
    for port in range(DEFAULT_PORT, DEFAULT_PORT + _TRIED):
        try:
            return _bound(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return _bound(host, 0)


def _problem(host: str, port: int, error: OSError) -> InvalidInputError:
    if error.errno == errno.EADDRINUSE:
        return InvalidInputError(
            f"Port {port} is in use: give another, such as --port {_free_port(host)}, which is free."
        )
    if error.errno == errno.EACCES:
        return InvalidInputError(
            f"Port {port} is reserved for administrators: give another, such as --port {_free_port(host)}."
        )
    why = (error.strerror or str(error)).partition(" (while")[0]
    return InvalidInputError(
        f"The address {host} cannot be listened on ({why}): give one of this machine, such as 127.0.0.1."
    )


def _free_port(host: str) -> int:
    """A port that is free at the moment."""
    bound = _first_free(host)
    free = port_of(bound)
    for each in bound:
        each.close()
    return free
