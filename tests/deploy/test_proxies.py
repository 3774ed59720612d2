"""The configurations of reverse proxies, with the real proxies. Only addresses, ports and certificates are replaced."""

import asyncio
import io
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct

from tests.cast import PASSWORD
from tests.certificates import self_signed
from tests.running import Service, free_port

pytestmark = pytest.mark.long

PROXIES = Path(__file__).parents[2] / "deploy" / "proxies"
PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin"
HOST = "pay.example.com"
CLIENT = "127.0.7.7"
LIES = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
ADDRESS = "SELECT address FROM sessions JOIN users ON users.id = sessions.user_id WHERE users.email = $1"
LARGE = b"x" * 2_000_000
STARTS_WITHIN_S = 60
CHANGES: dict[str, dict[str, str]] = {
    "Caddyfile": {
        "pay.example.com {": "{{\n\tadmin off\n\thttp_port {plain}\n}}\npay.example.com:{tls} {{\n\ttls {certificate} {key}",
        "127.0.0.1:8001 127.0.0.1:8002": "127.0.0.1:{service} 127.0.0.1:{nobody}",
    },
    "nginx.conf": {
        "    listen 80;\n    listen [::]:80;": "    listen 127.0.0.1:{plain};",
        "    listen 443 ssl http2;\n    listen [::]:443 ssl http2;": "    listen 127.0.0.1:{tls} ssl http2;",
        "/etc/letsencrypt/live/pay.example.com/fullchain.pem": "{certificate}",
        "/etc/letsencrypt/live/pay.example.com/privkey.pem": "{key}",
        "127.0.0.1:8001": "127.0.0.1:{service}",
        "127.0.0.1:8002": "127.0.0.1:{nobody}",
    },
    "haproxy.cfg": {
        "bind :80": "bind 127.0.0.1:{plain}",
        "bind :443": "bind 127.0.0.1:{tls}",
        "/etc/haproxy/certs/pay.example.com.pem": "{both}",
        "127.0.0.1:8001": "127.0.0.1:{service}",
        "127.0.0.1:8002": "127.0.0.1:{nobody}",
    },
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "Caddyfile": ("caddy", "run", "--adapter", "caddyfile", "--config"),
    "nginx.conf": ("nginx", "-g", "daemon off;", "-c"),
    "haproxy.cfg": ("haproxy", "-db", "-f"),
}
NGINX_MAIN = """
{user}
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
    {text}
}}
"""


class Proxy(Struct, frozen=True):
    """A running proxy before `service`: its ports for https and http."""

    service: Service
    tls_port: int
    plain_port: int

    def session(self) -> aiohttp.ClientSession:
        """A client that takes the proxy's address for the host, at an address of its own."""
        connector = aiohttp.TCPConnector(ssl=_trusting(), local_addr=(CLIENT, 0), resolver=_Loopback())
        return aiohttp.ClientSession(connector=connector, headers={"Host": self.service.settings.host})

    def url(self, path: str) -> str:
        """An https address."""
        return f"https://{HOST}:{self.tls_port}{path}"


class _Loopback(AbstractResolver):
    """Every name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": family, "proto": 0, "flags": 0}]

    async def close(self) -> None:
        return None


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.fixture(scope="module", params=CHANGES)
def proxy(
    request: pytest.FixtureRequest, make_service: Callable[..., Service], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    """One of the proxies, whose second server does not run."""
    name = str(request.param)
    program = shutil.which(COMMANDS[name][0], path=PLACES)
    if program is None:
        pytest.skip(f"{COMMANDS[name][0]} is not installed: its configuration is untested")
    service_port = free_port()
    service = make_service(TOLLHOUSE_BASE_URL=f"https://{HOST}:{service_port}", TOLLHOUSE_RATE_LIMITS="on")
    running = Proxy(service, free_port(), free_port())
    folder = tmp_path_factory.mktemp("proxy")
    file = _configuration(name, folder, running, service_port)
    log = (folder / "proxy.log").open("wb")
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    process = subprocess.Popen([program, *COMMANDS[name][1:], str(file)], stdout=log, stderr=log, env=environment)
    try:
        _wait_until_it_listens(process, (running.tls_port, running.plain_port), folder / "proxy.log")
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STARTS_WITHIN_S)
        log.close()


def _configuration(name: str, folder: Path, proxy: Proxy, service_port: int) -> Path:
    _, certificate = self_signed(folder, "127.0.0.1")
    key, both = folder / "key.pem", folder / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    values = {
        "certificate": certificate,
        "key": key,
        "both": both,
        "plain": proxy.plain_port,
        "tls": proxy.tls_port,
        "service": service_port,
        "nobody": free_port(),
    }
    text = (PROXIES / name).read_text()
    for old, new in CHANGES[name].items():
        assert text.count(old) == 1, old
        text = text.replace(old, new.format(**values))
    file = folder / name
    user = "user root;" if os.geteuid() == 0 else ""  # whose folder this is
    file.write_text(NGINX_MAIN.format(user=user, folder=folder, text=text) if name == "nginx.conf" else text)
    return file


def _wait_until_it_listens(process: "subprocess.Popen[bytes]", ports: tuple[int, ...], log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    for port in ports:
        while True:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)


@pytest.fixture
async def client(proxy: Proxy) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser or program before the proxy."""
    async with proxy.session() as session:
        yield session


async def test_the_service_sees_the_clients_address_and_https(proxy: Proxy, client: aiohttp.ClientSession) -> None:
    body = {"email": f"{uuid4()}@example.com", "password": PASSWORD, "business_name": "Alice's Coffee"}
    async with client.post(proxy.url("/api/v2/merchant/signup"), json=body, headers=LIES) as answer:
        assert answer.status == 201, await answer.text()
        assert "Strict-Transport-Security" in answer.headers
        [cookie] = [value for value in answer.headers.getall("Set-Cookie") if value.startswith("__Host-tollhouse_session")]
        assert "Secure" in cookie
    [row] = await proxy.service.sql(ADDRESS, body["email"])
    assert row["address"] == CLIENT
    signed_in = {"Cookie": cookie.partition(";")[0]}
    async with client.get(proxy.url("/"), headers=signed_in, allow_redirects=False) as answer:
        assert answer.status in {200, 303}
        assert "/signin" not in answer.headers.get("Location", "")


async def test_requests_reach_the_server_that_runs(proxy: Proxy, client: aiohttp.ClientSession) -> None:
    async def request_token() -> int:
        async with client.post(proxy.url("/api/v2/oauth/token"), data={"grant_type": "refresh_token"}) as answer:
            assert "X-Request-Id" in answer.headers
            return answer.status

    assert set(await asyncio.gather(*(request_token() for _ in range(20)))) <= {400, 401}


async def test_a_large_upload_reaches_the_service(proxy: Proxy, client: aiohttp.ClientSession) -> None:
    async with client.post(proxy.url("/operator/statements"), data=io.BytesIO(LARGE), allow_redirects=False) as answer:
        assert answer.status != 502
        assert "X-Request-Id" in answer.headers


async def test_http_is_redirected_to_https(proxy: Proxy) -> None:
    async with aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{proxy.plain_port}/docs?a=b"
        async with http.get(url, headers={"Host": HOST}, allow_redirects=False) as answer:
            assert answer.status == 308
            assert answer.headers["Location"].startswith(f"https://{HOST}")
            assert answer.headers["Location"].endswith("/docs?a=b")
