"""What the signer signs: each order once, within its own limits, which it counts from its own journal."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from eth_utils.address import is_address, is_checksum_address, to_checksum_address

from tollhouse.kernel import clock
from tollhouse.platform.log.events import log
from tollhouse.rails.evm.signer.journal import JournalError, SignedEntry, SigningJournal
from tollhouse.rails.evm.signer.messages import (
    DepositAddresses,
    DeriveAddresses,
    DescribeWallet,
    FindSigned,
    FoundSigned,
    GasTerms,
    RefusedCode,
    SignerRequest,
    SignerResponse,
    SigningRefused,
    SignTransfer,
    TransferOrder,
    WalletFacts,
)
from tollhouse.rails.evm.signer.policy import NATIVE_DECIMALS, AssetPolicy, NetworkPolicy, SigningPolicy, units_of
from tollhouse.rails.evm.signer.wallet import Wallet

DAY = timedelta(hours=24)
REPLACEMENT_RISE_PERCENT = 10
"""How much more a replacement must pay, in both fees. Nodes refuse less."""
ZERO = "0x" + "0" * 40


class NotSigned(Exception):
    """Raised where a rule forbids to sign."""

    def __init__(self, code: RefusedCode, message: str) -> None:
        super().__init__(message)
        self.response = SigningRefused(code, message)


class Signer:
    """Answers requests, one after the other."""

    def __init__(self, policy: SigningPolicy, wallet: Wallet, journal: SigningJournal) -> None:
        """Raises `JournalError` where the journal belongs to another wallet."""
        if journal.wallet != wallet.address:
            raise JournalError(f"{journal.file} belongs to the wallet {journal.wallet}, the mnemonic to {wallet.address}.")
        self.policy, self.wallet, self.journal = policy, wallet, journal

    def answer(self, request: SignerRequest) -> SignerResponse:
        """The answer. Nothing is raised for what a caller can send."""
        try:
            match request:
                case SignTransfer():
                    return self._sign(request)
                case FindSigned():
                    found = self.journal.by_order.get(request.order_id, [])
                    return FoundSigned(tuple(entry.signed for entry in found))
                case DescribeWallet():
                    return self._describe(request.network)
                case DeriveAddresses():
                    return DepositAddresses(tuple(map(self.wallet.deposit_address, request.indexes)))
        except NotSigned as refused:
            log.warning("signing_refused", code=refused.response.code, detail=str(refused))
            return refused.response

    def _describe(self, name: str) -> WalletFacts:
        network = self._network(name)
        address = self.wallet.address
        next_nonce = self.journal.next_nonces.get((network.chain_id, address), 0)
        used = sum(self._costs(network.chain_id, clock.now()).values())
        limits = (str(units_of(network.fees_per_day, NATIVE_DECIMALS)), str(used))
        return WalletFacts(address, network.chain_id, next_nonce, self._sweep_to(network), *limits)

    def _sign(self, request: SignTransfer) -> SignerResponse:
        if not self.journal.is_usable:
            raise NotSigned("journal_unusable", "The journal could not be written. Restart the signer: it says what to do.")
        network = self._network(request.order.network)
        asset = _asset(network, request.order)
        order = _normal(request.order)
        sender = self.wallet.sender(order)
        signed = self.journal.by_order.get(order.order_id, [])
        for entry in signed:
            _ensure_same(entry, order, sender, request.nonce)
            if entry.terms == request.terms:
                return entry.signed
        _ensure_nonce_free(self.journal, order, sender, request.nonce)
        now = clock.now()
        if signed:
            _ensure_higher_fee(signed[-1].terms, request.terms)
        else:
            self._ensure_receiver(network, asset, order)
            self._ensure_amount(network, asset, order, now)
        self._ensure_fees(network, order, sender, request, now)
        # Nothing below this line may refuse.
        tx_hash, raw = self.wallet.sign(order, request.nonce, request.terms)
        entry = SignedEntry(
            at=now, order=order, sender=sender, nonce=request.nonce, terms=request.terms, tx_hash=tx_hash, raw=raw
        )
        try:
            self.journal.append(entry)
        except (OSError, JournalError) as error:
            log.error("signer_journal_failed", exc_info=error)
            raise NotSigned("journal_unusable", "The journal could not be written. Nothing was given out.") from None
        log.info("transfer_signed", part=order.network, detail=f"{order.purpose} {order.order_id} nonce {request.nonce}")
        return entry.signed

    def _network(self, name: str) -> NetworkPolicy:
        network = self.policy.networks.get(name)
        if network is None:
            raise NotSigned("network_unknown", f"The signer has no network {name}.")
        return network

    def _sweep_to(self, network: NetworkPolicy) -> str:
        return self.wallet.address if network.sweep_to is None else to_checksum_address(network.sweep_to)

    def _ensure_receiver(self, network: NetworkPolicy, asset: AssetPolicy, order: TransferOrder) -> None:
        if order.purpose == "sweep":
            expected = self._sweep_to(network)
        elif order.purpose == "gas":
            if asset.contract is not None or order.index is None:
                raise NotSigned("request_invalid", "Fees of sweeps are sent in the network's own currency, to an index.")
            expected = self.wallet.deposit_address(order.index)
        else:
            own = {
                self.wallet.address.lower(),
                ZERO,
                *(token.contract.lower() for token in network.assets.values() if token.contract),
            }
            if order.receiver.lower() in own:
                raise NotSigned("receiver_invalid", f"{order.receiver} is no account of a receiver.")
            return
        if order.receiver != expected:
            raise NotSigned("receiver_not_allowed", f"The receiver of this must be {expected}.")

    def _ensure_amount(self, network: NetworkPolicy, asset: AssetPolicy, order: TransferOrder, now: datetime) -> None:
        amount = int(order.amount)
        if amount < 1:
            raise NotSigned("amount_invalid", "The amount must be at least 1 unit.")
        if order.purpose == "sweep":
            return
        if order.purpose == "gas":
            if amount > units_of(network.gas_per_sweep, NATIVE_DECIMALS):
                raise NotSigned("limit_per_transfer", f"A sweep gets at most {network.gas_per_sweep} for its fee.")
            _ensure_day(
                self._recent(order, now, "gas"), amount, units_of(network.fees_per_day, NATIVE_DECIMALS), "fees_per_day"
            )
            return
        listed = {receiver.lower() for receiver in network.receivers}
        is_listed = order.receiver.lower() in listed
        limit = asset.per_transfer if is_listed else min(asset.others_per_transfer, asset.per_transfer, key=asset.units)
        if amount > asset.units(limit):
            code: RefusedCode = "limit_per_transfer" if is_listed or asset.units(limit) else "receiver_not_allowed"
            raise NotSigned(code, f"A transfer of {order.asset} to {order.receiver} is limited to {limit}.")
        recent = list(self._recent(order, now, "payout"))
        _ensure_day(recent, amount, asset.units(asset.per_day), "limit_per_day")
        if not is_listed:
            others = (entry for entry in recent if entry.order.receiver.lower() not in listed)
            _ensure_day(others, amount, asset.units(asset.others_per_day), "limit_per_day")

    def _ensure_fees(
        self, network: NetworkPolicy, order: TransferOrder, sender: str, request: SignTransfer, now: datetime
    ) -> None:
        terms = request.terms
        if terms.gas > network.gas_max:
            raise NotSigned("gas_too_high", f"The gas must be at most {network.gas_max}.")
        if not terms.tip_per_gas <= terms.fee_per_gas <= network.fee_per_gas_max:
            raise NotSigned("fee_too_high", f"The fee must be at most {network.fee_per_gas_max_gwei} gwei, with the tip.")
        costs = self._costs(order.chain_id, now)
        costs[sender, request.nonce] = max(costs.get((sender, request.nonce), 0), terms.cost)
        if sum(costs.values()) > units_of(network.fees_per_day, NATIVE_DECIMALS):
            raise NotSigned("fees_per_day", f"Fees of 24 hours are limited to {network.fees_per_day}.")

    def _costs(self, chain_id: int, now: datetime) -> dict[tuple[str, int], int]:
        """What each nonce of the last 24 hours can cost at most."""
        costs: dict[tuple[str, int], int] = {}
        for entry in self._signed_since(now):
            if entry.order.chain_id == chain_id:
                key = (entry.sender, entry.nonce)
                costs[key] = max(costs.get(key, 0), entry.terms.cost)
        return costs

    def _signed_since(self, now: datetime) -> Iterator[SignedEntry]:
        """The entries of the last 24 hours. One whose time is later than now counts, too: a clock can be set back."""
        return (entry for entry in self.journal.entries if entry.at > now - DAY)

    def _recent(self, order: TransferOrder, now: datetime, purpose: str) -> Iterator[SignedEntry]:
        """The first entry of each order of the last 24 hours that moves the same asset for this purpose."""
        for entry in self._signed_since(now):
            same = (entry.order.chain_id, entry.order.contract) == (order.chain_id, order.contract)
            if same and entry.order.purpose == purpose and self.journal.by_order[entry.order.order_id][0] is entry:
                yield entry


def _asset(network: NetworkPolicy, order: TransferOrder) -> AssetPolicy:
    if order.chain_id != network.chain_id:
        raise NotSigned("chain_different", f"The chain of {order.network} is {network.chain_id}.")
    asset = network.assets.get(order.asset)
    if asset is None:
        raise NotSigned("asset_unknown", f"The signer has no {order.asset} on {order.network}.")
    if (order.contract or "").lower() != (asset.contract or "").lower():
        raise NotSigned("contract_different", f"The contract of {order.asset} is {asset.contract}.")
    if not is_address(order.receiver):
        raise NotSigned("receiver_invalid", "The receiver must be 0x and 40 hexadecimal digits.")
    digits = order.receiver[2:]
    if digits not in {digits.lower(), digits.upper()} and not is_checksum_address(order.receiver):
        raise NotSigned("receiver_invalid", "The checksum of the receiver is wrong.")
    if (order.index is None) != (order.purpose == "payout"):
        raise NotSigned("request_invalid", "Sweeps and their fees have an index, payouts have none.")
    return asset


def _normal(order: TransferOrder) -> TransferOrder:
    """The order with its addresses in one form, so that equal orders are equal."""
    return TransferOrder(
        order_id=order.order_id,
        purpose=order.purpose,
        network=order.network,
        chain_id=order.chain_id,
        asset=order.asset,
        contract=None if order.contract is None else to_checksum_address(order.contract),
        receiver=to_checksum_address(order.receiver),
        amount=order.amount,
        index=order.index,
    )


def _ensure_same(entry: SignedEntry, order: TransferOrder, sender: str, nonce: int) -> None:
    if entry.order != order or entry.sender != sender:
        raise NotSigned("order_different", f"Order {order.order_id} was signed for another transfer.")
    if entry.nonce != nonce:
        raise NotSigned("order_has_nonce", f"Order {order.order_id} was signed with the nonce {entry.nonce}.")


def _ensure_nonce_free(journal: SigningJournal, order: TransferOrder, sender: str, nonce: int) -> None:
    if journal.by_nonce.get((order.chain_id, sender, nonce), order.order_id) != order.order_id:
        raise NotSigned("nonce_used", f"The nonce {nonce} belongs to another order.")


def _ensure_higher_fee(last: GasTerms, terms: GasTerms) -> None:
    for before, after in ((last.fee_per_gas, terms.fee_per_gas), (last.tip_per_gas, terms.tip_per_gas)):
        if after * 100 < before * (100 + REPLACEMENT_RISE_PERCENT):
            raise NotSigned(
                "replacement_underpriced", f"A replacement must pay {REPLACEMENT_RISE_PERCENT} % more in both fees."
            )


def _ensure_day(recent: Iterator[SignedEntry] | list[SignedEntry], amount_units: int, limit: int, code: RefusedCode) -> None:
    spent = sum(int(entry.order.amount) for entry in recent)
    if spent + amount_units > limit:
        raise NotSigned(code, f"The limit of 24 hours is {limit} units, and {spent} are used.")
