"""Those who must not reach the money of the scene: a credential each, and the operations that it is tried on."""

from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import uuid4

from tests.cast import Actor, Answer
from tests.pages.console.operator_pages import visitor
from tests.penetration.scene import FIELDS, Scene
from tollhouse.accounts.identity.guards import CredentialGuard, PublicGuard, SessionGuard
from tollhouse.accounts.identity.operators import OperatorGuard
from tollhouse.http.operations import Operation

Headers = dict[str, str]
Applies = Callable[[Operation], bool]
EXPIRE = """
    UPDATE oauth_access_tokens SET expires_at = now() - interval '1 s'
    WHERE grant_id IN (SELECT id FROM oauth_grants WHERE client_id = $1)
"""
SUSPEND = "UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid"
AGE_OPERATOR = """
    UPDATE operator_sessions
    SET created_at = created_at - interval '15 minutes', proved_at = proved_at - interval '15 minutes'
    WHERE operator_id = (SELECT id FROM operators WHERE email = $1)
"""


class Intruder(NamedTuple):
    """Who tries, with which credential, on what, and how it is refused. `actor` sends its cookies along."""

    name: str
    headers: Headers
    applies: Applies
    refused: frozenset[int]
    actor: Actor | None = None
    mode: str = "test"

    async def attempt(self, scene: Scene, operation: Operation) -> Answer:
        """Try it."""
        path = scene.path(operation, self.mode)
        sent: dict[str, Any] = {"headers": self._headers_for(operation)}
        if operation.surface.name == "pages":
            sent["data"] = FIELDS
        else:
            sent["json"] = scene.body(operation)
        if self.actor is not None:
            return await self.actor.send(operation.method, path, **sent)
        async with visitor(scene.merchant.service) as nobody:
            return await nobody.send(operation.method, path, **sent)

    def _headers_for(self, operation: Operation) -> Headers:
        own = {"Sec-Fetch-Site": "same-origin"} if operation.surface.name != "integration" else {}
        return own | {"Idempotency-Key": str(uuid4())} | self.headers


def of_api(operation: Operation) -> bool:
    """Of keys and tokens."""
    return isinstance(operation.guard, CredentialGuard)


def of_people(operation: Operation) -> bool:
    """Of sessions of merchants."""
    return isinstance(operation.guard, SessionGuard)


def of_operators(operation: Operation) -> bool:
    """Of operators."""
    return isinstance(operation.guard, OperatorGuard)


def of_anybody(operation: Operation) -> bool:
    """Of customers, at the checkout."""
    return isinstance(operation.guard, PublicGuard)


def names_object(operation: Operation) -> bool:
    """Whether it names an object of the merchant."""
    return any(name in operation.full_path for name in ("transaction_id", "_id}", "{token}")) and not any(
        name in operation.full_path for name in ("{method_id}", "{product_id}")
    )


def key(value: str) -> Headers:
    """An API key."""
    return {"X-API-Key": value}


def bearer(value: str) -> Headers:
    """An access token."""
    return {"Authorization": f"Bearer {value}"}
