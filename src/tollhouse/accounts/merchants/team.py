"""What an owner sets for the team: what Support may refund, what needs a second member, and second factors of all."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.identity import second_factor_store
from tollhouse.accounts.identity.model import Person, RoleForbidden, SecondFactorMissing
from tollhouse.accounts.merchants import second_member, second_member_store
from tollhouse.accounts.merchants import team_store as store
from tollhouse.accounts.merchants.second_member import SecondMemberAmount, SecondMemberChange, SecondMemberConfirmation
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.services import Work
from tollhouse.kernel import limits, messages
from tollhouse.kernel.catalogue.amounts import amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.platform.database.pool import Pool, Tx

ABOVE_LIMIT = "Your role (Support) refunds at most what an owner allows in this currency."


class RefundLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """How much the role Support may refund of a payment in one currency."""

    currency: str
    amount: Annotated[str, example("50.00")]
    """Most of all refunds of a payment together."""


class TeamSettings(Struct, frozen=True):
    """What an owner sets for the team."""

    support_refunds: list[RefundLimit]
    """How much the role Support may refund; in other currencies nothing."""
    second_factors_required: bool
    """Whether every member needs a second factor: without one, only its setup can be opened."""
    second_member_above: list[SecondMemberAmount]
    """Above which amount a second member approves withdrawals and refunds to another account.

    With an amount in any currency, one without needs a second member always.
    """
    second_member_changes: list[SecondMemberChange]
    """What a second member has to confirm before it applies."""


class TeamSettingsChange(Struct, frozen=True, forbid_unknown_fields=True):
    """New settings of the team. What is left out stays as it is."""

    support_refunds: list[RefundLimit] | UnsetType = UNSET
    """How much the role Support may refund; in other currencies nothing."""
    second_factors_required: bool | UnsetType = UNSET
    """Whether every member needs a second factor. The own one has to be set up before."""
    second_member_above: list[SecondMemberAmount] | UnsetType = UNSET
    """From which amount on a second member approves. A second member has to confirm what changes after the first amounts."""

    def rule_errors(self, context: ValidationContext) -> list[FieldError]:
        """The errors of every limit."""
        return self.field_errors(context.catalogue)

    def field_errors(self, catalogue: Catalogue) -> list[FieldError]:
        """The errors of every limit."""
        lists = {"support_refunds": self.support_refunds, "second_member_above": self.second_member_above}
        return [
            error
            for name, given in lists.items()
            if not isinstance(given, UnsetType)
            for error in _amount_errors(name, given, catalogue, least=int(name == "support_refunds"))
        ]


def _amount_errors(
    name: str, given: Sequence[RefundLimit | SecondMemberAmount], catalogue: Catalogue, least: int
) -> Iterator[FieldError]:
    if len(given) > limits.LIMITS_MAX:
        yield FieldError(name, "too_many", messages.items(None, limits.LIMITS_MAX))
        return
    seen = set[str]()
    for place, limit in enumerate(given):
        currency = catalogue.currencies.get(limit.currency)
        if currency is None:
            yield FieldError(f"{name}.{place}.currency", "invalid_currency", messages.A_CURRENCY)
        elif limit.currency in seen:
            yield FieldError(f"{name}.{place}.currency", "duplicate", messages.NO_REPEAT)
        if minor_of(limit.amount, currency, least) is None:
            yield amount_error(currency, f"{name}.{place}.amount")
        seen.add(limit.currency)


async def read(db: Pool | Tx, person: Person, catalogue: Catalogue, now: datetime) -> TeamSettings:
    """The present settings."""
    refunds = await store.refund_limits(db, person.merchant_id)
    shown = [RefundLimit(currency, catalogue.format_amount(minor, currency)) for currency, minor in refunds.items()]
    required = await store.are_factors_required(db, person.merchant_id)
    found = await second_member_store.rules(db, person.merchant_id, now)
    amounts, waiting = second_member.amounts_of(found, catalogue), second_member.changes_of(found, catalogue)
    return TeamSettings(shown, required, amounts, waiting)


async def change(work: Work, person: Person, new: TeamSettingsChange) -> TeamSettings:
    """Save new settings.

    Raises `ValidationFailed`, `NoSecondMember`, and `SecondFactorMissing` for an owner who has none.
    """
    catalogue, merchant_id = work.services.catalogue, person.merchant_id
    if field_errors := new.field_errors(catalogue):
        raise ValidationFailed(*field_errors)
    await store.lock(work.tx, merchant_id)
    before = await read(work.tx, person, catalogue, work.now)
    if new.second_factors_required is True and not await second_factor_store.has_any(work.tx, person.user_id):
        raise SecondFactorMissing
    if not isinstance(new.second_member_above, UnsetType):
        above = {
            one.currency: minor_of(one.amount, catalogue.currencies[one.currency], 0) or 0 for one in new.second_member_above
        }
        await second_member.change(work, person, above)
    # Nothing below this line may refuse.
    if not isinstance(new.support_refunds, UnsetType):
        minors = {
            limit.currency: minor_of(limit.amount, catalogue.currencies[limit.currency]) or 0
            for limit in new.support_refunds
        }
        await store.replace_refund_limits(work.tx, merchant_id, minors)
    if not isinstance(new.second_factors_required, UnsetType):
        await store.require_factors(work.tx, merchant_id, work.now, required=new.second_factors_required)
    after = await read(work.tx, person, catalogue, work.now)
    if after != before:
        await record.event(work, merchant_id, "settings.team_saved", changed=changes(_described(before), _described(after)))
    return after


async def confirm(work: Work, person: Person, shown: SecondMemberConfirmation) -> TeamSettings:
    """Confirm a change of what needs a second member. Raises `NotFound` and `NotSecondMember`."""
    await store.lock(work.tx, person.merchant_id)
    await second_member.confirm(work, person, shown)
    return await read(work.tx, person, work.services.catalogue, work.now)


async def ensure_refund_allowed(work: Work, person: Person, refund_id: UUID) -> None:
    """Raises `RoleForbidden` if Support refunds more of a payment than an owner allows. The refund is made, uncommitted."""
    if person.role == "support" and not await store.is_refund_within(work.tx, person.merchant_id, refund_id):
        raise RoleForbidden(person.role, ["owner", "administrator", "finance"], ABOVE_LIMIT)


def _described(settings: TeamSettings) -> dict[str, object]:
    refunds = [f"{limit.amount} {limit.currency}" for limit in settings.support_refunds]
    return {
        "support_refunds": refunds,
        "second_factors_required": settings.second_factors_required,
        "second_member_above": [f"{one.amount} {one.currency}" for one in settings.second_member_above],
        "second_member_requested": [f"{one.amount or ''} {one.currency}".strip() for one in settings.second_member_changes],
    }
