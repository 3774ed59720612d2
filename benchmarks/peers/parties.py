"""The other servers that are installed in a folder, each on a database of its own."""

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg

from benchmarks.harness import servers
from benchmarks.harness.requests import ACCOUNT, PAYMENT, Wire, digest, numbered
from benchmarks.harness.rounds import Party, talk
from benchmarks.money.seed import MERCHANTS
from benchmarks.oauth.operations import KEEP_ALIVE, form_to
from benchmarks.oauth.seed import CALLBACK, VERIFIER
from tollhouse.kernel import tokens

PROGRAMS = Path(__file__).parent / "programs"
GRANTS = 2_000
OIDC_CREDENTIALS = "client_id=benchmark&client_secret=benchmark-secret-benchmark-secret"
CREDENTIALS = "client_id=benchmark&client_secret=benchmark-secret"
Items = Callable[[int], Awaitable[list[str]]]


class Tokens:
    """Tokens that a server created; those that are refreshed are replaced."""

    def __init__(self, found: list[str]) -> None:
        self._found = found

    async def items(self, _count: int) -> list[str]:
        """The current ones."""
        return self._found

    def keep(self, left: list[str]) -> None:
        """Remember what a round left."""
        self._found = left


@asynccontextmanager
async def peers(folder: Path, dsn: str, work: Path, processes: int) -> AsyncIterator[list[Party]]:
    """All that are installed, running."""
    python = folder / "venv" / "bin" / "python"
    async with AsyncExitStack() as last:
        found: list[Party] = []
        for name, start, is_installed in (
            ("oidc-provider", oidc_provider, (folder / "node_modules" / "oidc-provider").is_dir()),
            ("django-oauth-toolkit", oauth_toolkit, _has(python, "oauth2_provider")),
            ("FastAPI + SQLAlchemy", shop, _has(python, "fastapi") and _has(python, "sqlalchemy")),
        ):
            if is_installed:
                talk(f"starting {name}")
                database = await _database(dsn, f"peer_{start.__name__}")
                found += await last.enter_async_context(start(folder, database, work, processes))
            else:
                talk(f"{name} is not installed in {folder}")
        yield found


@asynccontextmanager
async def oidc_provider(folder: Path, dsn: str, work: Path, processes: int) -> AsyncIterator[list[Party]]:
    """oidc-provider: userinfo and introspection beside the account; refresh and code exchange."""
    program, file = work / "oidc.mjs", work / "oidc.json"
    shutil.copy(PROGRAMS / "oidc.mjs", program)
    (work / "node_modules").symlink_to((folder / "node_modules").resolve())
    parts = urlsplit(dsn)
    environment = {
        "PGHOST": parse_qs(parts.query)["host"][0], "PGUSER": parts.username or "", "PGDATABASE": parts.path[1:],
        "VERIFIER": VERIFIER, "NODE_ENV": "production",
    }  # fmt: skip
    _run(["node", str(program), "create", str(GRANTS), str(file)], environment)
    made = json.loads(file.read_text())

    async def codes(count: int) -> list[str]:
        _run(["node", str(program), "codes", str(count), str(file)], environment)
        return json.loads(Path(f"{file}.codes").read_text())

    access, refresh = Tokens(made["access"]), Tokens(made["refresh"])
    code = f"grant_type=authorization_code&{OIDC_CREDENTIALS}&redirect_uri={CALLBACK}&code_verifier={VERIFIER}&code="
    length = len(made["access"][0])
    words = ["node", str(program), "serve", "{port}", str(processes)]
    with servers.started(words, environment, path="/.well-known/openid-configuration") as server:
        bearer = Wire(f"GET /me HTTP/1.1\r\n{KEEP_ALIVE}Authorization: Bearer ", "\r\n\r\n")
        yield [
            party("oidc-provider", server, dsn, {
                "account by token": (bearer, access.items),
                "refresh": (form_to("/token", _refresh(OIDC_CREDENTIALS), length), refresh.items),
                "code exchange": (form_to("/token", code, length), codes),
            }, {"refresh": refresh.keep}),
            party("oidc-provider, introspection", server, dsn, {
                "account by token": (form_to("/token/introspection", f"{OIDC_CREDENTIALS}&token=", length), access.items),
            }),
        ]  # fmt: skip


@asynccontextmanager
async def oauth_toolkit(folder: Path, dsn: str, work: Path, processes: int) -> AsyncIterator[list[Party]]:
    """django-oauth-toolkit on gunicorn: a view that a token protects, and refresh."""
    python, file = folder / "venv" / "bin" / "python", work / "oauth_toolkit.json"
    environment = {"DATABASE_URL": dsn, "PYTHONPATH": str(PROGRAMS)}
    _run([str(python), str(PROGRAMS / "oauth_toolkit.py"), str(GRANTS), str(file)], environment)
    made = json.loads(file.read_text())
    access, refresh = Tokens(made["access"]), Tokens(made["refresh"])
    words = [
        str(python), "-m", "gunicorn", "oauth_toolkit:application", "--bind=127.0.0.1:{port}", f"--workers={processes}",
        "--worker-class=gthread", "--threads=16", "--keep-alive=60",
    ]  # fmt: skip
    with servers.started(words, environment, path="/account") as server:
        bearer = Wire(f"GET /account HTTP/1.1\r\n{KEEP_ALIVE}Authorization: Bearer ", "\r\n\r\n")
        yield [
            party("django-oauth-toolkit", server, dsn, {
                "account by token": (bearer, access.items),
                "refresh": (form_to("/o/token/", _refresh(CREDENTIALS), len(made["refresh"][0])), refresh.items),
            }, {"refresh": refresh.keep}),
        ]  # fmt: skip


@asynccontextmanager
async def shop(folder: Path, dsn: str, _work: Path, processes: int) -> AsyncIterator[list[Party]]:
    """FastAPI and SQLAlchemy: the same requests as ours."""
    python = folder / "venv" / "bin" / "python"
    environment = {"DATABASE_URL": dsn.replace("postgresql://", "postgresql+asyncpg://"), "PYTHONPATH": str(PROGRAMS)}
    _run([str(python), str(PROGRAMS / "shop.py")], environment)
    connection = await asyncpg.connect(dsn)
    stock = Stock(connection)
    await stock.open()
    words = [
        str(python), "-m", "uvicorn", "shop:app", "--port={port}", f"--workers={processes}", "--no-access-log",
        "--log-level=warning",
    ]  # fmt: skip
    read = f"GET {ACCOUNT} HTTP/1.1\r\n{KEEP_ALIVE}"
    with servers.started(words, environment, path="/docs") as server:
        yield [
            party("FastAPI + SQLAlchemy", server, dsn, {
                "account by token": (Wire(f"{read}Authorization: Bearer ", "\r\n\r\n"), stock.access.items),
                "account by API key": (Wire(f"{read}X-API-Key: ", "\r\n\r\n"), stock.keys.items),
                "payment link": (None, stock.links),
                "capture, spread": (None, stock.payments),
                "capture, one merchant": (None, stock.hot_payments),
            }),
        ]  # fmt: skip
    await connection.close()


class Stock:
    """The data of the shop: merchants with a key, a token and accounts; payments that wait."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection
        self._keys = [tokens.mint("th_test") for _ in range(MERCHANTS)]
        self._next = 0
        self.keys = Tokens(self._keys)
        self.access = Tokens([tokens.mint("that") for _ in range(MERCHANTS)])

    async def open(self) -> None:
        """Create the merchants."""
        ids = [numbered(1, number) for number in range(MERCHANTS)]
        access = await self.access.items(0)
        for sql, *values in (
            ("INSERT INTO merchants SELECT id, 'Merchant' FROM unnest($1::uuid[]) id", ids),
            (
                (
                    "INSERT INTO api_keys (id, merchant_id, key_hash, scopes) SELECT id, id, hash, '{account:read}' "
                    "FROM unnest($1::uuid[], $2::bytea[]) AS k (id, hash)"
                ),
                ids,
                [digest(key) for key in self._keys],
            ),
            (
                (
                    "INSERT INTO access_tokens (token_hash, merchant_id, client_id, scopes, expires_at) "
                    "SELECT hash, id, 'client', '{account:read}', now() + interval '1 hour' "
                    "FROM unnest($1::uuid[], $2::bytea[]) AS k (id, hash)"
                ),
                ids,
                [digest(token) for token in access],
            ),
            (
                (
                    "INSERT INTO accounts (merchant_id, code, currency, balance_minor) SELECT id, code, 'EUR', 0 "
                    "FROM unnest($1::uuid[]) id, unnest(ARRAY['rail', 'available']) code"
                ),
                ids,
            ),
        ):
            await self._connection.execute(sql, *values)

    async def links(self, count: int) -> list[str]:
        """API keys, each with an Idempotency-Key."""
        return [f"{self._keys[n % MERCHANTS]}\r\nIdempotency-Key: order-{n:012d}" for n in self._numbers(count)]

    async def payments(self, count: int) -> list[str]:
        """Payments that wait, of all merchants in turn."""
        return await self._payments(count, MERCHANTS)

    async def hot_payments(self, count: int) -> list[str]:
        """Payments that wait, of one merchant."""
        return await self._payments(count, 1)

    async def _payments(self, count: int, merchants: int) -> list[str]:
        numbers = self._numbers(count)
        ids = [numbered(PAYMENT, n) for n in numbers]
        owners = [numbered(1, n % merchants) for n in numbers]
        await self._connection.execute(
            """
            WITH link AS (
                INSERT INTO payment_links (id, merchant_id, token, status, display_name, amount_minor, currency,
                    payments_count, amount_paid_minor, created_at, expires_at)
                SELECT id, owner, id::text, 'active', 'Coffee', 1050, 'EUR', 0, 0, now(), now() + interval '1 day'
                FROM unnest($1::uuid[], $2::uuid[]) AS p (id, owner)
            )
            INSERT INTO payments (id, payment_link_id, merchant_id, status, amount_minor, currency, created_at)
            SELECT id, id, owner, 'pending', 1050, 'EUR', now() FROM unnest($1::uuid[], $2::uuid[]) AS p (id, owner)
            """,
            ids,
            owners,
        )
        keys = (self._keys[n % merchants] for n in numbers)
        return [f"{id_}/simulate HTTP/1.1\r\nX-API-Key: {key}" for id_, key in zip(ids, keys, strict=True)]

    def _numbers(self, count: int) -> range:
        begin = self._next
        self._next += count
        return range(begin, begin + count)


def party(
    name: str,
    server: servers.Server,
    dsn: str,
    operations: Mapping[str, tuple[Wire | None, Items]],
    keep: Mapping[str, Callable[[list[str]], None]] | None = None,
) -> Party:
    """A party that has these operations: without a wire, requests are those of ours."""
    return Party(
        name,
        server,
        {operation: wire for operation, (wire, _) in operations.items() if wire is not None},
        {operation: items for operation, (_, items) in operations.items()},
        frozenset(operations),
        keep or {},
        dsn,
    )


def _refresh(credentials: str) -> str:
    return f"grant_type=refresh_token&{credentials}&refresh_token="


async def _database(dsn: str, name: str) -> str:
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return dsn.replace("@/tollhouse?", f"@/{name}?")


def _has(python: Path, module: str) -> bool:
    """Whether a Python environment has this module."""
    if not python.exists():
        return False
    return not subprocess.run([python, "-c", f"import {module}"], check=False, capture_output=True).returncode  # noqa: S603


def _run(words: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=os.environ | environment)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stderr}")
