"""Saved recipients, and the setting that money leaves only to them."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.platform.database.records import Internal, Json, Record


class SavedRecipient(Struct, frozen=True, kw_only=True):
    """A recipient of withdrawals by one method. It never changes, and can be paid from `active_at` on.

    `account` is the receiver in the rail's notation. In test mode `active_at` is a time of the test clock.
    """

    id: UUID
    name: Annotated[str, example("Nina Bo")]
    method_id: str
    receiver: str
    provider_fields: Json[dict[str, Any]]
    env: MerchantEnv
    active_at: datetime
    created_at: datetime
    rail: Internal[str]
    account: Internal[str]


class RecipientRule(Struct, frozen=True):
    """Whether money leaves only to saved recipients. `turns_off_at`: until then, if it was turned off."""

    saved_recipients_only: bool = False
    turns_off_at: datetime | None = None

    def at(self, present: datetime) -> "RecipientRule":
        """The rule as it counts at this time of the environment."""
        return RecipientRule() if self.turns_off_at is not None and self.turns_off_at <= present else self


class WithdrawalSettings(Struct, frozen=True):
    """The withdrawal settings of an environment as they count now."""

    env: MerchantEnv
    rule: RecipientRule


RECIPIENT = Record(SavedRecipient, "withdrawal_recipients")
