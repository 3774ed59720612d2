"""What an owner sets for the team: how much Support may refund, and second factors of all members."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.identity import second_factor_store
from tollhouse.accounts.identity.model import Person, RoleForbidden, SecondFactorMissing
from tollhouse.accounts.merchants import team_store as store
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


class TeamSettingsChange(Struct, frozen=True, forbid_unknown_fields=True):
    """New settings of the team. What is left out stays as it is."""

    support_refunds: list[RefundLimit] | UnsetType = UNSET
    """How much the role Support may refund; in other currencies nothing."""
    second_factors_required: bool | UnsetType = UNSET
    """Whether every member needs a second factor. The own one has to be set up before."""

    def rule_errors(self, context: ValidationContext) -> list[FieldError]:
        """The errors of every limit."""
        return self.field_errors(context.catalogue)

    def field_errors(self, catalogue: Catalogue) -> list[FieldError]:
        """The errors of every limit."""
        if isinstance(self.support_refunds, UnsetType):
            return []
        if len(self.support_refunds) > limits.LIMITS_MAX:
            return [FieldError("support_refunds", "too_many", messages.items(None, limits.LIMITS_MAX))]
        found, seen = list[FieldError](), set[str]()
        for place, limit in enumerate(self.support_refunds):
            currency = catalogue.currencies.get(limit.currency)
            if currency is None:
                found.append(FieldError(f"support_refunds.{place}.currency", "invalid_currency", messages.A_CURRENCY))
            elif limit.currency in seen:
                found.append(FieldError(f"support_refunds.{place}.currency", "duplicate", messages.NO_REPEAT))
            if minor_of(limit.amount, currency) is None:
                found.append(amount_error(currency, f"support_refunds.{place}.amount"))
            seen.add(limit.currency)
        return found


async def read(db: Pool | Tx, person: Person, catalogue: Catalogue) -> TeamSettings:
    """The present settings."""
    refunds = await store.refund_limits(db, person.merchant_id)
    shown = [RefundLimit(currency, catalogue.format_amount(minor, currency)) for currency, minor in refunds.items()]
    return TeamSettings(shown, await store.are_factors_required(db, person.merchant_id))


async def change(work: Work, person: Person, new: TeamSettingsChange) -> TeamSettings:
    """Save new settings. Raises `ValidationFailed`, and `SecondFactorMissing` for an owner who has none."""
    catalogue, merchant_id = work.services.catalogue, person.merchant_id
    if field_errors := new.field_errors(catalogue):
        raise ValidationFailed(*field_errors)
    await store.lock(work.tx, merchant_id)
    before = await read(work.tx, person, catalogue)
    if new.second_factors_required is True and not await second_factor_store.has_any(work.tx, person.user_id):
        raise SecondFactorMissing
    # Nothing below this line may refuse.
    if not isinstance(new.support_refunds, UnsetType):
        minors = {
            limit.currency: minor_of(limit.amount, catalogue.currencies[limit.currency]) or 0
            for limit in new.support_refunds
        }
        await store.replace_refund_limits(work.tx, merchant_id, minors)
    if not isinstance(new.second_factors_required, UnsetType):
        await store.require_factors(work.tx, merchant_id, work.now, required=new.second_factors_required)
    after = await read(work.tx, person, catalogue)
    if after != before:
        await record.event(work, merchant_id, "settings.team_saved", changed=changes(_described(before), _described(after)))
    return after


async def ensure_refund_allowed(work: Work, person: Person, refund_id: UUID) -> None:
    """Raises `RoleForbidden` if Support refunds more of a payment than an owner allows. The refund is made, uncommitted."""
    if person.role == "support" and not await store.is_refund_within(work.tx, person.merchant_id, refund_id):
        raise RoleForbidden(person.role, ["owner", "administrator", "finance"], ABOVE_LIMIT)


def _described(settings: TeamSettings) -> dict[str, object]:
    refunds = [f"{limit.amount} {limit.currency}" for limit in settings.support_refunds]
    return {"support_refunds": refunds, "second_factors_required": settings.second_factors_required}
