"""Who performs an action, as the audit log and the ledger record it."""

from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import parse_id

ActorKind = Literal["person", "api_key", "application", "operator", "system"]
"""Who performs an action.

person: A user of the dashboard; of refused sign-ins, whoever tried.
api_key: An API key.
application: An application, with a connection.
operator: An operator of the server.
system: The server itself.
"""


class Actor(Struct, frozen=True):
    """Who performs an action. `id` is a user's, key's or application's; other kinds have no id and no address."""

    kind: ActorKind
    id: str = ""
    address: str | None = None
    request: str = ""
    credential_id: UUID | None = None
    """The connection or API key of a request of the Integration API."""
    is_limited: bool = False
    """Whether that has limits (`accounts.spending`)."""

    @property
    def request_id(self) -> UUID | None:
        """The ID of the request that asked for the action."""
        return parse_id(self.request)

    @property
    def user_id(self) -> UUID | None:
        """The ID of a person."""
        return parse_id(self.id) if self.kind == "person" else None

    @property
    def client_id(self) -> str | None:
        """The client ID of an application."""
        return self.id if self.kind == "application" else None


SYSTEM = Actor("system")
"""Background jobs."""
OPERATOR = Actor("operator")
"""Any operator. The operators' own history records which one."""
