"""The units of `deploy/systemd` as systemd runs them: their commands, with the files of settings that they name."""

import asyncio
import os
import re
import socket
import subprocess
from pathlib import Path

from tollhouse.platform.settings import env_files

UNITS = Path(__file__).parents[1] / "deploy" / "systemd"
PROGRAM, ETC = "/opt/tollhouse/.venv/bin/tollhouse", "/etc/tollhouse/"
FIRST_PORT, LAST_PORT = 8100, 9999
STOPS_WITHIN_S = 60.0
_given: set[int] = set()


def port_with_metrics() -> int:
    """A port nobody listens on, whose port of the metrics (18001 for 8001) is free too."""
    for port in range(FIRST_PORT, LAST_PORT):
        if port not in _given and _is_free(port) and _is_free(10_000 + port):
            _given.add(port)
            return port
    raise RuntimeError("no port is free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


class Machine:
    """A machine with `/etc/tollhouse` and the link `/opt/tollhouse` in a folder, and the processes that it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._etc, self._link = folder / "etc", folder / "tollhouse"
        self._etc.mkdir(mode=0o700)
        (folder / "state").mkdir(mode=0o750)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def link(self, program: Path) -> None:
        """`ln -sfn`: the release of this folder is the one in use."""
        new = self.folder / "new-link"
        new.symlink_to(program)
        new.replace(self._link)

    def write(self, name: str, text: str, values: dict[str, str]) -> None:
        """Write a file of settings with these values, at the lines that the shipped file has for them."""
        for setting, value in values.items():
            line = f"{setting}={value}"
            text, found = re.subn(rf"(?m)^{setting}=.*$", lambda _, line=line: line, text)
            text += "" if found else f"{line}\n"
        (self._etc / name).write_text(text)
        (self._etc / name).chmod(0o600)

    def settings(self, *, owner: bool = False) -> dict[str, str]:
        """The settings of `tollhouse.env`, with those of `owner.env`."""
        names = ["tollhouse.env", "owner.env"] if owner else ["tollhouse.env"]
        found = dict[str, str]()
        for name in names:
            file = self._etc / name
            found |= env_files.parse(file.read_text(), str(file)) if file.exists() else {}
        return found

    def start_unit(self, unit: str) -> None:
        """`systemctl start`."""
        words, owner = self._command_of(unit)
        self._start(unit, words, owner=owner)

    async def run_unit(self, unit: str) -> None:
        """`systemctl start` of a unit that ends. Raises `RuntimeError` if it fails."""
        words, owner = self._command_of(unit)
        await self.command(*words, owner=owner)

    def start_words(self, name: str, *words: str) -> None:
        """Start a process of a release without units."""
        self._start(name, words, owner=False)

    async def stop(self, name: str) -> None:
        """`systemctl stop`."""
        process = self._running.pop(name)
        process.terminate()
        await asyncio.to_thread(process.wait, STOPS_WITHIN_S)

    def stop_all(self) -> None:
        """End everything at once."""
        for process in self._running.values():
            process.kill()
            process.wait()

    async def command(self, *words: str, owner: bool = False, may_fail: bool = False, **more: str) -> str:
        """What `/usr/local/bin/tollhouse` prints. Raises `RuntimeError` if it fails, unless it may."""
        environment = self._environment(owner=owner) | more
        process = await asyncio.create_subprocess_exec(
            self._program, *words, env=environment, cwd=self.folder,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await process.communicate()
        if process.returncode != 0 and not may_fail:
            raise RuntimeError(f"{words[0]} failed: {output.decode()}")
        return output.decode()

    @property
    def _program(self) -> str:
        return str(self._link.resolve() / ".venv" / "bin" / "tollhouse")

    def _command_of(self, unit: str) -> tuple[list[str], bool]:
        """The words after the program, and whether the unit names `owner.env`."""
        name, at, instance = unit.partition("@")
        text = (UNITS / f"{name}{at}.service").read_text()
        [command] = re.findall(rf"(?m)^ExecStart={PROGRAM} (.*)$", text)
        files = re.findall(rf"(?m)^EnvironmentFile=-?{ETC}(.*)$", text)
        return command.replace("%i", instance).split(), "owner.env" in files

    def _start(self, name: str, words: "list[str] | tuple[str, ...]", *, owner: bool) -> None:
        with (self.folder / "units.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [self._program, *words],
                env=self._environment(owner=owner),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _environment(self, *, owner: bool) -> dict[str, str]:
        """What systemd gives a unit: few variables, and those of its files."""
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | self.settings(owner=owner)
