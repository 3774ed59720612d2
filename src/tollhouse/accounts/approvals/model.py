"""Reviewers, approvals, and the errors of operators' actions."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.credentials import email_key
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import ClientId, MerchantId, Mode
from tollhouse.kernel.limits import REASON_CHARS_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.text import Text, Translatable, joined

TWO = 2
LOCAL_ADMINISTRATOR = "local administrator"
"""The operator of commands without `--as`: one person, whatever the system user is called."""
Action = Literal[
    "merchant_suspended",
    "merchant_reactivated",
    "project_approval_given",
    "project_approved",
    "project_rejected",
    "project_changes_approved",
    "project_changes_rejected",
    "adjustment_approved",
    "balance_adjusted",
    "operator_invited",
    "operator_joined",
    "operator_closed",
    "withdrawal_approval_given",
    "withdrawal_approved",
    "withdrawal_rejected",
    "refund_approval_given",
    "refund_approved",
    "refund_rejected",
    "statement_imported",
    "import_confirmed",
    "transfer_assigned",
    "transfer_dismissed",
    "batch_exported",
    "bitcoin_batch_exported",
    "bitcoin_batch_imported",
    "bitcoin_batch_replaced",
    "bitcoin_batch_canceled",
    "network_payouts_exported",
    "network_payouts_imported",
    "payout_approved",
    "payout_refusal_approved",
    "payout_refused",
    "payout_to_be_refused",
    "payouts_paused",
    "payouts_resumed",
    "transfer_matched",
    "transfer_recorded_as_fee",
    "transfer_written_off",
    "transfer_reopened",
    "transfer_taken_back",
    "transfer_return_approved",
    "payout_returned",
    "position_limit_changed",
    "rail_float_changed",
    "second_factor_removed",
    "sessions_ended",
    "application_suspended",
    "application_reactivated",
    "application_device_writes_allowed",
    "application_device_writes_withdrawn",
    "application_approved",
    "application_approval_withdrawn",
    "application_verified",
    "application_verification_withdrawn",
    "merchant_exported",
    "merchant_erased",
    "person_exported",
    "person_erased",
]
REASON_RULE = Text("Enter a reason: one line of 1 to %(most)s characters.", most=REASON_CHARS_MAX)


class OperatorRefusedError(Exception):
    """The action is not possible; the message says why. Nothing was changed."""

    def __init__(self, message: Translatable) -> None:
        super().__init__(message)
        self.message = message

    @property
    def notice(self) -> Translatable:
        """The message for the page that the operator acted on."""
        return joined("No changes were made.", self.message)


class ApprovedBefore(OperatorRefusedError):
    """The reviewer has already approved it."""

    def __init__(self) -> None:
        super().__init__("You already approved this. A second operator must approve it too.")


class Reviewer(Struct, frozen=True):
    """The person who decides. `name` is an operator's email address, or the local administrator."""

    name: str
    on_command_line: bool = False

    def is_among(self, names: tuple[str, ...]) -> bool:
        """Whether one of these names is the same person, compared by normalized email address."""
        return email_key(self.name) in {email_key(name) for name in names}


class Approvals(Struct, frozen=True):
    """The approvals so far, the number given on the command line, and the number needed.

    `single_operator`: one is enough, because the installation has a single operator (`TOLLHOUSE_TWO_OPERATORS=off`).
    """

    given: tuple[str, ...]
    by_command: int
    needed: int
    single_operator: bool = False

    @property
    def complete(self) -> bool:
        """Whether there are enough approvals. Where two are needed, those given on the command line do not count."""
        if self.needed < TWO:
            return len(self.given) >= self.needed
        return len(self.given) - self.by_command >= (1 if self.single_operator else self.needed)


DecisionKind = Literal["adjustment", "payout_return", "payout_refusal", "statements"]


class Decision(Struct, frozen=True):
    """A decision that two operators make: about what, and on which terms. Other terms are another decision."""

    kind: DecisionKind
    subject_id: UUID
    terms: str


class GivenApproval(Struct, frozen=True):
    """An approval that waits for the second one."""

    terms: str
    operator: str
    reason: str | None
    given_at: Timestamp


class OperatorContext(Struct, frozen=True):
    """The acting operator, the time and the reason. `operator` is an email address, or the local administrator."""

    operator: str
    at: datetime
    reason: str | None = None
    on_command_line: bool = False

    @property
    def reviewer(self) -> Reviewer:
        """The operator as a reviewer."""
        return Reviewer(self.operator, self.on_command_line)


class OperatorAction(Struct, frozen=True, kw_only=True):
    """An action in the history. `mode` is None if it concerns both environments; `merchant_id` if it concerns no merchant.

    `client_id` is the application it concerns; the subject is then its owner. `single_operator`: it approved alone what
    otherwise needs two operators.
    """

    action_id: UUID
    operator: str
    action: Action
    merchant_id: MerchantId | None
    mode: Mode | None = None
    subject_id: UUID
    reason: str | None
    currency: str | None = None
    amount_minor: int | None = None
    on_command_line: bool = False
    at: Timestamp
    client_id: ClientId | None = None
    single_operator: bool = False

    @property
    def summary(self) -> str:
        """The action and its subject."""
        return f"{self.action} {self.client_id or self.subject_id}"


class SubjectNotFoundError(OperatorRefusedError):
    """There is no such merchant, application, project, withdrawal or refund."""


class SubjectChangedError(OperatorRefusedError):
    """The subject was changed or decided since the operator opened it."""


def is_reason(text: str) -> bool:
    """Whether the text is a valid reason."""
    return 1 <= len(text.strip()) <= len(text) <= REASON_CHARS_MAX and is_readable(text)
