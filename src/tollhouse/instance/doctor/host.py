"""This machine: who can read and change files, and how much room is left."""

import os
import stat
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from tollhouse.instance.backup.wal_archive import newest_base_at
from tollhouse.instance.backup.wal_receiver import is_due
from tollhouse.instance.database import data_folder
from tollhouse.instance.doctor.model import Finding
from tollhouse.kernel import clock, limits
from tollhouse.platform.machine import GIB, Disk, disk_of
from tollhouse.platform.settings import env_files
from tollhouse.platform.settings.config import SETTINGS, Settings

OTHERS_READ, OTHERS_WRITE, NOT_THE_OWNER = stat.S_IROTH, stat.S_IWGRP | stat.S_IWOTH, stat.S_IRWXG | stat.S_IRWXO


def examine_files(settings: Settings, environ: Mapping[str, str], working_dir: Path) -> list[Finding]:
    """Permissions of the data folder, the key ring and files with settings. Raises `OSError`."""
    findings = [] if settings.database_url is not None else _data_folder(settings.data_dir)
    for file in {folder.absolute() / env_files.NAME for folder in (working_dir, settings.data_dir)}:
        if file.is_file() and file.stat().st_mode & OTHERS_READ and _has_secret(file):
            findings.append(
                Finding(
                    "files", "warning", f"{file} has secrets, and every account can read it.", f"Run `chmod 600 {file}`."
                )
            )
    for setting in SETTINGS:
        named = environ.get(setting.file_name or "", "").strip()
        if named and Path(named).stat().st_mode & stat.S_IWOTH:
            findings.append(
                Finding("files", "failure", f"Every account can change {named}, the value of {setting.name}.",
                        f"Run `chmod o-w {named}`.")
            )  # fmt: skip
    return findings or [Finding("files", "ok", "No other account can change the settings or read the key ring.")]


def examine_disk(settings: Settings) -> list[Finding]:
    """Room for the embedded database. A database on another machine is not seen from here. Raises `OSError`."""
    if settings.database_url is not None or not settings.data_dir.exists():
        return []
    found = disk_of(settings.data_dir)
    return [] if found is None else [disk(found)]


def examine_base_backups(settings: Settings) -> list[Finding]:
    """Whether the WAL archive has a base backup to recover from. Raises `OSError` and `ValueError`."""
    if settings.wal_archive is None:
        return []
    archive = settings.wal_archive.absolute()
    newest, now, advice = newest_base_at(archive), clock.now(), "Run `tollhouse backup base`."
    if newest is None:
        return [Finding("base_backup", "failure", f"{archive} has no base backup: nothing can be recovered.", advice)]
    days, at = settings.base_backup_days or limits.BASE_BACKUP_DAYS, f"{newest:%Y-%m-%d %H:%M} UTC"
    if is_due(archive, now, timedelta(days=days + 1)):
        message = f"The last base backup is of {at}. Recovery would take long, or end at a gap since then."
        return [Finding("base_backup", "warning", message, advice)]
    return [Finding("base_backup", "ok", f"The last base backup is of {at}.")]


def disk(found: Disk) -> Finding:
    """What so many free bytes mean."""
    message = f"{found.folder} has {found.free_bytes / GIB:.1f} of {found.total_bytes / GIB:.1f} GiB free."
    advice = "Free space or enlarge the disk: PostgreSQL stops when it is full."
    match found.state:
        case "full":
            return Finding("disk", "failure", message, advice)
        case "low":
            return Finding("disk", "warning", message, advice)
        case "ok":
            return Finding("disk", "ok", message)


def _data_folder(folder: Path) -> list[Finding]:
    if not folder.exists():
        message = f"The data folder {folder} does not exist yet."
        return [
            Finding("files", "warning", message, "Run `tollhouse serve`, which creates it, or correct TOLLHOUSE_DATA_DIR.")
        ]
    findings: list[Finding] = []
    found = folder.stat()
    if found.st_mode & OTHERS_WRITE:
        message = f"Other accounts can change what is in {folder}."
        findings.append(Finding("files", "failure", message, f"Run `chmod go-w {folder}`."))
    if found.st_uid != os.geteuid():
        message = f"{folder} belongs to another account than the one that runs this command."
        findings.append(Finding("files", "warning", message, "Run `tollhouse` as the account of the service."))
    keys = folder / data_folder.KEYS
    if keys.exists() and keys.stat().st_mode & NOT_THE_OWNER:
        message = f"Other accounts can read the key ring {keys}."
        findings.append(
            Finding("files", "failure", message, f"Run `chmod 600 {keys}`, and replace the keys (docs/keys.md).")
        )
    return findings


def _has_secret(file: Path) -> bool:
    values = env_files.parse(file.read_text(), str(file))
    return any(values.get(setting.name) for setting in SETTINGS if setting.secret)
