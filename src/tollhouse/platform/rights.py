"""The rights of root: a long-running process that has them gives them up to the account that owns its data."""

import os
import pwd
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from tollhouse.platform.log.events import log

ADVICE = "Start it as an account of its own, to which its files belong: see docs/deployment.md."


def give_up(*owned: Path) -> bool:
    """Become the owner of these files and folders for good, if root started this process. False if it stays root."""
    if os.geteuid() != 0:
        return True
    why = _why_not(owned)
    if not why:
        found = owned[0].stat()
        try:
            account = _become(found.st_uid, found.st_gid)
        except OSError as error:
            why = f"the system refuses to change the account ({error.strerror})"
        else:
            log.info("rights_given_up", detail=f"Started as root. Runs as {account} from now on.")
            return True
    log.warning("running_as_root", detail=f"Started as root, whose rights this process keeps: {why}. {ADVICE}")
    return False


def _why_not(owned: Sequence[Path]) -> str:
    """Why no account can take over; empty if one can: all of these, and what is in the folders, belong to it."""
    closed = closed_folder()
    if closed is not None:
        return f"{closed} is closed for other accounts, and the program is in it"
    owner = 0
    for place in owned:
        if not place.exists():
            return f"{place} does not exist yet"
        for found in (place, *(place.iterdir() if place.is_dir() else ())):
            uid = found.lstat().st_uid
            if uid == 0:
                return f"{found} belongs to root"
            if owner not in {0, uid}:
                return f"{found} belongs to another account than {owned[0]}"
            owner = uid
    return ""


def closed_folder(*needed: str) -> Path | None:
    """A folder that keeps other accounts from these files; by default from the interpreter, its library and this program."""
    for needed_file in needed or (sys.executable, os.__file__, __file__):
        for path in Path(needed_file).resolve().parents:
            if not path.stat().st_mode & stat.S_IXOTH:
                return path
    return None


def _become(uid: int, gid: int) -> str:
    """Take this account with its groups, without a way back. Returns its name. Raises `OSError`."""
    try:
        account = pwd.getpwuid(uid)
    except KeyError:  # a number without a name, as in containers
        os.setgroups([])
        name = f"the account {uid}"
    else:
        os.initgroups(account.pw_name, account.pw_gid)
        gid, name = account.pw_gid, account.pw_name
        os.environ["HOME"] = account.pw_dir
    os.setgid(gid)  # of root, these set the saved ones too
    os.setuid(uid)
    return name
