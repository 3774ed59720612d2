"""What the doctor says of the base URL and the mail server, which lie to it here."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.accounts.mail.postbox import Postbox
from tests.certificates import self_signed
from tests.running import Service, free_port
from tollhouse.instance.doctor import network
from tollhouse.instance.doctor.model import Finding
from tollhouse.platform.settings.config import Settings, load

OK = {"/healthz": b"HTTP/1.1 200 OK\r\n\r\n", "/signin": b"HTTP/1.1 200 OK\r\n\r\n"}
HANG = b""


@asynccontextmanager
async def web(answers: Mapping[str, bytes], tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on loopback that answers by path; an empty answer never comes. Its port."""
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).split()
        answer = answers[line[1].decode()] if len(line) > 1 else HANG
        if answer == HANG:
            await ended.wait()
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]
        ended.set()


def settings_at(port: int, scheme: str = "http", **more: str) -> Settings:
    return load({"TOLLHOUSE_BASE_URL": f"{scheme}://127.0.0.1:{port}", **more})


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


async def test_a_running_service_is_well(service: Service) -> None:
    findings = await network.examine_base_url(service.settings)
    assert {finding.check: finding.status for finding in findings} == {"dns": "ok", "base_url": "ok"}


@pytest.mark.parametrize(
    ("answers", "status", "message"),
    [
        (OK, "ok", "leads to the service"),
        (OK | {"/healthz": b"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n"}, "failure", "is redirected (301)"),
        (OK | {"/healthz": b"HTTP/1.1 502 Bad Gateway\r\n\r\n"}, "failure", "returns 502, not 200"),
        (OK | {"/signin": b"HTTP/1.1 421 Misdirected\r\n\r\n"}, "failure", "does not see the host of TOLLHOUSE_BASE_URL"),
        (OK | {"/healthz": b"220 mail.example ESMTP\r\n"}, "failure", "is not HTTP"),
        (OK | {"/healthz": b"x" * 100_000}, "failure", "is not HTTP"),
    ],
)
async def test_what_a_proxy_does_wrong(answers: dict[str, bytes], status: str, message: str) -> None:
    async with web(answers) as port:
        found = by_check(await network.examine_base_url(settings_at(port)))["base_url"]
    assert (found.status, message in found.message, bool(found.advice)) == (status, True, status != "ok")


async def test_a_server_that_hangs_or_is_not_there_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "ANSWER_WITHIN_S", 0.2)
    async with web(OK | {"/healthz": HANG}) as port:
        found = by_check(await network.examine_base_url(settings_at(port)))["base_url"]
        assert (found.status, "no answer within" in found.message) == ("warning", True)
    found = by_check(await network.examine_base_url(settings_at(free_port())))["base_url"]
    assert (found.status, "cannot be reached" in found.message) == ("warning", True)


@pytest.mark.parametrize(("days", "status"), [(1, "warning"), (60, "ok")])
async def test_a_certificate_that_ends_soon_is_a_warning(tmp_path: Path, days: int, status: str) -> None:
    tls, authority = self_signed(tmp_path, "127.0.0.1", days=days)
    async with web(OK, tls) as port:
        trusted = ssl.create_default_context(cafile=str(authority))
        found = by_check(await network.examine_base_url(settings_at(port, "https"), trusted))
    assert (found["tls"].status, found["base_url"].status) == (status, "ok")


@pytest.mark.parametrize(
    ("address", "is_trusted", "message"),
    [("127.0.0.1", False, "self-signed certificate"), ("127.0.0.2", True, "IP address mismatch")],
)
async def test_a_wrong_certificate_is_a_failure(tmp_path: Path, address: str, is_trusted: bool, message: str) -> None:
    tls, authority = self_signed(tmp_path, address)
    trusted = ssl.create_default_context(cafile=str(authority)) if is_trusted else None
    async with web(OK, tls) as port:
        found = by_check(await network.examine_base_url(settings_at(port, "https"), trusted))
    assert (found["tls"].status, message in found["tls"].message) == ("failure", True)
    assert "base_url" not in found


async def test_no_tls_at_an_https_url_is_a_failure() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = by_check(await network.examine_base_url(settings_at(port, "https")))["tls"]
    assert (found.status, found.advice) == ("failure", "Set up TLS in the proxy.")


async def test_a_name_that_does_not_resolve_in_time_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(network.socket, "getaddrinfo", unknown)
    [found] = await network.examine_base_url(load({"TOLLHOUSE_BASE_URL": "https://pay.example"}))
    assert (found.check, found.status) == ("dns", "failure")
    assert "pay.example cannot be resolved: Name or service not known." in found.message


async def test_a_mail_server_is_signed_in_to_and_gets_no_email() -> None:
    port = free_port()
    settings = settings_at(1, TOLLHOUSE_SMTP_URL=f"smtp://postman:hunter2@127.0.0.1:{port}")
    async with Postbox(port) as postbox:
        [found] = await network.examine_mail(settings)
        assert (found.check, found.status, postbox.received) == ("mail", "ok", [])
    async with Postbox(port, responses={"AUTH": "535 no"}):
        [found] = await network.examine_mail(settings)
        assert (found.status, "hunter2" in found.message) == ("failure", False)
    [found] = await network.examine_mail(settings)
    assert (found.status, "cannot be reached" in found.message) == ("failure", True)


async def test_a_mail_server_that_hangs_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "ANSWER_WITHIN_S", 0.2)
    async with web({}) as port:
        [found] = await network.examine_mail(settings_at(1, TOLLHOUSE_SMTP_URL=f"smtp://127.0.0.1:{port}"))
    assert (found.status, "no answer within" in found.message) == ("failure", True)


async def test_no_mail_server_is_a_warning_in_live_use_only() -> None:
    [local] = await network.examine_mail(load({}))
    [live] = await network.examine_mail(load({"TOLLHOUSE_BASE_URL": "https://pay.example"}))
    assert (local.status, live.status) == ("ok", "warning")
