"""What the node's wallet lists about deposits, compared with what is known: outputs that changed, and what is reported.

An output is known by its outpoint, whatever block it is in, so it is credited once. Until it has enough confirmations it can
vanish, by a replacement or a reorganisation, and come again.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, Literal

from msgspec import Struct, structs

from tollhouse.rails.bitcoin.network.node import SATOSHIS, WalletEntry, satoshis

OutputStatus = Literal["seen", "vanished", "confirmed", "reversed"]
RELISTED_BLOCKS: Final = 144
"""The newest blocks, which are listed each time: reorganisations are shorter, and mined coins can be spent within them."""

FINAL_AFTER: Final = 100
"""Confirmations after which a credited output is not looked at any more. The index of watched outputs has the same."""

FINALIZED: Final = 6
"""Confirmations where a merchant asks for finality, which Bitcoin does not have."""

PROGRESS_STEPS: Final = 12
"""How often an output that waits for confirmations changes at most."""

REPORT_ORDER: Final = ("reversed", "confirmed", "seen", "vanished")
"""What takes the place of another transaction is reported before that is reported as gone."""

ReportedOutcome = Literal["seen", "vanished", "confirmed", "reversed", "reinstated"]
Outpoint = tuple[str, int]


class Confirmations(Struct, frozen=True):
    """How many confirmations the deposits at an address need, by their sum: fewer up to `small_up_to_minor`."""

    required: int = 2
    small_required: int = 1
    small_up_to_minor: int = 0

    def of(self, amount_minor: int) -> int:
        """The number for deposits of this amount together."""
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

    `arrived_at` is the time of the block, as its miner wrote it; None without a block. `received_at` is when the node had
    the transaction first, by its clock.
    """

    address: str
    outcome: ReportedOutcome
    external_ref: str
    transfer_ref: str
    reversal_ref: str
    amount_minor: int
    arrived_at: datetime | None
    received_at: datetime | None
    confirmations: int
    required_confirmations: int


class OutputChange(Struct, frozen=True):
    """The new state of an output, and what is reported of it; None where its payment does not change."""

    output: DepositOutput
    report: DepositReport | None


def listed_outputs(entries: Iterable[WalletEntry]) -> list[WalletEntry]:
    """Received outputs. Newly mined coins count when they can be spent, after 100 blocks."""
    return [
        entry
        for entry in entries
        if entry.category in {"receive", "generate"}
        and entry.address is not None
        and entry.vout is not None
        and entry.amount > 0
    ]


def unconfirmed(entries: Iterable[WalletEntry], asked: Mapping[str, int]) -> list[str]:
    """The transactions of which only the mempool says whether they are on their way."""
    found = {entry.txid for entry in entries if entry.confirmations == 0}
    return sorted(found | {txid for txid, confirmations in asked.items() if confirmations == 0})


def unlisted(known: Iterable[DepositOutput], entries: Iterable[WalletEntry]) -> list[str]:
    """Transactions to ask the node for: it does not list those whose coins another transaction in the chain has spent."""
    listed = {entry.txid for entry in entries}
    return sorted({output.txid for output in known if output.is_watched and output.txid not in listed})


def changes(
    known: Mapping[Outpoint, DepositOutput],
    entries: Iterable[WalletEntry],
    asked: Mapping[str, int],
    mempool: set[str],
    needed: Confirmations,
    wished: Mapping[str, int] | None = None,
) -> list[OutputChange]:
    """What has changed, in an order in which it can be reported.

    `asked` are the confirmations of transactions that were asked for, which are newer than those of the entries; `mempool`
    are the transactions without a block that are in it. `wished` are the confirmations that merchants want, by address, if
    they are more than those of the rail. What is neither listed nor asked for has not changed. Raises `NodeResponseError`
    for amounts that are not in satoshis.
    """
    found = {(output.txid, output.vout or 0): output for output in listed_outputs(entries)}
    found |= {
        output.outpoint: WalletEntry(
            "receive", Decimal(output.amount_minor) / SATOSHIS, output.txid, 0, output.address, output.vout
        )
        for output in known.values()
        if output.txid in asked and output.outpoint not in found
    }
    found = {
        outpoint: structs.replace(output, confirmations=asked.get(output.txid, output.confirmations))
        for outpoint, output in found.items()
    }
    rules = _Rules(mempool, needed, wished or {}, _sums(known, found, mempool))
    new = [rules.next(known.get(outpoint), entry) for outpoint, entry in found.items()]
    changed = [
        structs.replace(output, version=output.version + 1)
        for output in new
        if output is not None and output != known.get(output.outpoint)
    ]
    ordered = sorted(changed, key=lambda output: REPORT_ORDER.index(output.status))
    return [
        OutputChange(output, rules.report(known.get(output.outpoint), output, found[output.outpoint])) for output in ordered
    ]


def _sums(
    known: Mapping[Outpoint, DepositOutput], found: Mapping[Outpoint, WalletEntry], mempool: set[str]
) -> Mapping[str, int]:
    """The amounts at each address together, of all outputs that were credited or are on their way."""
    amounts = {
        output.outpoint: (output.address, output.amount_minor)
        for output in known.values()
        if output.status in {"seen", "confirmed"}
    }
    for outpoint, output in found.items():
        amounts.pop(outpoint, None)
        if _is_live(output, mempool):
            amounts[outpoint] = (output.address or "", satoshis(output.amount))
    sums: dict[str, int] = {}
    for address, amount_minor in amounts.values():
        sums[address] = sums.get(address, 0) + amount_minor
    return sums


def _is_live(entry: WalletEntry, mempool: set[str]) -> bool:
    """Whether an output is in a block or in the mempool."""
    return entry.confirmations > 0 or (entry.confirmations == 0 and entry.txid in mempool)


class _Rules(Struct, frozen=True):
    """What the state of an output follows from."""

    mempool: set[str]
    needed: Confirmations
    wished: Mapping[str, int]
    sums: Mapping[str, int]

    def required(self, output: DepositOutput) -> int:
        """The confirmations with which an output is credited: as many as all outputs to its address together need."""
        sum_minor = max(self.sums.get(output.address, 0), output.amount_minor)
        return max(self.needed.of(sum_minor), self.wished.get(output.address, 0))

    def next(self, before: DepositOutput | None, entry: WalletEntry) -> DepositOutput | None:
        """The state of an output by what is listed; None for one that was never on its way."""
        confirmations = max(entry.confirmations, 0)
        is_live = _is_live(entry, self.mempool)
        if before is None:
            if not is_live:
                return None
            before = DepositOutput(entry.txid, entry.vout or 0, entry.address or "", satoshis(entry.amount), "seen")
        required = self.required(before)
        if before.status in {"confirmed", "reversed"}:
            return _after_credit(before, confirmations, is_live=is_live, required=required)
        return _before_credit(before, confirmations, is_live=is_live, required=required)

    def report(self, before: DepositOutput | None, output: DepositOutput, entry: WalletEntry) -> DepositReport | None:
        """What is reported; None of an output that was credited before."""
        outcome: ReportedOutcome = output.status
        transfer_ref = external_ref = f"{output.txid}:{output.vout}"
        reversal_ref = ""
        if outcome == "confirmed" and _is_credited(before):
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
            transfer_ref=transfer_ref,
            reversal_ref=reversal_ref,
            amount_minor=output.amount_minor,
            arrived_at=_moment(entry.blocktime),
            received_at=_moment(entry.timereceived),
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


def _moment(timestamp: int | None) -> datetime | None:
    return None if timestamp is None else datetime.fromtimestamp(timestamp, UTC)


def _is_credited(before: DepositOutput | None) -> bool:
    return before is not None and before.status == "confirmed"
