"""The data folder: its files, whether it was used before, and access for the account of the database.

postgres/     the embedded database
secret-keys   the key ring
state         `used` and the identifier of its cluster once a database exists: no other one is created or used silently
address       the base URL of the service that was started last, for commands
lock          held by the one supervisor
archive-id    the same as in the WAL archive of this folder, if it has one
workers/      sockets at which workers are woken
"""

import os
import pwd
import stat
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tollhouse.platform import private_files
from tollhouse.platform.failure import Failure
from tollhouse.platform.log.events import log
from tollhouse.platform.settings import config

KEYS, STATE, DATABASE, ARCHIVE_ID, ADDRESS = "secret-keys", "state", "postgres", "archive-id", "address"
NEW, USED = "new", "used"
BASE_URL = "TOLLHOUSE_BASE_URL"
ACL = "system.posix_acl_access"
ACL_VERSION, ACL_ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
NO_ID = 0xFFFFFFFF
SEARCH = 1


class EmbeddedError(Failure):
    """The embedded database is not available; the text says why and what to do."""


def begin(data_dir: Path) -> None:
    """Mark an unused folder as about to be used: keys and database are created in it one after the other."""
    data_dir.mkdir(parents=True, exist_ok=True)
    if not (data_dir / STATE).exists() and not (data_dir / KEYS).exists():
        (data_dir / STATE).write_text(f"{NEW}\n")


def record_address(data_dir: Path, base_url: str) -> None:
    """Record the base URL of a service that starts, as far as the folder can be written."""
    with suppress(OSError):
        data_dir.mkdir(parents=True, exist_ok=True)
        private_files.replace(data_dir / ADDRESS, f"{base_url}\n".encode())


def recorded_address(data_dir: Path) -> str | None:
    """The base URL of the service that was started last; None if it is unknown."""
    with suppress(OSError, UnicodeDecodeError):
        return (data_dir / ADDRESS).read_text().strip() or None
    return None


def load_for_command(environ: Mapping[str, str] | None = None) -> config.Settings:
    """The settings of a command beside the service. Without a base URL, it is that of the service that was started last.

    `serve --port` makes one of its own. Raises `InvalidSettingsError`.
    """
    environ = os.environ if environ is None else environ
    settings = config.load(environ)
    if environ.get(BASE_URL, "").strip():
        return settings
    address = recorded_address(settings.data_dir)
    return settings if address is None else config.load({**environ, BASE_URL: address})


def allow_new_database(data_dir: Path) -> None:
    """Raises `EmbeddedError` if the database that the folder had is missing: a new, empty one would be mistaken for it."""
    begin(data_dir)
    if _state(data_dir)[:1] != [NEW]:
        raise EmbeddedError(
            f"{data_dir} was used before, but its database is missing. Restore it from a backup into another folder with "
            f"`tollhouse restore`. To start with an empty database instead, move {data_dir} to another place."
        )


def mark_used(data_dir: Path, cluster: str) -> None:
    """Record that the database with this system identifier exists. Raises `EmbeddedError` if the folder had another one."""
    words = _state(data_dir)
    if words[:1] == [USED] and len(words) > 1 and cluster not in words[1:]:
        raise EmbeddedError(
            f"The database in {data_dir / DATABASE} is not the one of this data folder: its system identifier is {cluster}, "
            f"not {words[1]}. Put the right one back, or restore a backup into another folder with `tollhouse restore`. If "
            f"you replaced it on purpose, write `{USED} {cluster}` into {data_dir / STATE}."
        )
    if words != [USED, cluster]:
        _write_state(data_dir, USED, cluster)


def has_used(data_dir: Path, cluster: str) -> bool:
    """Whether the database with this system identifier is that of the folder, or may be: earlier versions recorded none."""
    words = _state(data_dir)
    return len(words) < 2 or cluster in words[1:]  # noqa: PLR2004 - `used` and an identifier


def expect(data_dir: Path, old: str, new: str) -> None:
    """Record that another database is about to replace that of the folder: until one of them is used, both are right."""
    _write_state(data_dir, USED, old, new)


def has_database(data_dir: Path) -> bool:
    """Whether a database was ever created in it."""
    return _state(data_dir)[:1] == [USED] or any((data_dir / DATABASE).glob("data-*/PG_VERSION"))


def _write_state(data_dir: Path, *words: str) -> None:
    aside = data_dir / f"{STATE}.new"
    aside.write_text(f"{' '.join(words)}\n")
    aside.replace(data_dir / STATE)


def _state(data_dir: Path) -> list[str]:
    """The words of the state file; empty without one."""
    state = data_dir / STATE
    return state.read_text().split() if state.exists() else []


def database_folder(data_dir: Path, account: pwd.struct_passwd) -> Path:
    """The folder of the database, owned by the account, below folders that it can traverse. Only for root."""
    folder = data_dir / DATABASE
    if folder.is_symlink():
        return _linked(folder)
    _open_way(data_dir, account)
    if not folder.exists():
        folder.mkdir(mode=0o700)
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def _linked(folder: Path) -> Path:
    """Earlier versions placed the database elsewhere if only root can enter the data folder, and left a link."""
    target = folder.resolve()
    if not target.is_dir():
        raise EmbeddedError(
            f"{folder} is a link to {target}, which does not exist. This data folder, or the backup it comes from, has no "
            f"database. Copy {target} from the machine it was made on, or restore a backup with `tollhouse restore`."
        )
    log.warning(
        "database_outside_data_folder",
        folder=str(target),
        advice="a copy of the data folder does not include it; use `tollhouse backup`",
    )
    return target


def _open_way(data_dir: Path, account: pwd.struct_passwd) -> None:
    """Let only this account traverse the folders above the database, with an ACL entry like setfacl."""
    for path in (data_dir, *data_dir.parents):
        if path.stat().st_mode & stat.S_IXOTH:
            continue
        with suppress(OSError, AttributeError):
            _allow_search(path, account.pw_uid)
            continue
        raise EmbeddedError(
            f"as root, the database runs as {account.pw_name}, which cannot access {path}. Run `chmod o+x {path}`, or "
            "choose another folder in TOLLHOUSE_DATA_DIR, such as /var/lib/tollhouse."
        )


def _allow_search(path: Path, uid: int) -> None:
    """Add `user:uid:--x` to the folder's ACL. Raises `OSError` if the file system has no ACLs, AttributeError off Linux."""
    if sys.platform != "linux":
        raise AttributeError
    try:
        raw = os.getxattr(path, ACL)
        entries = [ACL_ENTRY.unpack_from(raw, at) for at in range(ACL_VERSION.size, len(raw), ACL_ENTRY.size)]
    except OSError:
        mode = path.stat().st_mode
        owner, group, other = mode >> 6 & 7, mode >> 3 & 7, mode & 7
        entries = [(USER_OBJ, owner, NO_ID), (GROUP_OBJ, group, NO_ID), (MASK, group, NO_ID), (OTHER, other, NO_ID)]
    if (USER, SEARCH, uid) in entries:
        return
    entries = [entry for entry in entries if entry[0] != USER or entry[2] != uid]
    entries = [(tag, bits | SEARCH if tag == MASK else bits, who) for tag, bits, who in entries]
    if all(tag != MASK for tag, _, _ in entries):
        entries.append((MASK, SEARCH, NO_ID))
    entries.append((USER, SEARCH, uid))
    entries.sort(key=lambda entry: (entry[0], entry[2]))
    raw = ACL_VERSION.pack(2) + b"".join(ACL_ENTRY.pack(*entry) for entry in entries)
    os.setxattr(path, ACL, raw)
