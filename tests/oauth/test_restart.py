"""All state is in the database: restarting the server between any two steps loses nothing."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from tests.cast import INTEGRATION, application, consent, sign_up
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded

T = TypeVar("T")


@pytest.fixture
def restarting(server: embedded.Server) -> Iterator["Restarting"]:
    """A service that is restarted after every step."""
    one = Restarting(server)
    yield one
    one.service.stop()


class Restarting:
    """Restarts a service on the same database and port."""

    def __init__(self, server: embedded.Server) -> None:
        self._settings = settings_for(server.cluster.dsn, fresh=True)
        self.service = Service(self._settings, worker=False).start()

    def again(self) -> None:
        """Restart the service."""
        self.service.stop()
        self.service = Service(self._settings, worker=False).start()

    async def between(self, step: Callable[[], Awaitable[T]]) -> T:
        """Await a step, then restart."""
        done = await step()
        self.again()
        return done


@pytest.mark.long
@pytest.mark.covers("O-212")
async def test_restart_between_any_two_steps_loses_nothing(restarting: Restarting) -> None:
    step = restarting.between
    async with sign_up(restarting.service, "alice", "Alice's Coffee") as alice:
        app = await step(lambda: application(alice))
        scope = "account:read offline_access"
        path = (await step(lambda: alice.send("GET", app.authorize_path(scope)))).ok(303).location
        (await step(lambda: alice.send("GET", path))).ok()
        answer = (await step(lambda: consent(alice, path, ["account:read", "offline_access"]))).ok(303)
        code = answer.query["code"]
        tokens = (await step(lambda: app.exchange(code))).ok().body
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        (await step(lambda: alice.anonymously("GET", f"{INTEGRATION}/account", headers=bearer))).ok()
        fresh = (await step(lambda: app.refresh(tokens["refresh_token"]))).ok().body
        (await step(lambda: app.refresh(tokens["refresh_token"]))).refused("invalid_grant", 400)
        (await app.refresh(fresh["refresh_token"])).refused("invalid_grant", 400)
