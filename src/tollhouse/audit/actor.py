"""The actor of a request: set by the guard, read by every action that is recorded.

A context variable holds it because pages, two APIs and commands share the actions, and an actor is only needed for the log.
"""

from contextvars import ContextVar
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.request import Request
from tollhouse.kernel.ids import parse_id

ActorKind = Literal["person", "api_key", "application", "operator", "system"]


class Actor(Struct, frozen=True):
    """Who performs an action. `id` is a user's, key's or application's; other kinds have no id and no address."""

    kind: ActorKind
    id: str = ""
    address: str | None = None
    request: str = ""

    @property
    def request_id(self) -> UUID | None:
        """The ID of the request that asked for the action."""
        return parse_id(self.request)

    @property
    def client_id(self) -> str | None:
        """The client ID of an application."""
        return self.id if self.kind == "application" else None


SYSTEM = Actor("system")
"""Background jobs."""
OPERATOR = Actor("operator")
"""Any operator. The operators' own history records which one."""

_current: ContextVar[Actor] = ContextVar("actor", default=SYSTEM)


def current() -> Actor:
    """The actor of this request or job."""
    return _current.get()


def set_current(actor: Actor) -> None:
    """Set the actor of this request."""
    _current.set(actor)


def person(request: Request, user_id: UUID) -> Actor:
    """A user of the merchant."""
    return Actor("person", str(user_id), request.address, request.server_request_id)


def api_key(request: Request, api_key_id: UUID) -> Actor:
    """An API key of the merchant."""
    return Actor("api_key", str(api_key_id), request.address, request.server_request_id)


def application(request: Request, client_id: str) -> Actor:
    """An application that the merchant has connected."""
    return Actor("application", client_id, request.address, request.server_request_id)
