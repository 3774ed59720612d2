"""Who does what is done: found out by the guard, once a request, and known to every deed of it.

A deed is asked for by pages, by two APIs and by commands, and what it needs of whoever asks is nothing but their name in the
log. So the name is not handed down from call to call: it belongs to the request, as its id in the log does.
"""

from contextvars import ContextVar
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.request import Request
from tollhouse.kernel.ids import parse_id

AuthorKind = Literal["person", "api_key", "application", "operator", "system"]


class Author(Struct, frozen=True):
    """Somebody who does something. `id` is a user's, a key's or an application's; others have none, and no address."""

    kind: AuthorKind
    id: str = ""
    address: str | None = None
    asked: str = ""

    @property
    def request_id(self) -> UUID | None:
        """The request it was asked by."""
        return parse_id(self.asked)

    @property
    def client_id(self) -> str | None:
        """The application, where it is one."""
        return self.id if self.kind == "application" else None


SYSTEM = Author("system")
"""Nobody asked: the house does it by itself."""
OPERATOR = Author("operator")
"""Whoever runs this house. Which of them it was is kept in the operators' own history."""

_acting: ContextVar[Author] = ContextVar("acting", default=SYSTEM)


def current() -> Author:
    """Who asks for what is done now."""
    return _acting.get()


def asked_by(author: Author) -> None:
    """From here on, this request is theirs."""
    _acting.set(author)


def person(request: Request, user_id: UUID) -> Author:
    """One of a merchant's people, where they sit."""
    return Author("person", str(user_id), request.address, request.server_request_id)


def api_key(request: Request, api_key_id: UUID) -> Author:
    """A program of the merchant's own."""
    return Author("api_key", str(api_key_id), request.address, request.server_request_id)


def application(request: Request, client_id: str) -> Author:
    """An application that the merchant is connected to."""
    return Author("application", client_id, request.address, request.server_request_id)
