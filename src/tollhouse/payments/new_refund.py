"""The body of POST /transactions/{id}/refunds, and everything that can be wrong with it, told at once."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from tollhouse.catalogue.currencies import Currency
from tollhouse.kernel import limits
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.refusals import Fault, ValidationFailed
from tollhouse.payments.model import RefundReason
from tollhouse.payments.new_link import AMOUNT_SCHEMA, metadata_faults
from tollhouse.rails.provider import Provider


class NewRefund(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant asks for. No amount: everything that is left."""

    amount: Annotated[Any, Meta(extra_json_schema=AMOUNT_SCHEMA)] = None
    reason: RefundReason = "customer_request"
    receiver: str | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None


def check(new: NewRefund, currency: Currency, provider: Provider | None) -> int | None:
    """The amount in minor units, None where everything is meant. Raises `ValidationFailed` with every fault."""
    amount_minor = parse_amount(new.amount, currency.decimals) if isinstance(new.amount, str) else None
    faults = [*_faults(new, currency, amount_minor, provider), *metadata_faults(new.metadata or {})]
    if faults:
        raise ValidationFailed(*faults)
    return amount_minor


def _faults(new: NewRefund, currency: Currency, amount_minor: int | None, provider: Provider | None) -> Iterator[Fault]:
    if new.amount is not None and amount_minor is None:
        yield Fault(
            "amount",
            "invalid_amount",
            f"A decimal string above zero with at most {currency.decimals} digits after the point.",
        )
    wrong = provider.receiver_fault(new.receiver) if provider is not None else None
    if wrong is not None:
        yield Fault("receiver", "missing" if new.receiver is None else "invalid_value", wrong)
    if new.external_id is not None and not (
        1 <= len(new.external_id) <= limits.EXTERNAL_ID_CHARS_MAX and new.external_id.isprintable()
    ):
        yield Fault("external_id", "invalid_value", "1 to 128 printable characters.")
