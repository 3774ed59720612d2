"""Starts a cluster that was unpacked from the WAL archive: it replays WAL until a point in time, then takes writes."""

import re
from datetime import datetime
from pathlib import Path

from tollhouse.instance.backup.archive import BackupError
from tollhouse.instance.database import embedded
from tollhouse.instance.database.configuration import CUSTOM_FILE
from tollhouse.instance.database.data_folder import EmbeddedError

RECOVERS_WITHIN_S = 7 * 86_400
LAST_TRANSACTION = re.compile(r"last completed transaction was at log time ([^\n]+)")
TOO_LATE = "recovery ended before configured recovery target was reached"
FATAL = re.compile(r"FATAL:\s+([^\n]+)")


def recover(data_dir: Path, until: datetime | None) -> embedded.Server:
    """The running server after recovery until this time, or to the end of the WAL. Raises `BackupError`."""
    cluster = embedded.locate(data_dir)
    file = cluster.folder / CUSTOM_FILE
    file.write_text(_configuration(until))
    file.chmod(0o644)
    try:
        return embedded.start(data_dir, RECOVERS_WITHIN_S)
    except EmbeddedError as error:
        raise BackupError(reason(cluster.folder / "postgres.log", str(error))) from None
    finally:
        file.unlink()


def _configuration(until: datetime | None) -> str:
    """All WAL is in pg_wal. Nobody reads during recovery, so limits may be lower than those of the lost server."""
    lines = ["restore_command = 'false'", "hot_standby = off", "recovery_target_timeline = 'current'"]
    if until is not None:
        lines += [f"recovery_target_time = '{until.isoformat(sep=' ')}'", "recovery_target_action = 'promote'"]
    return "\n".join(lines) + "\n"


def reason(log: Path, error: str) -> str:
    """Why the recovery failed, by the log of the server; the error itself if that does not say."""
    text = log.read_text(errors="replace") if log.exists() else ""
    if TOO_LATE in text:
        last = LAST_TRANSACTION.search(text)
        ends = f"at {last[1]}" if last else "at the base backup"
        return f"The WAL in the archive ends {ends}. Choose an earlier time, or leave out --to-time to recover all of it."
    fatal = FATAL.findall(text)
    return f"The database could not be recovered: {fatal[-1]}" if fatal else error
