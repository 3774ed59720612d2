"""Logos of applications: fetched by the server, redrawn as squares, and served from this origin alone.

A browser never loads them from the application's host, which would learn who thinks about connecting.
"""

from datetime import datetime, timedelta

from tollhouse.accounts.settings.logo_images import read_square
from tollhouse.http.services import Services
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.oauth import documents, documents_store
from tollhouse.platform.database.pool import Pool

MAX_AGE = timedelta(days=1)


async def has_logo(db: Pool, client_id: str) -> bool:
    """Whether the application names a logo."""
    return await documents_store.get_logo_uri(db, client_id) is not None


async def get(services: Services, client_id: str, now: datetime) -> bytes | None:
    """The logo of an application as a PNG, at most a day old; None without one that can be loaded and read."""
    uri = await documents_store.get_logo_uri(services.db, client_id)
    if uri is None:
        return None
    try:
        found = await documents.get(services, uri, now, MAX_AGE)
        return await read_square(found.body)
    except (documents.FetchError, ValidationFailed):
        return None
