"""What tests of the bank do again and again: sell in live mode, be the bank, and be the operator."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from tests.cast import Actor
from tests.payments.shop import approve_project, choose
from tests.rails.bank.camt import BIC, CUSTOMER_IBAN, HOLDER, IBAN, Line, read, statement
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorContext, Reviewer
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.refunds.jobs import submit_refunds
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import accounts_store, actions, imports, payouts, payouts_store, store
from tollhouse.rails.bank.files.batch import Batch
from tollhouse.rails.bank.files.statement import net_minor
from tollhouse.rails.bank.files.transfer import BankAccount
from tollhouse.rails.bank.model import AccountKey, BookedAccount, Imported, ListedPayout, ListedTransfer
from tollhouse.rails.batches.model import Decided
from tollhouse.transfers.withdrawals import changes as withdrawal_changes
from tollhouse.transfers.withdrawals import store as withdrawals_store
from tollhouse.transfers.withdrawals.jobs import advance_withdrawals

ACCOUNT = BankAccount(IBAN, HOLDER, BIC)
DECIMALS = {"EUR": 2}


@dataclass
class Bank:
    """The bank, and the operator who goes between it and the instance."""

    services: Services

    async def shows(self, *lines: Line, **changes: Any) -> Imported:
        """A statement of these lines is imported, which continues those before it unless it has another `opening`."""
        return await self.brings(await self.statement(*lines, **changes))

    async def statement(self, *lines: Line, **changes: Any) -> bytes:
        """A statement of these lines. Its opening balance is that of the books before those lines that are new."""
        if "opening" not in changes:
            shown: dict[str, Any] = {**changes, "first_page": True}
            entries = read(statement(*lines, **shown), DECIMALS)[0].entries
            accounts, known = await self.services.db.transact(lambda tx: _books(tx, [entry.identity for entry in entries]))
            account = accounts.get((IBAN, "EUR"))
            if account is not None:
                again = [entry for entry in entries if entry.identity in known]
                changes["opening"] = account.balance_minor - net_minor(again)
        return statement(*lines, **changes)

    async def brings(self, raw: bytes) -> Imported:
        """This file is imported."""
        return (await imports.import_file(raw, ACCOUNT, context(), self.services)).imported

    async def brings_confirmed(self, raw: bytes) -> Imported:
        """This file is imported, when a second operator has confirmed it if it has statements without balances."""
        import_id = await imports.upload(raw, ACCOUNT, context(), self.services)
        ended = await imports.finish(import_id, ACCOUNT, self.services)
        if ended.status == "unconfirmed":
            await self.confirm(import_id, "otto@house.example")
            ended = await imports.finish(import_id, ACCOUNT, self.services)
        imports.ensure_imported(ended)
        return ended.imported

    async def confirm(self, import_id: UUID, name: str, *, command: bool = False) -> Decided:
        """An operator confirms a file."""
        by = OperatorContext(name, clock.now(), "Compared with the account", on_command_line=command)
        return await self.services.transact(lambda work: imports.confirm(work, import_id, by), by.at)

    async def waiting(self, words: str) -> list[ListedTransfer]:
        """The transfers with these words that nobody could place."""
        return [
            one
            for one in await store.unmatched(self.services.db, self.services.catalogue)
            if words in f"{one.words} {one.other_name}"
        ]

    async def assign(self, transfer_id: UUID, reference: str) -> Decided:
        """The operator knows what it pays."""
        asked = context("Asked the customer")
        return await self.services.transact(lambda work: actions.assign(work, transfer_id, reference, asked), asked.at)

    async def dismiss(self, transfer_id: UUID) -> Decided:
        """The operator knows that it is no business of ours."""
        fee = context("Fee of the bank")
        return await self.services.transact(lambda work: actions.dismiss(work, transfer_id, fee), fee.at)

    async def decide(self, action: Callable[..., Awaitable[Decided]], transfer_id: UUID, *args: Any) -> Decided:
        """The operator decides about a transfer by one of the actions."""
        by = context("As the bank explained")
        return await self.services.transact(lambda work: action(work, transfer_id, *args, by), by.at)

    async def payouts(self) -> dict[str, ListedPayout]:
        """What leaves, by id."""
        listed = await self.services.db.transact(lambda tx: payouts.listed(tx, None, clock.now(), self.services.catalogue))
        return {str(payout.id): payout for payout in listed}

    async def export(self, *payout_ids: str, account: BankAccount = ACCOUNT) -> Batch:
        """The operator takes these payouts to the bank."""
        wanted, by = [UUID(payout_id) for payout_id in payout_ids], context()
        return await self.services.transact(lambda work: payouts.export(work, account, wanted, by), by.at)

    async def export_again(self, batch_id: UUID) -> Batch | None:
        """The batch, once more."""
        return await payouts_store.batch(self.services.db, batch_id)

    async def refuse(self, payout_id: str) -> Decided:
        """The operator keeps a payout here."""
        closed = context("Account closed")
        return await self.services.transact(lambda work: payouts.refuse(work, UUID(payout_id), closed), closed.at)


@asynccontextmanager
async def bank_of(service: Service) -> AsyncIterator[Bank]:
    """The bank of a service, with connections of its own."""
    services = service.create_services(connections=4)
    try:
        yield Bank(services)
    finally:
        await services.close()


def context(reason: str = "") -> OperatorContext:
    """The operator of these tests."""
    return OperatorContext("olga", clock.now(), reason)


async def offer(actor: Actor, amount: str = "10.00", **changes: Any) -> tuple[dict[str, Any], str, str]:
    """A live link that a customer wants to pay by transfer: the link, the payment's id, and its reference."""
    if not (await actor.get("/projects", mode="live")).ok().body["projects"]:
        await approve_project(actor, "live")
    body = {"display_name": "Coffee", "amount": amount, "currency": "EUR"} | changes
    link = (await actor.post("/payment-links", body, mode="live")).ok(201).body
    payment_id = (await choose(link, "sepa:EUR")).ok(303).query["payment"]
    [row] = await actor.sql("SELECT rail_reference FROM transactions WHERE id = $1::uuid", payment_id)
    return link, payment_id, row["rail_reference"]


async def payment(actor: Actor, payment_id: str) -> dict[str, Any]:
    """The payment as it is now."""
    return (await actor.get(f"/transactions/{payment_id}", mode="live")).ok().body


async def euros(actor: Actor) -> tuple[int, int, int]:
    """What is available, reserved and owed, in cents of live mode."""
    found = (await actor.get("/balances/EUR", mode="live")).ok().body
    return found["available_minor"], found["reserved_minor"], found["debt_minor"]


async def earned(actor: Actor, bank: Bank, amount: str = "10.00") -> str:
    """A payment that was made by transfer: its id."""
    _, payment_id, reference = await offer(actor, amount)
    await bank.shows(Line(round(float(amount) * 100), structured=reference))
    return payment_id


async def refunded(actor: Actor, bank: Bank, payment_id: str, amount: str = "4.00") -> str:
    """A refund that the rail has accepted and that waits to be exported: its id."""
    body = {"amount": amount, "receiver": CUSTOMER_IBAN}
    asked = (await actor.post(f"/transactions/{payment_id}/refunds", body, key=str(uuid4()), mode="live")).ok(201).body
    return await prepared(bank, asked["id"])


async def withdrawn(actor: Actor, bank: Bank, amount: str = "4.00", receiver: str = CUSTOMER_IBAN, **details: Any) -> str:
    """A withdrawal that an operator approved and that waits to be exported: its id. `details`: of the recipient."""
    fields = {"account_holder_name": "Alice Arabica", "reference": "Beans"} | details
    body = {"method_id": "sepa:EUR", "amount": amount, "receiver": receiver, "provider_fields": fields}
    asked = (await actor.post("/withdrawals", body, key=str(uuid4()), mode="live")).ok(201).body
    assert asked["status"] == "pending_review"
    env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live")

    async def approve(tx: Any) -> None:
        current = await withdrawals_store.lock(tx, env, UUID(asked["id"]))
        await withdrawal_changes.approve(tx, current, Reviewer("olga"), None, clock.now())

    await bank.services.db.transact(approve)
    return await prepared(bank, asked["id"])


async def _books(tx: Tx, identities: list[bytes]) -> tuple[dict[AccountKey, BookedAccount], set[bytes]]:
    return await accounts_store.list_all(tx), await accounts_store.known_identities(tx, identities)


async def prepared(bank: Bank, order_id: str) -> str:
    """The same id, when the worker has handed the order to the rail."""
    await submit_refunds(bank.services)
    await advance_withdrawals(bank.services)
    assert order_id in await bank.payouts()
    return order_id
