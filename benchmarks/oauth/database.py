"""The other floor: pgbench, running the same SQL with nothing in front of it.

It cannot read an answer, so it makes its own tokens: the SHA-256 of a word and the numbers of a grant, a turn, a code.
"""

import asyncio
import re
import subprocess
from pathlib import Path

import asyncpg

from benchmarks.oauth.actions import CONNECTIONS, Action
from benchmarks.oauth.results import Round, round_of
from benchmarks.oauth.seed import CALLBACK, CLIENT, GRANTS, VERIFIER
from tollhouse.identity.store import BEARER
from tollhouse.kernel.scopes import ALL
from tollhouse.oauth.clients_store import FIND_CREDENTIALS
from tollhouse.oauth.store import EXCHANGE, EXCHANGE_LOCK_SHARED, REFRESH
from tollhouse.platform.embedded import Cluster

PARAMETER = re.compile(r"\$(\d+)")
RATE = re.compile(r"tps = ([\d.]+)")
LATENCY_COLUMN = 2
LOGGED_SHARE = 0.2

SEED = (
    "DELETE FROM oauth_access_tokens WHERE grant_id < '00000000-0000-0001-0000-000000000000'",
    "DELETE FROM oauth_grants WHERE id < '00000000-0000-0001-0000-000000000000'",
    "DELETE FROM oauth_codes WHERE used_at IS NULL",
    "CREATE TEMPORARY TABLE IF NOT EXISTS place AS SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM merchants",
    f"""
    INSERT INTO oauth_grants
        (id, client_id, merchant_id, mode, scope_mask, grant_epoch, refresh_hash, mac_key_id, created_at, expires_at)
    SELECT lpad(n::text, 32, '0')::uuid, '{CLIENT}', id, 'live', {ALL.mask}, 1, sha256(('refresh ' || n || ' 0')::bytea),
           'bench', now(), now() + interval '30 days'
    FROM place
    """,  # noqa: S608 - our own constants
    f"""
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at)
    SELECT sha256(('access ' || n)::bytea), lpad(n::text, 32, '0')::uuid, {ALL.mask}, now() + interval '15 minutes'
    FROM place
    """,  # noqa: S608 - our own constants
    """
    INSERT INTO oauth_grant_activity (grant_id, last_used_at) SELECT lpad(n::text, 32, '0')::uuid, now() FROM place
    ON CONFLICT DO NOTHING
    """,
)
CODES = f"""
    INSERT INTO oauth_codes
        (code_hash, client_id, auth_epoch, merchant_id, mode, redirect_uri, challenge, scope_mask, created_at, expires_at)
    SELECT sha256(('code ' || n + {GRANTS} * turn || ' ' || $1)::bytea), '{CLIENT}', 1, id, 'live', '{CALLBACK}',
           sha256('{VERIFIER}'), {ALL.mask}, now(), now() + interval '15 minutes'
    FROM place, generate_series(0, $2) turn
"""  # noqa: S608 - our own constants


def _with(sql: str, *values: str) -> str:
    """The statement with these expressions in the place of its parameters."""
    return PARAMETER.sub(lambda match: values[int(match[1]) - 1], sql).strip().rstrip(";") + ";"


ANY_TOKEN = "sha256(uuid_send(gen_random_uuid()))"  # noqa: S105 - an expression
GRANT = "lpad(:grant::text, 32, '0')::uuid"
OPEN = ["BEGIN;", _with(EXCHANGE_LOCK_SHARED, f"'{CLIENT}'")]
SELECT_CLIENT = _with(FIND_CREDENTIALS, f"'{CLIENT}'")
SCRIPTS: dict[Action, list[str]] = {
    "account": [
        rf"\set grant random(0, {GRANTS - 1})",
        _with(BEARER, "sha256(('access ' || :grant::text)::bytea)", "now()", "interval '16 minutes'"),
    ],
    "refresh": [
        rf"\set grant :client_id + {CONNECTIONS} * (:i % {GRANTS // CONNECTIONS})",
        rf"\set turn :i / {GRANTS // CONNECTIONS}",
        r"\set next :turn + 1",
        r"\set i :i + 1",
        SELECT_CLIENT,
        *OPEN,
        _with(
            REFRESH, GRANT, f"'{CLIENT}'", ":turn::int", "sha256(('refresh ' || :grant::text || ' ' || :turn::text)::bytea)",
            "now()", "NULL::int", "sha256(('refresh ' || :grant::text || ' ' || :next::text)::bytea)", ANY_TOKEN,
            "now() + interval '15 minutes'",
        ),
        "COMMIT;",
    ],
    "exchange": [
        rf"\set n :client_id + {CONNECTIONS} * :i",
        r"\set i :i + 1",
        SELECT_CLIENT,
        *OPEN,
        _with(
            EXCHANGE, f"'{CLIENT}'", "sha256(('code ' || :n::text || ' ' || :series::text)::bytea)", f"'{CALLBACK}'",
            f"sha256('{VERIFIER}')", "now()", "uuidv7()", "now() + interval '30 days'", ANY_TOKEN, ANY_TOKEN,
            "now() + interval '15 minutes'", "'bench'::text",
        ),
        "COMMIT;",
    ],
}  # fmt: skip


class Pgbench:
    """Measures by pgbench, on grants and codes of its own."""

    def __init__(self, cluster: Cluster, connection: "asyncpg.Connection[asyncpg.Record]", folder: Path) -> None:
        self._program = cluster.binaries / "bin" / "pgbench"
        self._sockets = cluster.sockets
        self._connection = connection
        self._folder = folder
        self._series = 0

    async def round(self, action: Action, seconds: float, codes: int) -> Round:
        """One round. An exchange ends when the codes do."""
        self._series += 1
        for statement in SEED:
            await self._connection.execute(statement)
        if action == "exchange":
            await self._connection.execute(CODES, str(self._series), codes // GRANTS)
        script = self._folder / f"{action}.sql"
        script.write_text("\n".join(SCRIPTS[action]) + "\n")
        log = self._folder / f"pgbench-{self._series}"
        bound = f"--transactions={codes // CONNECTIONS}" if action == "exchange" else f"--time={max(1, round(seconds))}"
        done = await asyncio.to_thread(
            subprocess.run,
            [
                self._program, "--no-vacuum", "--protocol=prepared", f"--client={CONNECTIONS}", "--jobs=1", bound,
                f"--host={self._sockets}", "--username=tollhouse", f"--file={script}", "-Di=0", f"-Dseries={self._series}",
                "--log", f"--log-prefix={log}", f"--sampling-rate={LOGGED_SHARE}", "tollhouse",
            ],
            capture_output=True,
            text=True,
            check=True,
            cwd=self._folder,
        )  # fmt: skip
        if " 0 (0.000%)" not in done.stdout:
            raise RuntimeError(done.stdout)
        lines = [line for file in self._folder.glob(f"{log.name}.*") for line in file.read_text().splitlines()]
        latencies_us = sorted(int(line.split()[LATENCY_COLUMN]) for line in lines)
        rate = RATE.findall(done.stdout)[-1]
        return round_of(float(rate), latencies_us)
