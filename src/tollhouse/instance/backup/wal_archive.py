"""The WAL archive of the embedded database: base backups and the WAL since, from which any point in time is recovered.

A cluster that is unpacked from it replays WAL until a point in time, then takes writes.

archive-id       the data folder that this archive belongs to, by the same file in it
wal/             segments, written by pg_receivewal; the last one ends in `.partial`
wal-until-TIME/  segments before a gap
base/TIME/       base.tar.gz, pg_wal.tar.gz and backup_manifest of pg_basebackup, and the manifest of a backup
"""

import fcntl
import os
import re
import secrets
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tollhouse.instance.backup.archive import MANIFEST, BackupError, Manifest, run
from tollhouse.instance.database import embedded
from tollhouse.instance.database.cluster import CUSTOM_FILE, MAJOR, Cluster
from tollhouse.instance.database.data_folder import ARCHIVE_ID, EmbeddedError
from tollhouse.kernel import clock
from tollhouse.platform import private_files

WAL, BASES, PARTIAL = "wal", "base", ".partial"
BASE, BASE_WAL, PG_MANIFEST = "base.tar.gz", "pg_wal.tar.gz", "backup_manifest"
SEGMENT_BYTES = 16 * 1024 * 1024
SEGMENT = re.compile(r"[0-9A-F]{24}")
HISTORY = re.compile(r"[0-9A-F]{8}\.history")
POSITION = slice(8, 24)
"""Of the name of a segment, after its timeline."""
NAME_FORMAT = "%Y%m%dT%H%M%SZ"
NAMED_TIME = re.compile(r"[0-9]{8}T[0-9]{6}Z")
RECOVERS_WITHIN_S = 7 * 86_400
LAST_TRANSACTION = re.compile(r"last completed transaction was at log time ([^\n]+)")
TOO_LATE = "recovery ended before configured recovery target was reached"
FATAL = re.compile(r"FATAL:\s+([^\n]+)")


class BaseBackup(Struct, frozen=True):
    """A base backup. Recovery from it needs the WAL from `first_segment` on. It was complete at the manifest's time."""

    folder: Path
    manifest: Manifest
    first_segment: str


class _WalRange(Struct, frozen=True):
    timeline: Annotated[int, Meta(ge=1)] = msgspec.field(name="Timeline")
    start: str = msgspec.field(name="Start-LSN")


class _PostgresManifest(Struct, frozen=True):
    """What is read from pg_basebackup's manifest."""

    ranges: Annotated[tuple[_WalRange, ...], Meta(min_length=1)] = msgspec.field(name="WAL-Ranges")


def claim(archive: Path, data_dir: Path) -> None:
    """Record that this archive belongs to this data folder. Raises `EmbeddedError` if it belongs to another one.

    A restored database has WAL of its own from the restore on, which must not mix with that of the lost one.
    """
    ours, theirs = _read_id(data_dir), _read_id(archive)
    if theirs is not None and theirs != ours:
        raise EmbeddedError(
            f"The WAL archive {archive} belongs to another data folder than {data_dir}. Set TOLLHOUSE_WAL_ARCHIVE to a new "
            "folder. After a restore, keep the old archive until you no longer need its points in time."
        )
    if ours is None:
        ours = secrets.token_hex(16)
        data_dir.mkdir(parents=True, exist_ok=True)
        private_files.replace(data_dir / ARCHIVE_ID, f"{ours}\n".encode())
    (archive / WAL).mkdir(mode=0o700, parents=True, exist_ok=True)
    (archive / BASES).mkdir(mode=0o700, exist_ok=True)
    if theirs is None:
        private_files.replace(archive / ARCHIVE_ID, f"{ours}\n".encode())


def was_claimed(data_dir: Path) -> bool:
    """Whether this data folder ever had an archive."""
    return (data_dir / ARCHIVE_ID).exists()


def set_aside(archive: Path) -> None:
    """Begin a new folder of segments after a gap: the next segment does not follow the last one."""
    if any((archive / WAL).iterdir()):
        (archive / WAL).rename(archive / f"{WAL}-until-{clock.now():{NAME_FORMAT}}-{secrets.token_hex(2)}")
        (archive / WAL).mkdir(mode=0o700)


def write_base(cluster: Cluster, archive: Path, manifest: Manifest, keep: int) -> Path:
    """Write and verify a base backup of the running database, then delete all but the last `keep` and WAL older than these.

    Raises `BackupError`.
    """
    with _sole_writer(archive):
        for unfinished in (archive / BASES).glob(f"*{PARTIAL}"):
            shutil.rmtree(unfinished)
        aside = archive / BASES / f"new{PARTIAL}"
        options = ["--format=tar", "--compress=client-gzip:1", "--wal-method=stream", "--checkpoint=fast", "--no-password"]
        run(cluster.binaries / "bin" / "pg_basebackup", f"--dbname={cluster.dsn}", f"--pgdata={aside}", *options)
        _verify(cluster, aside)
        moment = clock.now()  # when it is complete: no earlier time can be recovered from it
        manifest = msgspec.structs.replace(manifest, created_at=clock.stamp(moment))
        private_files.replace(aside / MANIFEST, msgspec.json.encode(manifest))
        folder = archive / BASES / f"{moment:{NAME_FORMAT}}"
        aside.rename(folder)
        prune(archive, keep)
    return folder


def bases(archive: Path) -> list[BaseBackup]:
    """The complete base backups, oldest first. Raises `BackupError` if one cannot be read."""
    folders = [folder for folder in (archive / BASES).glob("*Z") if folder.is_dir()]
    found: list[BaseBackup] = []
    for folder in folders:
        try:
            manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
            ranges = msgspec.json.decode((folder / PG_MANIFEST).read_bytes(), type=_PostgresManifest).ranges
            found.append(BaseBackup(folder, manifest, segment_name(ranges[0].timeline, ranges[0].start)))
        except (OSError, ValueError) as error:
            raise BackupError(f"{folder} is not a complete base backup: {error}") from None
    return sorted(found, key=lambda base: base.manifest.created_at)


def newest_base_at(archive: Path) -> datetime | None:
    """When the newest base backup was complete, by the name of its folder."""
    return _newest(archive / BASES, "*Z")


def newest_gap_at(archive: Path) -> datetime | None:
    """When WAL was last missing, if segments before it are kept."""
    return _newest(archive, f"{WAL}-until-*")


def base_before(archive: Path, until: datetime | None) -> BaseBackup:
    """The last base backup that was complete at this time, or the last one. Raises `BackupError` if there is none."""
    found = bases(archive)
    if not found:
        raise BackupError(f"{archive} has no base backup. `tollhouse backup base` writes them.")
    if until is None:
        return found[-1]
    earlier = [base for base in found if base.manifest.created_at <= clock.stamp(until)]
    if not earlier:
        raise BackupError(f"The oldest base backup in {archive} is of {found[0].manifest.created_at}. Choose a later time.")
    return earlier[-1]


def prune(archive: Path, keep: int) -> None:
    """Delete all but the last `keep` base backups, and the WAL that none of these needs."""
    found = bases(archive)
    for old in found[:-keep]:
        aside = old.folder.with_name(f"{old.folder.name}{PARTIAL}")
        old.folder.rename(aside)
        shutil.rmtree(aside)
    for file in archive.glob(f"{WAL}*/*"):
        if SEGMENT.match(file.name) and _position(file.name) < _position(found[-keep:][0].first_segment):
            file.unlink()
    for folder in archive.glob(f"{WAL}-until-*"):
        if not any(folder.iterdir()):
            folder.rmdir()


def unpack(base: BaseBackup, archive: Path, cluster: Cluster) -> None:
    """Make the data folder of a new cluster from a base backup and the WAL since. Raises `BackupError`.

    The cluster recovers when it starts.
    """
    _verify(cluster, base.folder)
    data = cluster.data
    data.mkdir(mode=0o700)
    for name, folder in ((BASE, data), (BASE_WAL, data / "pg_wal")):
        try:
            with tarfile.open(base.folder / name) as tar:
                _extract(tar, folder)
        except (OSError, tarfile.TarError) as error:
            raise BackupError(f"{base.folder / name} cannot be unpacked: {error}") from None
    major = (data / "PG_VERSION").read_text().strip()
    if major != str(MAJOR):
        raise BackupError(
            f"{base.folder} is of PostgreSQL {major}, not {MAJOR}. Use the version of Tollhouse that wrote it."
        )
    for file, name in _segments_since(archive, base.first_segment):
        shutil.copyfile(file, data / "pg_wal" / name)
        (data / "pg_wal" / name).chmod(0o600)
    (data / "recovery.signal").touch(mode=0o600)
    if cluster.account is not None:
        for path in (data, *data.rglob("*")):
            os.chown(path, cluster.account.pw_uid, cluster.account.pw_gid, follow_symlinks=False)


def segment_name(timeline: int, lsn: str) -> str:
    """The name of the segment with this position, such as `0/2000028`."""
    high, low = (int(part, 16) for part in lsn.split("/"))
    return f"{timeline:08X}{high:08X}{low // SEGMENT_BYTES:08X}"


def _segments_since(archive: Path, first: str) -> Iterator[tuple[Path, str]]:
    """The segments from the first one on, each with its name on the server: complete ones before the partial one."""
    complete: set[str] = set()
    for file in archive.glob(f"{WAL}*/*"):
        if HISTORY.fullmatch(file.name):
            yield file, file.name
        elif SEGMENT.fullmatch(file.name) and _position(file.name) >= _position(first):
            complete.add(file.name)
            yield file, file.name
    for file in archive.glob(f"{WAL}*/*{PARTIAL}"):
        name = file.name.removesuffix(PARTIAL)
        if SEGMENT.fullmatch(name) and _position(name) >= _position(first) and name not in complete:
            yield file, name


def _position(segment: str) -> str:
    """The place of a segment among all, whatever its timeline."""
    return segment[POSITION]


def _newest(folder: Path, pattern: str) -> datetime | None:
    """The newest time in the names of these folders."""
    times = sorted(found[0] for path in folder.glob(pattern) if (found := NAMED_TIME.search(path.name)))
    return datetime.strptime(times[-1], NAME_FORMAT).replace(tzinfo=UTC) if times else None


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Files and folders that stay in the folder, with the modes of PostgreSQL. Filters of `tarfile` need Python 3.11.4."""
    for member in tar:
        target = Path(os.path.normpath(folder / member.name))
        if not target.is_relative_to(folder) or not (member.isdir() or member.isfile()):
            raise BackupError(f"{member.name} is not a file of a data folder.")
        if member.isdir():
            target.mkdir(mode=0o700, exist_ok=True)
        elif (content := tar.extractfile(member)) is not None:
            with target.open("xb") as file:
                shutil.copyfileobj(content, file)
            target.chmod(0o600)


def _verify(cluster: Cluster, folder: Path) -> None:
    """Compare each file with pg_basebackup's manifest. The WAL in it is not parsed, as it is a tar file."""
    run(cluster.binaries / "bin" / "pg_verifybackup", "--no-parse-wal", "--quiet", f"--ignore={MANIFEST}", str(folder))


@contextmanager
def _sole_writer(archive: Path) -> Iterator[None]:
    with (archive / BASES / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"Another base backup is being written to {archive}.") from None
        yield


def _read_id(folder: Path) -> str | None:
    file = folder / ARCHIVE_ID
    return file.read_text().strip() if file.exists() else None


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
