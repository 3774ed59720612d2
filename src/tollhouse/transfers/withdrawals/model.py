"""Withdrawals, their batches and schedules: members, costs, errors, methods, and the actions each status allows."""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.record_views import InCurrency
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.withdrawal_methods import FeeMode, ReceiverType, WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import PayoutOrder, RailError
from tollhouse.kernel.rails.registry import Rails
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.records import Array, Internal, Json, Record, Selected
from tollhouse.transfers.orders.quotes import Quote

WithdrawalStatus = Literal["pending_review", "approved", "processing", "completed", "failed", "canceled"]
"""State of a withdrawal.

pending_review: An operator has to approve it.
approved: It waits to be executed.
processing: It is being executed.
completed: The money was sent.
failed: It failed; the money is in the balance again.
canceled: You canceled it; the money is in the balance again.
"""
WaitReason = Literal["destination_waits", "destination_refused", "second_member"]
"""Why a withdrawal is not sent yet, beside its review.

destination_waits: An email address of this account was changed, and this destination is newer.
destination_refused: That change was undone, so the withdrawal will be canceled.
second_member: Another member of the team has to approve it.
"""
SubmissionState = Literal["prepared", "accepted", "unknown"]
FailureCode = Literal["review_rejected", "payout_declined", "receiver_invalid", "returned"]
"""Why a withdrawal failed.

review_rejected: An operator rejected it.
payout_declined: The bank or network declined it.
receiver_invalid: The receiver cannot get money.
returned: The money came back.
"""
CANCELABLE: frozenset[WithdrawalStatus] = frozenset({"pending_review", "approved"})
FAILURES: dict[FailureCode, str] = {
    "review_rejected": "The withdrawal was rejected in review.",
    "payout_declined": "The provider declined the withdrawal.",
    "receiver_invalid": "The provider does not recognize the recipient.",
    "returned": "The withdrawal was sent and then returned.",
}
SPELLED_OUT, GROUP, END = 12, 4, 2
HIDDEN = "\N{BULLET}"
SANDBOX = "sandbox"
UnavailableReason = RailError | Literal["not_in_environment", "disabled_by_operator", "currency_not_supported"]
"""Why a withdrawal method is not available.

provider_not_configured: The operator has not set up the provider.
provider_down: The provider does not answer.
not_in_environment: It does not exist in this environment.
disabled_by_operator: The operator switched it off.
currency_not_supported: It does not pay out this currency.
"""
Frequency = Literal["once", "daily", "weekly", "monthly"]
"""How often a schedule runs.

once: At `scheduled_for`.
daily: Every day.
weekly: On a weekday.
monthly: On a day of the month.
"""
ScheduleStatus = Literal["active", "paused", "ended"]
"""State of a schedule.

active: It runs.
paused: It was paused.
ended: It has ended.
"""
RunOutcome = Literal["created", "skipped", "failed"]
"""Result of a run.

created: A withdrawal was created.
skipped: There was nothing to withdraw.
failed: The withdrawal was refused.
"""
WAITS_UNTIL = """
    CASE WHEN {row}.status IN ('pending_review', 'approved') THEN outgoing_transfers_wait_until(o, now()) END
""".strip()
WAITS_FOR_MEMBER = """
    CASE WHEN {row}.status IN ('pending_review', 'approved') THEN o.second_member_required AND o.second_member_at IS NULL
         ELSE false END
""".strip()
RUN_TIME = time(6)
"""When schedules run, in the merchant's time zone: clocks are changed earlier in the night, so it comes once a day."""
DAYS_SEARCHED = 63


class WithdrawalTerms(Struct, frozen=True):
    """The costs of a withdrawal. Fee mode `deduct` takes the fees from the amount, `add` adds them to it."""

    method_id: str
    currency: str
    amount_minor: int
    network_fee_mode: FeeMode
    system_fee_minor: int
    network_fee_minor: int

    @property
    def debit_minor(self) -> int:
        """The amount that leaves the merchant's balance."""
        return self.amount_minor + (self._fees_minor if self.network_fee_mode == "add" else 0)

    @property
    def receive_minor(self) -> int:
        """The amount that arrives; zero or less where the fees exceed the amount."""
        return self.debit_minor - self._fees_minor

    @property
    def _fees_minor(self) -> int:
        return self.system_fee_minor + self.network_fee_minor


class Withdrawal(Struct, frozen=True, kw_only=True):
    """A payout from a merchant's balance. `debit_minor` is on hold until it completes, fails or is canceled.

    `submission` is the state of the hand-over to the rail: prepared, accepted by the rail, or unknown.
    """

    id: UUID
    method_id: str
    currency: str
    status: Annotated[WithdrawalStatus, example("pending_review")]
    """State of the withdrawal."""
    amount_minor: int
    network_fee_mode: FeeMode
    system_fee_minor: int
    network_fee_minor: int
    debit_minor: int
    receive_minor: int
    receiver: str
    recipient_id: UUID | None = None
    provider_fields: Json[dict[str, Any]]
    quote_id: UUID | None
    batch_id: UUID | None = None
    failure_code: FailureCode | None = None
    provider_reference: str | None = None
    tx_hash: str | None = None
    """Hash of the transfer on the network; null without one."""
    webhook_url: str | None
    external_id: str | None
    description: str | None
    """Your own note."""
    metadata: Json[dict[str, str]]
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    processing_at: datetime | None = None
    completed_at: datetime | None = None
    version: int = 1
    rail: Internal[str]
    batch_row: Internal[int | None] = None
    hold_id: Internal[UUID]
    credential_id: Internal[UUID | None] = None
    """The connection or API key that asked for it."""
    submission: Internal[SubmissionState | None] = None
    network_paid_minor: Internal[int | None] = None
    next_look_at: Internal[datetime | None]
    approvals_needed: Internal[Annotated[int, Selected("o.approvals_needed")]]
    approvals: Internal[Array[Annotated[tuple[str, ...], Selected("o.approvals")]]] = ()
    reviewed_at: Internal[Annotated[datetime | None, Selected("o.reviewed_at")]] = None
    review_note: Internal[Annotated[str | None, Selected("o.review_note")]] = None
    waits_until: Internal[Annotated[datetime | None, Selected(WAITS_UNTIL)]] = None
    """After a change of an address, as it was read: how long an unsent one waits; infinity: it does not leave."""
    waits_for_member: Internal[Annotated[bool, Selected(WAITS_FOR_MEMBER)]] = False
    """Whether a second member has to approve it before it is sent, as it was read."""

    @property
    def cancelable(self) -> bool:
        """Whether it was not handed to the rail yet."""
        return self.status in CANCELABLE

    @property
    def order(self) -> PayoutOrder:
        """The order for the rail. Its id is the withdrawal's, so that a repeated hand-over is sent once."""
        return PayoutOrder(
            self.id, self.method_id, self.currency, self.receive_minor, self.receiver, self.provider_fields, self.created_at
        )


def terms_of(method: WithdrawalMethod, amount_minor: int, mode: FeeMode) -> WithdrawalTerms:
    """The current costs of an amount by a method."""
    fee_minor = method.fees.of(amount_minor)
    return WithdrawalTerms(method.method_id, method.currency, amount_minor, mode, fee_minor, method.network_fee_minor)


def largest_amount(method: WithdrawalMethod, available_minor: int, mode: FeeMode) -> int:
    """The largest amount whose debit the balance covers, within the method's maximum; 0 where there is none."""
    least, most = 0, min(available_minor, method.maximum_minor or available_minor)
    while least < most:  # a fee never falls when the amount rises, so neither does the debit
        middle = (least + most + 1) // 2
        if terms_of(method, middle, mode).debit_minor <= available_minor:
            least = middle
        else:
            most = middle - 1
    return least


class WithdrawalBatch(Struct, frozen=True, kw_only=True):
    """Withdrawals that were created together."""

    id: UUID
    description: str | None
    """Your own description of the batch."""
    item_count: Annotated[int, example(2)]
    """Number of withdrawals."""
    env: MerchantEnv
    created_at: datetime


BATCH = Record(WithdrawalBatch, "withdrawal_batches")
WITHDRAWAL = Record(Withdrawal, "withdrawals")
"""Its statements join the withdrawal's outgoing transfer as `o`."""
WITHDRAWAL_QUOTE = Record(Quote[WithdrawalTerms], "withdrawal_quotes")


class InvalidReceiver(ApiError):
    """422: the rail cannot send money to this receiver."""

    code, status, message = "invalid_receiver", 422, "Withdrawals to this recipient are not possible."
    solution = "Check the receiver against `receiver_type` of the method."

    def __init__(self, reason: Translatable) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, reason)])


class RecipientExists(ApiError):
    """409: a recipient of this method with this account is saved; `details.existing_id` is its id."""

    code, status = "recipient_exists", 409
    message = "This recipient is saved already. To change it, delete it and create it again."
    solution = "Use the recipient with the ID in `details.existing_id`."

    def __init__(self, existing_id: UUID | None) -> None:
        super().__init__(members=None if existing_id is None else {"details": {"existing_id": str(existing_id)}})


class TooManyRecipients(ApiError):
    """409: the environment has the maximum number of saved recipients."""

    code, status, message = "too_many_recipients", 409, "This account has 500 recipients. Delete one to add another."
    solution = "Delete recipients that you do not need."


class TooManySchedules(ApiError):
    """409: the environment has the maximum number of schedules."""

    code, status, message = "too_many_schedules", 409, "This account has 50 schedules. End one to create another."
    solution = "End schedules that you do not need."


class BatchExists(ApiError):
    """409: the batch of this form was created before."""

    code, status, message = "batch_exists", 409, "This batch was created before."
    solution = "Read the batch that was created."


def mask(receiver: str, kind: ReceiverType) -> str:
    """`DE12 7605 0101 •••• •••• 42`; an address as `0x71C7…976F01`."""
    if kind == "sandbox":
        return receiver
    account = "".join(receiver.split())
    if kind != "iban":
        return f"{account[:6]}…{account[-6:]}"
    shown = min(SPELLED_OUT, (len(account) - GROUP - END) // GROUP * GROUP)
    spelled = account[:shown] + HIDDEN * (len(account) - shown - END) + account[-END:]
    return " ".join(spelled[at : at + GROUP] for at in range(0, len(spelled), GROUP))


def last_four(receiver: str, kind: ReceiverType) -> str:
    """`•••• 4300` of an IBAN, for what is sent by email; others as `mask`."""
    return f"{HIDDEN * GROUP} {''.join(receiver.split())[-GROUP:]}" if kind == "iban" else mask(receiver, kind)


def list_methods(mode: Mode, catalogue: Catalogue) -> list[WithdrawalMethod]:
    """The methods of an environment, available or not. Those of the sandbox rail are listed in test mode only."""
    return [method for method in catalogue.withdrawal_methods.values() if method.rail != SANDBOX or mode == "test"]


def unavailable_reason(method: WithdrawalMethod, mode: Mode, rails: Rails, catalogue: Catalogue) -> UnavailableReason | None:
    """Why a method cannot be used in an environment now; None where it can."""
    if (method.rail == SANDBOX) != (mode == "test"):
        return "not_in_environment"
    if not method.enabled:
        return "disabled_by_operator"
    if not catalogue.currencies[method.currency].operations.withdrawals:
        return "currency_not_supported"
    return rails.payout_error(method.rail, mode, method.currency)


class WithdrawalSchedule(Struct, frozen=True, kw_only=True):
    """Withdrawals to a saved recipient: of an amount, or of everything above `keep_minor`.

    `day` is the weekday from Monday as 1, or the day of the month; in a shorter month it is the last one. Times are those of
    the environment: in test mode of its test clock.
    """

    id: UUID
    recipient_id: UUID
    method_id: str
    currency: str
    amount_minor: Annotated[int | None, example(1000)]
    keep_minor: Annotated[int | None, InCurrency("currency")]
    frequency: Annotated[Frequency, example("monthly")]
    day: Annotated[int | None, example(1)]
    description: str | None
    """Description of its withdrawals."""
    webhook_url: str | None
    status: Annotated[ScheduleStatus, example("active")]
    """Whether the schedule runs."""
    next_run_at: datetime | None
    """When it runs next; null if it does not."""
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    next_attempt_at: Internal[datetime | None]
    created_by: Internal[UUID | None]
    """Who answers for its withdrawals."""


class ScheduleRun(Struct, frozen=True, kw_only=True):
    """A run of a schedule: the withdrawal it created, or why it created none."""

    due_at: datetime
    """When the run was due."""
    outcome: Annotated[RunOutcome, example("created")]
    """Result of the run."""
    withdrawal_id: UUID | None
    """ID of the withdrawal that it created; null without one."""
    failure_code: str | None
    at: datetime


def next_run(frequency: Frequency, day: int | None, after: datetime, zone: tzinfo) -> datetime:
    """The first time after this one at which a recurring schedule runs, in UTC."""
    first = after.astimezone(zone).date()
    for date_ in (first + timedelta(days=ahead) for ahead in range(DAYS_SEARCHED)):
        at = datetime.combine(date_, RUN_TIME, zone).astimezone(UTC)
        if at > after and _is_due(frequency, day, date_):
            return at
    raise AssertionError("every frequency has a day within two months")


def _is_due(frequency: Frequency, day: int | None, date_: date) -> bool:
    match frequency:
        case "weekly":
            return date_.isoweekday() == day
        case "monthly":
            return date_.day == min(day or 1, monthrange(date_.year, date_.month)[1])
        case _:
            return True


SCHEDULE = Record(WithdrawalSchedule, "withdrawal_schedules")
RUN = Record(ScheduleRun, "withdrawal_schedule_runs", also=("schedule_id", "merchant_id"))
