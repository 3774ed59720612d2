"""Two processes: a refresh that is repeated gets the same tokens, a killed process loses none, a proof is used once."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cast import Actor, Application, application, sign_up
from tests.oauth.signatures import Signer
from tests.platform.proxy import Proxy
from tests.processes import Serving
from tests.running import KEY as SECRET_KEY
from tests.running import Service, as_application, settings_for
from tollhouse.instance.database import embedded
from tollhouse.kernel import tokens as token_form

pytestmark = pytest.mark.xdist_group("races")
SCOPE = "account:read offline_access"
KEY = "twin-8aPq3LmZ1xVwRt6Ynb"
ROUNDS, TWINS = 5, 20
GRANTS = "SELECT refresh_generation, revoked_because FROM oauth_grants WHERE client_id = $1 ORDER BY id"
TOKENS = "SELECT count(*) AS n FROM oauth_access_tokens t JOIN oauth_grants g ON g.id = t.grant_id WHERE g.client_id = $1"


@pytest.fixture(scope="module")
def service(server: embedded.Server) -> Iterator[Service]:
    """The service on whose database the processes work."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture(scope="module")
async def two(service: Service, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[Serving]]:
    """Two web processes."""
    started = [await web(service.dsn, tmp_path_factory.mktemp("web"), service.url) for _ in range(2)]
    yield started
    for process in started:
        assert process.stop() == []


async def web(dsn: str, folder: Path, url: str) -> Serving:
    """A web process on this database, behind this base URL."""
    settings = {"DATABASE_URL": as_application(dsn), "TOLLHOUSE_SECRET_KEYS": SECRET_KEY, "TOLLHOUSE_BASE_URL": url}
    return await Serving(folder, "web", **settings).start()


@pytest.fixture
async def alice(service: Service) -> AsyncIterator[Actor]:
    """Alice, who connects the application."""
    async with sign_up(service, "alice", "Alice's Coffee") as actor:
        yield actor


@pytest.fixture
async def app(service: Service) -> AsyncIterator[Application]:
    """Bob's application."""
    async with sign_up(service, "bob", "Bob's Books") as bob:
        yield await application(bob)


async def assert_rotated_once(app: Application, fresh: dict[str, Any]) -> None:
    """One grant is active, was refreshed once, and its new tokens work."""
    found = [tuple(row) for row in await app.owner.sql(GRANTS, app.client_id)]
    assert found[-1] == (1, None)
    (await app.api(fresh["access_token"], "GET", "/account")).ok()
    (await app.refresh(fresh["refresh_token"])).ok()


async def test_twins_get_the_same_tokens(app: Application, alice: Actor, two: list[Serving]) -> None:
    for turn in range(ROUNDS):
        token = (await app.connect(alice, SCOPE))["refresh_token"]
        before = (await alice.sql(TOKENS, app.client_id))[0]["n"]
        key = f"{KEY}-{turn}"
        twins = [app.refresh(token, key=key, at=two[n % 2].url) for n in range(TWINS)]
        answers = [answer.ok().body for answer in await asyncio.gather(*twins)]
        assert len({(answer["access_token"], answer["refresh_token"]) for answer in answers}) == 1
        assert (await alice.sql(TOKENS, app.client_id))[0]["n"] == before + 1
        await assert_rotated_once(app, answers[0])


@pytest.mark.long
async def test_twins_and_another_request_end_the_grant_whoever_is_first(
    app: Application, alice: Actor, two: list[Serving]
) -> None:
    for turn in range(ROUNDS):
        token = (await app.connect(alice, SCOPE))["refresh_token"]
        calls = [app.refresh(token, key=KEY, at=two[n % 2].url) for n in range(TWINS)]
        calls.insert(turn, app.refresh(token, at=two[0].url))
        answers = await asyncio.gather(*calls)
        assert {answer.status for answer in answers} <= {200, 400}
        for answer in answers:
            if answer.status == 200:
                (await app.api(answer.body["access_token"], "GET", "/account")).refused("invalid_token", 401)
    found = await alice.sql(GRANTS, app.client_id)
    assert {row["revoked_because"] for row in found} == {"refresh_token_replayed"}


async def test_a_proof_at_two_processes_is_used_once(app: Application, alice: Actor, two: list[Serving]) -> None:
    signer, path, token = Signer(), "/api/v2/oauth/token", (await app.connect(alice, SCOPE))["refresh_token"]
    for _ in range(ROUNDS):
        proof, fields = (
            signer.proof("POST", app.owner.service.url + path),
            {"grant_type": "refresh_token", "refresh_token": token},
        )
        calls = [app.protocol(path, fields, at=two[n % 2].url, DPoP=proof) for n in range(TWINS)]
        answers = await asyncio.gather(*calls)
        assert sorted(answer.status for answer in answers) == [200] + [400] * (TWINS - 1)
        for answer in answers:
            if answer.status == 200:
                token = answer.body["refresh_token"]
            else:
                answer.refused("invalid_dpop_proof")


@pytest.mark.long
async def test_a_process_that_is_killed_after_the_commit_loses_no_tokens(
    app: Application, alice: Actor, service: Service, tmp_path: Path, two: list[Serving]
) -> None:
    """The database has committed the refresh, and nobody has heard of it."""
    token = (await app.connect(alice, SCOPE))["refresh_token"]
    async with Proxy(service.dsn) as proxy:
        process = await web(proxy.dsn, tmp_path, service.url)
        proxy.lose_answer_to = token_form.digest(token)
        lost = asyncio.create_task(app.refresh(token, key=KEY, at=process.url))
        while (await alice.sql(GRANTS, app.client_id))[0]["refresh_generation"] == 0:
            await asyncio.sleep(0.01)
        process.kill()
        with pytest.raises(aiohttp.ClientError):
            await lost
    fresh = (await app.refresh(token, key=KEY, at=two[0].url)).ok().body
    assert (await app.refresh(token, key=KEY, at=two[1].url)).ok().body["access_token"] == fresh["access_token"]
    await assert_rotated_once(app, fresh)


@pytest.mark.long
async def test_a_process_that_is_killed_before_the_commit_has_done_nothing(
    app: Application, alice: Actor, service: Service, tmp_path: Path, two: list[Serving]
) -> None:
    token = (await app.connect(alice, SCOPE))["refresh_token"]
    async with Proxy(service.dsn) as proxy:
        process = await web(proxy.dsn, tmp_path, service.url)
        proxy.silence()
        lost = asyncio.create_task(app.refresh(token, key=KEY, at=process.url))
        await asyncio.wait([lost], timeout=0.2)
        process.kill()
        with pytest.raises(aiohttp.ClientError):
            await lost
    assert tuple((await alice.sql(GRANTS, app.client_id))[0]) == (0, None)
    await assert_rotated_once(app, (await app.refresh(token, key=KEY, at=two[0].url)).ok().body)
