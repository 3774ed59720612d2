"""The servers as processes of their own: the product as a user starts it, and the bare application."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.oauth.servers import started


@contextmanager
def product(dsn: str, secret_keys: str) -> Iterator[int]:
    """`tollhouse serve`, one web process, logging JSON, counting requests without ever refusing one; its port."""
    settings = {"DATABASE_URL": dsn, "TOLLHOUSE_SECRET_KEYS": secret_keys, "TOLLHOUSE_RATE_API": str(10**9)}
    with started(["tollhouse", "serve", "--port"], settings) as server:
        yield server.port


@contextmanager
def bare(dsn: str, folder: Path) -> Iterator[int]:
    """The bare application, which says what the traces in the folder say; its port."""
    with started(["benchmarks.money.bare", dsn], {}, str(folder)) as server:
        yield server.port
