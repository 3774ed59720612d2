"""What the node's wallet lists about deposits, compared with what is known: outputs that changed, and what is reported.

An output is known by its outpoint, whatever block it is in, so it is credited once. Until it has enough confirmations it can
vanish, by a replacement or a reorganisation, and come again.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, Literal

from msgspec import Struct, structs

from tollhouse.rails.bitcoin.node import SATOSHIS, WalletEntry, satoshis

OutputStatus = Literal["seen", "vanished", "confirmed", "reversed"]
RELISTED_BLOCKS: Final = 144
"""The newest blocks, which are listed each time: reorganisations are shorter, and mined coins can be spent within them."""

FINAL_AFTER: Final = 100
"""Confirmations after which a credited output is not looked at any more. The index of watched outputs has the same."""

FINALIZED: Final = 6
"""Confirmations where a merchant asks for finality, which Bitcoin does not have."""

PROGRESS_STEPS: Final = 12
"""How often an output that waits for confirmations changes at most."""

ReportedOutcome = Literal["seen", "vanished", "confirmed", "reversed", "reinstated"]
Outpoint = tuple[str, int]


class Confirmations(Struct, frozen=True):
    """How many confirmations a deposit needs, by its amount: fewer up to `small_up_to_minor`."""

    required: int = 2
    small_required: int = 1
    small_up_to_minor: int = 0

    def of(self, amount_minor: int) -> int:
        """The number for a deposit of this amount."""
        return self.small_required if amount_minor <= self.small_up_to_minor else self.required


class DepositOutput(Struct, frozen=True):
    """An output to an address of the account.

    `seen`: in the mempool or in too few blocks; `vanished`: in neither; `confirmed`: credited; `reversed`: credited, and in
    neither. `version` counts its changes.
    """

    txid: str
    vout: int
    address: str
    amount_minor: int
    status: OutputStatus
    confirmations: int = 0
    version: int = 0

    @property
    def is_watched(self) -> bool:
        """Whether it is asked for, as it can vanish, be reversed or reinstated. What vanished is listed if it returns."""
        return self.status in {"seen", "reversed"} or (self.status == "confirmed" and self.confirmations < FINAL_AFTER)

    @property
    def outpoint(self) -> Outpoint:
        """What identifies the output."""
        return self.txid, self.vout


class DepositReport(Struct, frozen=True):
    """What is reported of a payment. A repeated report has the same references and outcome, and changes nothing.

    `arrived_at` is the time of the block, as its miner wrote it; None without a block.
    """

    address: str
    outcome: ReportedOutcome
    external_ref: str
    reversal_ref: str
    amount_minor: int
    arrived_at: datetime | None
    confirmations: int
    required_confirmations: int


class OutputChange(Struct, frozen=True):
    """The new state of an output, and what is reported of it; None where its payment does not change."""

    output: DepositOutput
    report: DepositReport | None


def listed_outputs(entries: Iterable[WalletEntry]) -> list[WalletEntry]:
    """Received outputs. Newly mined coins count when they can be spent, after 100 blocks."""
    return [
        one
        for one in entries
        if one.category in {"receive", "generate"} and one.address is not None and one.vout is not None and one.amount > 0
    ]


def unconfirmed(entries: Iterable[WalletEntry], asked: Mapping[str, int]) -> list[str]:
    """The transactions of which only the mempool says whether they are on their way."""
    found = {one.txid for one in entries if one.confirmations == 0}
    return sorted(found | {txid for txid, confirmations in asked.items() if confirmations == 0})


def unlisted(known: Iterable[DepositOutput], entries: Iterable[WalletEntry]) -> list[str]:
    """Transactions to ask the node for: it does not list those whose coins another transaction in the chain has spent."""
    listed = {one.txid for one in entries}
    return sorted({one.txid for one in known if one.is_watched and one.txid not in listed})


def changes(
    known: Mapping[Outpoint, DepositOutput],
    entries: Iterable[WalletEntry],
    asked: Mapping[str, int],
    mempool: set[str],
    needed: Confirmations,
    wished: Mapping[str, int] | None = None,
) -> list[OutputChange]:
    """What has changed, in an order in which it can be reported: what is gone first.

    `asked` are the confirmations of transactions that were asked for, which are newer than those of the entries; `mempool`
    are the transactions without a block that are in it. `wished` are the confirmations that merchants want, by address, if
    they are more than those of the rail. What is neither listed nor asked for has not changed. Raises `NodeResponseError`
    for amounts that are not in satoshis.
    """
    rules = _Rules(mempool, needed, wished or {})
    found = {(one.txid, one.vout or 0): one for one in listed_outputs(entries)}
    found |= {
        one.outpoint: WalletEntry("receive", Decimal(one.amount_minor) / SATOSHIS, one.txid, 0, one.address, one.vout)
        for one in known.values()
        if one.txid in asked and one.outpoint not in found
    }
    found = {
        outpoint: structs.replace(one, confirmations=asked.get(one.txid, one.confirmations))
        for outpoint, one in found.items()
    }
    new = [rules.next(known.get(outpoint), entry) for outpoint, entry in found.items()]
    changed = [
        structs.replace(one, version=one.version + 1) for one in new if one is not None and one != known.get(one.outpoint)
    ]
    now = {**known, **{one.outpoint: one for one in changed}}
    live = {one.address for one in now.values() if one.status == "seen"}
    ordered = sorted(changed, key=lambda one: one.status not in {"vanished", "reversed"})
    return [
        OutputChange(one, rules.report(known.get(one.outpoint), one, live, found[one.outpoint].blocktime)) for one in ordered
    ]


class _Rules(Struct, frozen=True):
    """What the state of an output follows from."""

    mempool: set[str]
    needed: Confirmations
    wished: Mapping[str, int]

    def required(self, output: DepositOutput) -> int:
        """The confirmations with which an output is credited."""
        return max(self.needed.of(output.amount_minor), self.wished.get(output.address, 0))

    def next(self, before: DepositOutput | None, entry: WalletEntry) -> DepositOutput | None:
        """The state of an output by what is listed; None for one that was never on its way."""
        confirmations = max(entry.confirmations, 0)
        is_live = confirmations > 0 or (entry.confirmations == 0 and entry.txid in self.mempool)
        if before is None:
            if not is_live:
                return None
            before = DepositOutput(entry.txid, entry.vout or 0, entry.address or "", satoshis(entry.amount), "seen")
        required = self.required(before)
        if before.status in {"confirmed", "reversed"}:
            return _after_credit(before, confirmations, is_live=is_live, required=required)
        return _before_credit(before, confirmations, is_live=is_live, required=required)

    def report(
        self, before: DepositOutput | None, output: DepositOutput, live: set[str], blocktime: int | None
    ) -> DepositReport | None:
        """What is reported. A payment vanishes when nothing else is on its way to its address."""
        outcome: ReportedOutcome = output.status
        external_ref, reversal_ref = f"{output.txid}:{output.vout}", ""
        if (outcome == "vanished" and output.address in live) or (outcome == "confirmed" and _is_credited(before)):
            return None
        if outcome == "reversed":
            reversal_ref = str(output.version)
        elif before is not None and before.status == "reversed":
            outcome, reversal_ref = "reinstated", str(before.version)
        elif outcome != "confirmed":  # which is reported once, whatever changed before
            external_ref += f"/{output.version}"
        return DepositReport(
            address=output.address,
            outcome=outcome,
            external_ref=external_ref,
            reversal_ref=reversal_ref,
            amount_minor=output.amount_minor,
            arrived_at=None if blocktime is None else datetime.fromtimestamp(blocktime, UTC),
            confirmations=output.confirmations,
            required_confirmations=self.required(output),
        )


def _before_credit(before: DepositOutput, confirmations: int, *, is_live: bool, required: int) -> DepositOutput:
    """One that was not credited: it is on its way, in enough blocks, or gone."""
    if not is_live:
        return before if before.status == "vanished" else structs.replace(before, status="vanished", confirmations=0)
    if confirmations >= required:
        return structs.replace(before, status="confirmed", confirmations=confirmations)
    step = max(required // PROGRESS_STEPS, 1)
    if before.status == "seen" and 0 < before.confirmations < confirmations < before.confirmations + step:
        return before
    return structs.replace(before, status="seen", confirmations=confirmations)


def _after_credit(before: DepositOutput, confirmations: int, *, is_live: bool, required: int) -> DepositOutput:
    """One that was credited: it is gone when it is neither in a block nor in the mempool, and back in enough blocks."""
    if before.status == "confirmed" and not is_live:
        return structs.replace(before, status="reversed")
    if before.status == "reversed" and confirmations >= required:
        return structs.replace(before, status="confirmed", confirmations=confirmations)
    if before.status == "confirmed" and before.confirmations < FINAL_AFTER <= confirmations:
        return structs.replace(before, confirmations=confirmations)
    return before


def _is_credited(before: DepositOutput | None) -> bool:
    return before is not None and before.status == "confirmed"
