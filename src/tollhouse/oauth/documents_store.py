"""SQL of documents that were fetched from URLs of applications, which all processes share."""

from datetime import datetime

from msgspec import Struct

from tollhouse.platform.database.pool import Pool

FIND = "SELECT body, fetched_at FROM oauth_documents WHERE url = $1"
SAVE = """
    INSERT INTO oauth_documents AS d (url, body, fetched_at) VALUES ($1, $2, $3)
    ON CONFLICT (url) DO UPDATE SET body = excluded.body, fetched_at = excluded.fetched_at
    WHERE d.fetched_at < excluded.fetched_at
"""
DELETE_OLD = """
    DELETE FROM oauth_documents WHERE url IN (
        SELECT url FROM oauth_documents WHERE fetched_at <= $1 ORDER BY fetched_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class Document(Struct, frozen=True):
    """What a URL answered, and when."""

    body: bytes
    fetched_at: datetime


async def find(db: Pool, url: str) -> Document | None:
    """What was last fetched from this URL."""
    row = await db.fetchrow(FIND, url)
    return Document(row["body"], row["fetched_at"]) if row else None


async def save(db: Pool, url: str, document: Document) -> None:
    """Keep what this URL answered, unless something newer is kept."""
    await db.execute(SAVE, url, document.body, document.fetched_at)
