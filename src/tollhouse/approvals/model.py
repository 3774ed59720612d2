"""Reviewers, approvals, and the errors of operators' actions."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.identity.credentials import email_key
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.text import Translatable, joined

TWO = 2
LOCAL_ADMINISTRATOR = "local administrator"
"""The operator of commands without `--as`: one person, whatever the system user is called."""


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
