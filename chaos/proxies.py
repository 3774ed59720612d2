"""The three proxies with the files of `deploy`, without TLS, reloaded when an administrator changes their files."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol

import aiohttp

from chaos.programs import free_port, replace_in

FILES = Path(__file__).parents[1] / "deploy" / "proxies"
SHIPPED = ("127.0.0.1:8001", "127.0.0.1:8002")
STARTS_WITHIN_S = 30.0
STOPS_WITHIN_S = 40.0
NGINX_MAIN = """{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {file};
}}
"""


class Proxy(Protocol):
    """A proxy before two web servers."""

    name: str
    port: int

    async def start(self, webs: Sequence[int], probe: str) -> None:
        """Start before the servers at these ports, which are asked at this path whether they are ready."""
        ...

    async def reload(self, webs: Sequence[int], probe: str) -> None:
        """Use other servers."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


class _Proxy:
    """What the proxies have in common: their file, and a process."""

    name = ""
    changes: ClassVar[dict[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.port, self.admin_port = free_port(), free_port()
        self.folder = folder / self.name
        self.folder.mkdir()
        self.file = self.folder / self.name
        self.process: subprocess.Popen[bytes] | None = None

    def write(self, webs: Sequence[int], probe: str) -> None:
        """The shipped file with these servers."""
        file = self.folder / "next"
        shutil.copy(FILES / self.name, file)
        replace_in(file, {old: new.format(port=self.port, admin=self.admin_port) for old, new in self.changes.items()})
        replace_in(file, {old: f"127.0.0.1:{web}" for old, web in zip(SHIPPED, webs, strict=True)})
        if "/readyz" in file.read_text():
            replace_in(file, {"/readyz": probe})
        file.replace(self.file)

    def run(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a program."""
        program = shutil.which(words[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin") or words[0]
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen([program, *words[1:]], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    async def wait(self) -> None:
        """Wait until a request reaches a server."""
        async with asyncio.timeout(STARTS_WITHIN_S), aiohttp.ClientSession() as http:
            while True:
                try:
                    async with http.get(f"http://127.0.0.1:{self.port}/healthz") as response:
                        if response.ok:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.1)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(STOPS_WITHIN_S)


class Haproxy(_Proxy):
    """HAProxy with a master process, as Debian's unit starts it."""

    name = "haproxy.cfg"
    changes: ClassVar[dict[str, str]] = {
        "    bind :80\n": "    bind 127.0.0.1:{port}\n",
        "    bind :443 ssl crt /etc/haproxy/certs/pay.example.com.pem alpn h2,http/1.1\n": "",
        "    http-request redirect scheme https code 308 unless { ssl_fc }\n": "",
        "X-Forwarded-Proto https\n": "X-Forwarded-Proto http\n",
    }

    async def start(self, webs: Sequence[int], probe: str) -> None:
        """Start the master."""
        self.write(webs, probe)
        self.process = self.run("haproxy", "-W", "-db", "-f", str(self.file))
        await self.wait()

    async def reload(self, webs: Sequence[int], probe: str) -> None:
        """`systemctl reload haproxy`."""
        self.write(webs, probe)
        if self.process is not None:
            self.process.send_signal(signal.SIGUSR2)
        await self.wait()


class Nginx(_Proxy):
    """nginx."""

    name = "nginx.conf"
    changes: ClassVar[dict[str, str]] = {
        "    listen 80;\n    listen [::]:80;\n    server_name pay.example.com;\n": "    listen 127.0.0.1:{admin};\n",
        "    listen 443 ssl http2;\n    listen [::]:443 ssl http2;\n": "    listen 127.0.0.1:{port};\n",
        "    ssl_certificate /etc/letsencrypt/live/pay.example.com/fullchain.pem;\n": "",
        "    ssl_certificate_key /etc/letsencrypt/live/pay.example.com/privkey.pem;\n": "",
        "    ssl_protocols TLSv1.2 TLSv1.3;\n": "",
    }

    async def start(self, webs: Sequence[int], probe: str) -> None:
        """Start the master."""
        self.write(webs, probe)
        main = self.folder / "main.conf"
        user = "user root;" if os.geteuid() == 0 else ""
        main.write_text(NGINX_MAIN.format(user=user, folder=self.folder, file=self.file))
        self.process = self.run("nginx", "-g", "daemon off;", "-c", str(main))
        await self.wait()

    async def reload(self, webs: Sequence[int], probe: str) -> None:
        """`systemctl reload nginx`."""
        self.write(webs, probe)
        if self.process is not None:
            self.process.send_signal(signal.SIGHUP)
        await self.wait()


class Caddy(_Proxy):
    """Caddy."""

    name = "Caddyfile"
    changes: ClassVar[dict[str, str]] = {
        "pay.example.com {": "{{\n\tadmin 127.0.0.1:{admin}\n}}\nhttp://127.0.0.1:{port}, http:// {{\n\tbind 127.0.0.1"
    }

    async def start(self, webs: Sequence[int], probe: str) -> None:
        """Start it."""
        self.write(webs, probe)
        self.process = self.run("caddy", "run", "--adapter", "caddyfile", "--config", str(self.file))
        await self.wait()

    async def reload(self, webs: Sequence[int], probe: str) -> None:
        """`systemctl reload caddy`."""
        self.write(webs, probe)
        words = ("--adapter", "caddyfile", "--config", str(self.file), "--address", f"127.0.0.1:{self.admin_port}")
        status = await asyncio.to_thread(self.run("caddy", "reload", *words).wait)
        if status != 0:
            raise RuntimeError((self.folder / "log").read_text())
        await self.wait()


def all_proxies(folder: Path) -> list[Proxy]:
    """One of each, not started yet."""
    return [Haproxy(folder), Nginx(folder), Caddy(folder)]
