"""What a bank transfer tells the payment that it names."""

from datetime import UTC, date

from tollhouse.kernel.clock import midnight
from tollhouse.kernel.rails.provider import Observation
from tollhouse.rails.bank.files.statement import Part
from tollhouse.rails.bank.model import payer_of
from tollhouse.rails.bank.store import Waiting


def observe_transfer(
    reference: str, transfer: Part | Waiting, *, identity: bytes, nth: int, currency: str, booked_on: date
) -> Observation:
    """The transfer as one of the payment with this reference.

    It has the same `external_ref` whenever it is imported or assigned, so that it is counted once.
    """
    return Observation(
        reference=reference,
        outcome="confirmed",
        external_ref=f"{identity.hex()}/{nth}",
        amount_minor=transfer.amount_minor,
        currency=currency,
        payer=payer_of(transfer.other_iban, transfer.other_name),
        sent_at=transfer.sent_at,
        arrived_at=midnight(booked_on, UTC),
    )
