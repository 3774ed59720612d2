"""Logos of applications: fetched by the server, redrawn as squares, and served from this origin alone.

A browser never loads them from the application's host, which would learn who thinks about connecting.
"""

from datetime import datetime, timedelta

from tollhouse.accounts.settings.logo_images import read_square
from tollhouse.http.services import Services
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.oauth import documents, documents_store

MAX_AGE = timedelta(days=1)


async def get(services: Services, client_id: str, now: datetime) -> bytes | None:
    """The logo of an application as a PNG, at most a day old; None without one that can be loaded and read."""
    uri = (await documents_store.logo_uris(services.db, client_id)).get(client_id)
    if uri is None:
        return None
    try:
        found = await documents.get(services, uri, now, MAX_AGE, redraw=_redraw)
    except documents.FetchError:
        return None
    return found.body or None


async def _redraw(raw: bytes) -> bytes:
    """What is kept and shown; empty for what is no such image."""
    try:
        return await read_square(raw)
    except ValidationFailed:
        return b""
