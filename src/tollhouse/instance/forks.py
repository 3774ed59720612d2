"""Parts of the service as forks of one process that has loaded the program: it is loaded once, and its memory is shared.

The process that the user starts is the fork server. It has one thread and no event loop, so that it can fork safely. It
forks the supervisor, then loads the program, then forks a part whenever the supervisor asks for one.

If the fork server is killed, the supervisor kills itself; if the supervisor ends, the fork server ends with its exit
status. So the user sees both as one process.
"""

import asyncio
import asyncio.subprocess
import gc
import importlib
import os
import select
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from tollhouse.platform.machine import set_process_title

MESSAGE_BYTES_MAX = 64 * 1024
STOPPING = (signal.SIGINT, signal.SIGTERM)
HANDLED = {*STOPPING, signal.SIGCHLD}
SIGNALED = 128
"""What shells add to a signal as exit status."""
PARTS, COMMAND_LINE = "tollhouse.instance.cli.parts", "tollhouse.instance.cli.main"
"""The module that imports all that parts need, and the one that runs them."""


class Start(Struct, tag=True):
    """Fork a part. Its standard input comes with the message; it closes when the supervisor ends."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]


class Signal(Struct, tag=True):
    """Send a signal to a part, unless it has ended."""

    pid: int
    number: int


class Started(Struct, tag=True):
    """The part asked for runs."""

    pid: int


class NotStarted(Struct, tag=True):
    """The part asked for could not be forked."""

    reason: str


class Ended(Struct, tag=True):
    """A part has ended. `exit_status` is negative for a signal."""

    pid: int
    exit_status: int


_ENCODER = msgspec.json.Encoder()
_REQUEST: "msgspec.json.Decoder[Start | Signal]" = msgspec.json.Decoder(Start | Signal)
_REPLY: "msgspec.json.Decoder[Started | NotStarted | Ended]" = msgspec.json.Decoder(Started | NotStarted | Ended)


class Process(Protocol):
    """A child process. `returncode` is None while it runs."""

    @property
    def returncode(self) -> int | None:
        """Its exit status; None while it runs."""
        ...

    async def wait(self) -> int | None:
        """Wait until it has ended."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM, unless it has ended."""
        ...

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
        ...


class Starter(Protocol):
    """Starts child processes: see `Forks` and `Spawns`."""

    async def start(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Process:
        """Run `tollhouse` with these arguments and variables, until its standard input closes. Raises `OSError`."""
        ...


def run_supervised(supervise: Callable[[Starter], Coroutine[Any, Any, int]], *descriptors: int) -> int:
    """Run a supervisor with its parts; the exit status. Parts inherit these descriptors, and their own arguments.

    On Linux the parts are forks of this process. Elsewhere system libraries do not allow that, and they are new processes.
    """
    if sys.platform != "linux":
        return asyncio.run(supervise(Spawns(*descriptors)))

    async def with_forks(control: socket.socket) -> int:
        return await supervise(Forks(control))

    return run(lambda control: asyncio.run(with_forks(control)), lambda: importlib.import_module(PARTS), _run_part)


def run(
    supervise: Callable[[socket.socket], int], load: Callable[[], object], run_part: Callable[[Sequence[str]], int]
) -> int:
    """Fork the supervisor, load the program, and fork parts until the supervisor ends.

    `supervise` gets the socket of `Forks`. Returns once in each process that was forked, with its exit status.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    gc.disable()  # a collection writes into the objects it visits, and would copy their memory
    gc.freeze()
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    supervisor = os.fork()
    if not supervisor:
        ours.close()
        _become("supervisor")
        return supervise(theirs)
    theirs.close()
    server = _ForkServer(ours, supervisor)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    load()
    gc.freeze()
    return run_part(server.wait_for_part())


class _ForkServer:
    """Forks parts, forwards signals to the supervisor, and reaps what has ended."""

    def __init__(self, control: socket.socket, supervisor: int) -> None:
        self._control = control
        self._supervisor = supervisor
        self._parts: set[int] = set()
        # A signal that comes just before a system call does not interrupt it, but its byte is there to be read.
        self._signaled, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._reap)
        for number in STOPPING:
            signal.signal(number, lambda number, _: os.kill(supervisor, number))

    def wait_for_part(self) -> Sequence[str]:
        """Obey the supervisor. Returns in each forked part, with its arguments; otherwise never."""
        while True:
            self._wait_for_message()
            data, descriptors, flags, _ = socket.recv_fds(self._control, MESSAGE_BYTES_MAX, 1)
            if not data:  # the supervisor ends, and this process with it: its signal may have come already
                os.waitid(os.P_PID, self._supervisor, os.WEXITED | os.WNOWAIT)
                self._reap(signal.SIGCHLD, None)
                continue
            request = _REQUEST.decode(data)
            if isinstance(request, Signal):
                if request.pid in self._parts:
                    os.kill(request.pid, request.number)
            elif not descriptors or flags & socket.MSG_CTRUNC:
                self._reply(NotStarted("no descriptor is available for its standard input"))
            elif self._fork(request, descriptors[0]):
                return request.arguments

    def _wait_for_message(self) -> None:
        """Wait until the supervisor has sent something. Meanwhile handlers of signals run."""
        while self._control not in select.select([self._control, self._signaled], [], [])[0]:
            os.read(self._signaled, MESSAGE_BYTES_MAX)

    def _fork(self, request: Start, standard_input: int) -> bool:
        """Fork a part and say so. True in the part."""
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)  # its end is reported after its start
        try:
            pid = os.fork()
        except OSError as error:
            self._reply(NotStarted(str(error)))
        else:
            if not pid:
                self._control.close()
                os.dup2(standard_input, 0)
                os.close(standard_input)
                os.environ.update(request.environment)
                _become(request.name)
                return True
            self._parts.add(pid)
            self._reply(Started(pid))
        os.close(standard_input)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
        return False

    def _reap(self, _number: int, _frame: object) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self._supervisor:
                    exit_status = os.waitstatus_to_exitcode(status)
                    os._exit(exit_status if exit_status >= 0 else SIGNALED - exit_status)
                self._parts.discard(pid)
                self._reply(Ended(pid, os.waitstatus_to_exitcode(status)))

    def _reply(self, message: Started | NotStarted | Ended) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # the supervisor ends
            self._control.send(_ENCODER.encode(message))


def _become(name: str) -> None:
    """Make a process just forked one of its own: its name, its session, the usual signals and garbage collection."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    set_process_title(name)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    gc.enable()


class Forks:
    """The supervisor's side: starts parts, and learns when they end. Made in the supervisor's event loop."""

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = control
        self._starting: deque[tuple[asyncio.Future[ForkedPart], int]] = deque()
        self._parts: dict[int, ForkedPart] = {}
        asyncio.get_running_loop().add_reader(control, self._receive)

    async def start(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> "ForkedPart":
        """Fork a part. Raises `OSError`."""
        theirs, ours = os.pipe()
        started: asyncio.Future[ForkedPart] = asyncio.get_running_loop().create_future()
        try:
            socket.send_fds(self._control, [_ENCODER.encode(Start(name, arguments, environment))], [theirs])
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._starting.append((started, ours))
        return await started

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a part, unless it has ended."""
        self._control.send(_ENCODER.encode(Signal(pid, number)))

    def _receive(self) -> None:
        data = self._control.recv(MESSAGE_BYTES_MAX)
        if not data:  # the fork server was killed
            os.kill(os.getpid(), signal.SIGKILL)
        message = _REPLY.decode(data)
        if isinstance(message, Ended):
            self._parts.pop(message.pid).end(message.exit_status)
            return
        started, standard_input = self._starting.popleft()
        if isinstance(message, Started):
            part = self._parts[message.pid] = ForkedPart(self, message.pid, standard_input)
            if not started.cancelled():
                started.set_result(part)
            return
        os.close(standard_input)
        if not started.cancelled():
            started.set_exception(OSError(message.reason))


class ForkedPart:
    """A part that was forked."""

    def __init__(self, forks: Forks, pid: int, standard_input: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._standard_input = standard_input
        self._forks = forks
        self._ended = asyncio.Event()

    async def wait(self) -> int | None:
        """Wait until it has ended; its exit status, negative for a signal."""
        await self._ended.wait()
        return self.returncode

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._forks.signal(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._forks.signal(self.pid, signal.SIGKILL)

    def end(self, exit_status: int) -> None:
        """It has ended."""
        self.returncode = exit_status
        os.close(self._standard_input)
        self._ended.set()


class Spawns:
    """Parts as new processes, which inherit these descriptors, where forking a loaded program is not safe, as on macOS."""

    def __init__(self, *descriptors: int) -> None:
        self._descriptors = descriptors

    async def start(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
        """Start a process. Raises `OSError`."""
        del name
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tollhouse",
            *arguments,
            env={**os.environ, **environment},
            stdin=asyncio.subprocess.PIPE,
            pass_fds=self._descriptors,
            start_new_session=True,
        )


def _run_part(arguments: Sequence[str]) -> int:
    return importlib.import_module(COMMAND_LINE).main(arguments)
