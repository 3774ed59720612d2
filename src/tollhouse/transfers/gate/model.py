"""Outgoing transfers, their destination and their review; saved recipients; and the errors of outgoing transfers."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.approvals.model import Approvals
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example
from tollhouse.platform.database.records import Columns, Internal, Json, Record

Kind = Literal["withdrawal", "refund"]
Review = Literal["not_required", "required", "approved", "rejected", "before_reviews"]
"""`before_reviews`: a refund older than reviews."""


class Pause(Struct, frozen=True):
    """A pause of payouts. `data_until` is when the backup of a restored database was taken, else None."""

    id: UUID
    cause: Literal["restored", "operator"]
    data_until: datetime | None
    paused_at: datetime
    paused_by: str
    reason: str


class DailyCount(Struct, frozen=True):
    """The amount of a transfer that counts towards a method's daily limit."""

    method_id: str
    day: date
    amount_minor: int


def _read_approvals(given: list[str], by_command: int, needed: int, single_operator: bool) -> Approvals:
    return Approvals(tuple(given), by_command, needed, single_operator)


class OutgoingTransfer(Struct, frozen=True, kw_only=True):
    """Money that leaves by a rail. Its id is that of its withdrawal or refund.

    `receiver` is in the rail's notation. `released_at`: it may be on its way since then. `closed_at`: it does not leave or
    came back. Above `second_operator_above_minor`, counted over 24 hours, two operators approve it. `asked_by` is the user
    who asked, made the key or schedule, or gave the connection; where the database requires it, another member approves.
    """

    id: UUID
    kind: Kind
    env: MerchantEnv
    rail: str
    currency: str
    amount_minor: int
    receiver: str
    receiver_name: str | None = None
    payer_account: str | None = None
    count: Annotated[
        DailyCount | None, Columns({"method_id": "method_id", "limit_day": "day", "counted_minor": "amount_minor"})
    ] = None
    review: Review = "not_required"
    approvals: Annotated[
        Approvals,
        Columns(
            {
                "approvals": "given",
                "approvals_by_command": "by_command",
                "approvals_needed": "needed",
                "single_operator": "single_operator",
            },
            _read_approvals,
        ),
    ] = Approvals((), 0, 0)
    second_operator_above_minor: int | None = None
    asked_by: UUID | None = None
    second_member_required: bool = False
    second_member_id: UUID | None = None
    second_member_at: datetime | None = None
    reviewed_at: datetime | None = None
    review_note: str | None = None
    created_at: datetime
    released_at: datetime | None = None
    closed_at: datetime | None = None

    @property
    def waits_for_member(self) -> bool:
        """Whether a second member has to approve it."""
        return self.second_member_required and self.second_member_at is None and self.closed_at is None


OUTGOING_TRANSFER = Record(OutgoingTransfer, "outgoing_transfers")


class WithdrawalMethodUnavailable(ApiError):
    """422: the method does not exist or is unavailable in this environment."""

    code, status = "method_unavailable", 422
    message = "This withdrawal method is not available in this environment."

    def __init__(self, reason: str | None = None) -> None:
        details = {} if reason is None else {"details": {"unavailable_reason": reason}}
        super().__init__(field_errors=[FieldError("method_id", self.code, self.message)], members=details)


class DailyLimitExceeded(ApiError):
    """422: the amount exceeds the method's daily limit."""

    code, status, message = "daily_limit_exceeded", 422, "The amount exceeds what is left of the method's daily limit."
    solution = "Send a smaller amount, or wait: the limit is of the last 24 hours."

    def __init__(self, remaining_minor: int, resets_at: datetime) -> None:
        super().__init__(members={"details": {"remaining_minor": remaining_minor, "resets_at": stamp(resets_at)}})


class RecipientNotSaved(ApiError):
    """422: the merchant withdraws only to saved recipients, and this is none."""

    code, status = "recipient_not_saved", 422
    message = "This account withdraws only to saved recipients. Add the recipient first."
    solution = "Add the recipient first, or turn the setting off."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, messages.A_SAVED_RECIPIENT)])


class RecipientNotActive(ApiError):
    """422: the saved recipient was added a short time ago; `details.active_at` is when it can be paid."""

    code, status, message = "recipient_not_active", 422, "This recipient was added recently and cannot be paid yet."
    solution = "Wait until `details.active_at`."

    def __init__(self, active_at: datetime) -> None:
        super().__init__(members={"details": {"active_at": stamp(active_at)}})


RECIPIENT_ERRORS = (RecipientNotSaved, RecipientNotActive)
"""The errors of money that leaves to another account than that of a payer."""


class NotReleased(ApiError):
    """409: the review does not allow the transfer, or it has ended."""

    code, status, message = "invalid_state", 409, "The transfer has not been approved, or it has ended."

    def __init__(self, review: Review) -> None:
        super().__init__(members={"details": {"review": review}})


class PasswordWasReset(ApiError):
    """409: a password of the merchant was reset, and fewer than two operators have approved the transfer."""

    code, status = "invalid_state", 409
    message = (
        "A password of the merchant was reset, and fewer than two operators have approved the payout. It leaves "
        "72 hours after the reset."
    )

    def __init__(self, until: datetime) -> None:
        super().__init__(members={"details": {"until": stamp(until)}})


class DestinationWaits(ApiError):
    """409: the address of a user of the merchant was changed, and this destination is newer; `details.until` is the end."""

    code, status = "destination_waits", 409
    message = (
        "The email address of a user of this merchant was changed less than 72 hours ago. Until that cannot be undone any "
        "more, money to new recipients waits."
    )
    solution = "Wait until `details.until`, or pay a recipient that was paid or saved before the change."

    def __init__(self, until: datetime) -> None:
        super().__init__(members={"details": {"until": stamp(until)}})


class DestinationRefused(ApiError):
    """409: a change of the address of a user was undone, and this destination was new meanwhile."""

    code, status = "destination_refused", 409
    message = (
        "A change of the email address of a user of this merchant was undone. Money that was sent to a new recipient before "
        "that does not leave."
    )
    solution = "Create it again if you recognize the recipient. Delete a saved recipient first, and add it again."


class SecondMemberRequired(ApiError):
    """409: above the amount that the team set, a second member approves first."""

    code, status = "second_member_required", 409
    message = "A second member of the team has to approve this first."
    solution = "Ask another member who may move money to approve it on its page."


class MerchantSuspended(ApiError):
    """403: the merchant is suspended."""

    code, status, message = "account_suspended", 403, "The merchant is suspended. Its payouts are blocked."


class SavedRecipient(Struct, frozen=True, kw_only=True):
    """A recipient of withdrawals by one method. It never changes, and can be paid from `active_at` on.

    `account` is the receiver in the rail's notation. In test mode `active_at` is a time of the test clock.
    """

    id: UUID
    name: Annotated[str, example("Nina Bo")]
    """Name under which the recipient is listed."""
    method_id: str
    receiver: str
    provider_fields: Json[dict[str, Any]]
    env: MerchantEnv
    active_at: datetime
    """From when on it can be paid."""
    created_at: datetime
    rail: Internal[str]
    account: Internal[str]

    def label(self, catalogue: Catalogue) -> str:
        """The name, with the currency of the method if the catalogue still has it."""
        method = catalogue.withdrawal_methods.get(self.method_id)
        return self.name if method is None else f"{self.name} ({method.currency})"


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
