"""The link of a rater: where it can be opened, and its picture for the camera of a phone."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from markupsafe import Markup
from starlette.requests import Request

from choicebo.web.addresses import at
from choicebo.web.server_settings import ServerSettings, is_loopback


@dataclass(frozen=True)
class RaterLink:
    """A link to send to a rater."""

    address: str
    only_here: bool
    """Whether only browsers on this machine can open it."""

    @property
    def qr_code(self) -> Markup:
        """A QR code of the address as SVG; empty where a phone could not open it, or segno is not installed."""
        if self.only_here:
            return Markup("")
        try:
            import segno
        except ModuleNotFoundError:
            return Markup("")
        drawn = segno.make(self.address, error="m", micro=False)
        return Markup(drawn.svg_inline(omitsize=True, dark="#000", light="#fff", svgclass="qr-code", lineclass=None))


def rater_link(request: Request, settings: ServerSettings, token: str) -> RaterLink:
    """The link that lets a rater in, at the address by which others reach this server."""
    url = request.base_url
    host = url.hostname or settings.host
    if not is_loopback(host):
        return RaterLink(f"{str(url).rstrip('/')}{at('/join/')}{token}", only_here=False)
    outside = None if is_loopback(settings.host) else _outside_address(settings.host)
    if outside is None:
        return RaterLink(f"{str(url).rstrip('/')}{at('/join/')}{token}", only_here=True)
    bracketed = f"[{outside}]" if ":" in outside else outside
    return RaterLink(f"{url.scheme}://{bracketed}:{url.port or settings.port}{at('/join/')}{token}", only_here=False)


def _outside_address(host: str) -> str | None:
    """The address of this machine in its network; None if it is in none.

    >>> _outside_address("192.168.0.7")
    '192.168.0.7'
    """
    try:
        if not ipaddress.ip_address(host).is_unspecified:
            return host
    except ValueError:
        return host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # Nothing is sent: the system only says from which address it would.
            probe.connect(("2001:db8::1" if ":" in host else "192.0.2.1", 9))
            found = str(probe.getsockname()[0])
    except OSError:
        return None
    return None if is_loopback(found) else found
