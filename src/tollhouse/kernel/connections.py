"""A connection that was ended or changed in a transaction, with what those need who hear of it."""

from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, GrantId, MerchantId, Mode


class ChangedConnection(Struct, frozen=True, kw_only=True):
    """The connection after the change, and the address of its application for such events; None: it has none.

    `limits` is the value of the column. `webhook_sender_id` stands for the application where tables of webhooks have a
    merchant.
    """

    grant_id: GrantId
    client_id: ClientId
    name: str
    merchant_id: MerchantId
    mode: Mode
    scope_mask: int
    version: int
    limits: str | None
    proposals_only: bool
    webhook_url: str | None
    webhook_sender_id: UUID | None

    @property
    def env(self) -> MerchantEnv:
        """The environment of the connection."""
        return MerchantEnv(self.merchant_id, self.mode)
