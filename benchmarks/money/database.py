"""The other floor: pgbench, saying the same to the database with nothing in front of it.

Every value of a trace becomes an expression: what is a request's own is spelt from its number.
"""

import re
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.money import seed
from benchmarks.money.trace import Fresh, FreshToken, Known, Moment, Said, Several, Trace
from benchmarks.oauth.results import Round, round_of
from tollhouse.main import WEB_POOL

PARAMETER = re.compile(r"\$(\d+)")
RATE = re.compile(r"tps = ([\d.]+)")
FAILED = re.compile(r"number of failed transactions: ([1-9]\d*)")
LATENCY_COLUMN = 2
FIRST_FRESH = 100
"""Ids that a trace makes anew are numbered from here on, by what they are of."""


class Pgbench:
    """Runs the traces, on as many connections as the servers have."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self._dsn, self._folder = dsn, folder

    def round(self, trace: Trace, merchants: int, numbers: range, seconds: float) -> Round:
        """Run for so long, over these numbers."""
        script = self._folder / "script.sql"
        script.write_text(script_of(trace, merchants))
        for old in self._folder.glob("latency*"):
            old.unlink()
        done = subprocess.run(  # noqa: S603 - our own script
            [  # noqa: S607 - wherever it is installed
                "pgbench", "--no-vacuum", "--protocol=prepared", f"--client={WEB_POOL}", "--jobs=1", f"--time={seconds:.0f}",
                f"--define=first={numbers.start}", "--define=i=0", "--log", f"--log-prefix={self._folder}/latency",
                f"--file={script}", self._dsn,
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        rate = RATE.search(done.stdout)
        if done.returncode or rate is None or FAILED.search(done.stdout):
            raise RuntimeError(f"pgbench: {done.stdout}\n{done.stderr}")
        lines = [line for file in self._folder.glob("latency*") for line in file.read_text().splitlines()]
        latencies = [int(line.split()[LATENCY_COLUMN]) for line in lines]
        return round_of(float(rate[1]), latencies)


def script_of(trace: Trace, merchants: int) -> str:
    """The trace as a script."""
    lines = [rf"\set n :first + :client_id + {WEB_POOL} * :i", r"\set i :i + 1", rf"\set m :n % {merchants}"]
    return "\n".join([*lines, *(_spoken(said) for said in trace.statements)]) + "\n"


def _spoken(said: Said) -> str:
    sql = "\n".join(line.partition("--")[0] for line in said.sql.splitlines())
    values = [f"CAST({_spelt(value)} AS {kind})" for value, kind in zip(said.values, said.types, strict=True)]
    spoken = PARAMETER.sub(lambda match: values[int(match[1]) - 1], sql)
    return " ".join(spoken.split()).rstrip(";") + ";"


def _spelt(value: Any) -> str:  # noqa: C901, PLR0911 - one line for each kind of value
    match value:
        case Known(name):
            return KNOWN[name]
        case Fresh(place):
            return _numbered(FIRST_FRESH + place, "n")
        case FreshToken():
            return "translate(lpad((:n)::bigint::text, 26, 'a'), '0189', 'wxyz')"
        case Moment(after):
            return f"now() + interval '{after.total_seconds()} s'"
        case Several(values):
            return f"ARRAY[{', '.join(_spelt(one) for one in values)}]"
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | float():
            return str(value)
        case bytes():
            return rf"'\x{value.hex()}'"
        case str():
            return rf"convert_from('\x{value.encode().hex()}', 'UTF8')"
        case UUID():
            return f"'{value}'"
        case _:
            return f"make_interval(secs => {value.total_seconds()})"


def _numbered(what: int, variable: str) -> str:
    return f"('{what:08x}-0000-7000-8000-' || lpad(to_hex((:{variable})::bigint), 12, '0'))::uuid"


KNOWN = {
    "api_key_hash": "sha256(('key ' || (:m)::bigint)::bytea)",
    "key_hash": "sha256(('order ' || (:n)::bigint)::bytea)",
    "merchant_id": _numbered(seed.MERCHANT, "m"),
    "link_id": _numbered(seed.LINK, "n"),
    "payment_id": _numbered(seed.PAYMENT, "n"),
    "payment_name": f"{_numbered(seed.PAYMENT, 'n')}::text",
}
