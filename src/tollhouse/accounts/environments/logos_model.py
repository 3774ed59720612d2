"""The merchant's uploaded logos: at paths with the hash of their content, which settings name as `branding.logo_url`.

The path is stored without the base URL, so that the address stays right when the base URL changes.
"""

import hashlib
import re
from urllib.parse import urlsplit

from msgspec import Struct

ROOT = "/logos/"
SUFFIXES = {"image/png": ".png", "image/svg+xml": ".svg"}
HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")
PATH = re.compile(r"/logos/([0-9a-f]{64})\.(?:png|svg)")


class Logo(Struct, frozen=True):
    """An image that is safe to serve, at the size that it is stored with."""

    media_type: str
    content: bytes
    width: int
    height: int

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the content."""
        return hashlib.sha256(self.content).digest()

    @property
    def path(self) -> str:
        """Where it is served."""
        return f"{ROOT}{self.digest.hex()}{SUFFIXES[self.media_type]}"


def digest_of(logo_url: str | None) -> bytes | None:
    """The digest of an uploaded logo; None for an image of another server, or without a logo."""
    found = PATH.fullmatch(logo_url or "")
    return None if found is None else bytes.fromhex(found[1])


def shown_url(logo_url: str | None, base_url: str) -> str | None:
    """The full address of a stored `logo_url`, for the API."""
    return logo_url if logo_url is None or digest_of(logo_url) is None else base_url + logo_url


def image_origin(logo_url: str | None) -> str | None:
    """The other origin of the image for the CSP; None if there is none or it cannot be expressed."""
    host = urlsplit(logo_url or "").netloc
    return f"https://{host}" if HOST.fullmatch(host) else None


def shown_source(logo_url: str | None) -> str | None:
    """What a page of the service loads; None without a logo, or if the CSP would block it."""
    return logo_url if digest_of(logo_url) is not None or image_origin(logo_url) is not None else None


def stored_url(logo_url: str | None, base_url: str) -> str | None:
    """What is stored for an address: of an uploaded logo, its path."""
    path = (logo_url or "").removeprefix(base_url)
    return path if digest_of(path) is not None and path != logo_url else logo_url
