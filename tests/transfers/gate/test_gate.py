"""No money leaves by a rail past the gate: neither by what the code can say, nor by what the database takes."""

import ast
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.cast import Actor, suspend
from tests.payments.bank import refund, sell
from tests.sources import OF_THE_SOURCE, PACKAGE, modules_below, tree_of
from tests.transfers.conversions.steps import EURO_TO_DOLLAR
from tests.transfers.withdrawals.steps import asked, fund
from tollhouse.accounts.approvals.model import Approvals
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.ledger.books.model import (
    Account,
    EntryType,
    JournalEntry,
    Posting,
    Source,
    available,
    equity,
    income,
    payable,
    rail,
)
from tollhouse.ledger.books.post import post_now
from tollhouse.transfers.conversions import actions as conversions
from tollhouse.transfers.conversions.actions import NewConversion
from tollhouse.transfers.gate import gate, store
from tollhouse.transfers.gate.model import OutgoingTransfer, PasswordWasReset

CREDITS_A_RAIL = {
    "rails/bank/accounts.py",
    "rails/cards/balances.py",
    "rails/bitcoin/sending.py",
    "rails/evm/network_fees.py",
    "pages/console/actions.py",
    "transfers/gate/gate.py",
    "payments/refunds/chargebacks.py",
    "payments/refunds/reversals.py",
}
"""The gate, what a rail takes by itself, what statements clear, and what operators take of their own money."""
DEBIT = 3
"""Which argument of a `Posting` is debited."""


class EverythingIsUndoneError(Exception):
    """Ends a transaction that did what it should."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of ours, by its path."""
    for path in modules_below(PACKAGE):
        yield path.relative_to(PACKAGE).as_posix(), tree_of(path)


def names_rail(tree: ast.Module) -> bool:
    """Whether the module knows the accounts of rails."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "tollhouse.ledger.books.model"
        and any(name.name == "rail" for name in node.names)
        for node in ast.walk(tree)
    )


def calls(tree: ast.AST, name: str) -> list[ast.Call]:
    """The calls of a function of this name."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [node for node in found if isinstance(node.func, ast.Name) and node.func.id == name]


@pytest.mark.long
@OF_THE_SOURCE
def test_only_the_gate_credits_a_rail() -> None:
    """Everywhere else a rail's account is the debit side of a posting: money comes in."""
    knowing = {path: tree for path, tree in modules() if names_rail(tree)}
    assert set(knowing) > CREDITS_A_RAIL
    for path, tree in knowing.items():
        debited = [id(posting.args[DEBIT]) for posting in calls(tree, "Posting") if len(posting.args) > DEBIT]
        others = [call.lineno for call in calls(tree, "rail") if id(call) not in debited]
        assert path in CREDITS_A_RAIL or not others, f"{path}: {others}"


@pytest.mark.long
@OF_THE_SOURCE
def test_no_module_names_a_rail_account_otherwise() -> None:
    for path, tree in modules():
        if path == "ledger/books/model.py":
            continue
        assert all(isinstance(call.args[0], ast.Constant) for call in calls(tree, "Account")), path
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        assert not [text for text in texts if text.startswith("rail:")], path


async def leave(
    work: Work, kind: EntryType, source: Source, minor: int = 400, by: str = "sandbox", code: str = "EUR"
) -> None:
    """Post money to a rail's outgoing side."""
    posting = Posting(kind, code, minor, equity("test_funding"), rail(by))
    await post_now(work, JournalEntry("test", kind, source, (posting,)))


async def test_the_database_takes_no_posting_past_the_gate(services: Services) -> None:
    sources = ("refund", "withdrawal", "chargeback", "transaction", "adjustment")
    for kind, source in product(get_args(EntryType), sources):
        with pytest.raises(asyncpg.CheckViolationError, match="released transfer"):
            await services.transact(
                lambda work, kind=kind, source=source: leave(work, kind, Source(source, uuid4())), clock.now()
            )


async def test_a_transfer_is_for_what_it_says(alice: Actor, services: Services) -> None:
    back = UUID((await refund(alice, await sell(alice), "4.00", receiver="Nina")).ok(201).body["id"])
    with pytest.raises(asyncpg.CheckViolationError, match="released transfer"):  # it waits for its review
        await services.transact(lambda work: leave(work, "refund", Source("refund", back)), clock.now())

    async def released(work: Work, **changes: object) -> None:
        await gate.approve_as_simulator(work.tx, back, work.now)
        await gate.release(work.tx, back, work.now)
        facts = {"kind": "refund", "source": Source("refund", back, 7), "minor": 400, "by": "sandbox", "code": "EUR"}
        await leave(work, **(facts | changes))  # pyright: ignore[reportArgumentType]

    for changes in (
        {"minor": 401},
        {"by": "bank"},
        {"code": "USD"},
        {"kind": "withdrawal"},
        {"kind": "network_fee"},
        {"source": Source("withdrawal", back, 7)},
    ):
        with pytest.raises(asyncpg.CheckViolationError, match="released transfer"):
            await services.transact(lambda work, changes=changes: released(work, **changes), clock.now())

    async def all_is_well(work: Work) -> None:
        await released(work)
        raise EverythingIsUndoneError

    with pytest.raises(EverythingIsUndoneError):
        await services.transact(all_is_well, clock.now())


NEVER = [
    "receiver = 'Otto'",
    "amount_minor = 1",
    "review = 'approved', approvals = '{}'",
    "review = 'not_required', approvals_needed = 0",
    "released_at = now()",
    "payer_account = receiver",
    "merchant_id = gen_random_uuid()",
]


async def test_the_database_keeps_a_transfer_what_it_is(alice: Actor) -> None:
    back = (await refund(alice, await sell(alice), "4.00", receiver="Nina")).ok(201).body
    for change in NEVER:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await alice.sql(f"UPDATE outgoing_transfers SET {change} WHERE id = $1::uuid", back["id"])  # noqa: S608
    for late in ("status = 'succeeded', next_look_at = NULL", "provider_reference = 'x'"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await alice.sql(f"UPDATE refunds SET {late} WHERE id = $1::uuid", back["id"])  # noqa: S608
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await alice.sql("DELETE FROM outgoing_transfers WHERE id = $1::uuid", back["id"])


async def test_nothing_is_released_for_a_suspended_merchant(alice: Actor, services: Services) -> None:
    await fund(alice)
    new = await asked(alice)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    try:
        with pytest.raises(asyncpg.CheckViolationError, match="suspended"):
            await alice.sql("UPDATE outgoing_transfers SET released_at = now() WHERE id = $1::uuid", new["id"])
        with pytest.raises(gate.MerchantSuspended):
            await services.db.transact(lambda tx: gate.release(tx, UUID(new["id"]), clock.now()))
    finally:
        await alice.sql("UPDATE merchants SET suspended_at = NULL WHERE id = $1::uuid", alice.merchant_id)


LEAVES: tuple[tuple[EntryType, Account], ...] = (
    ("balance_payment_out", equity("adjustment")),
    ("balance_payment_refund", equity("adjustment")),
    ("fulfillment", payable("quest")),
    ("fulfillment", income("fulfillment_margin")),
    ("conversion_out", Account("fx")),
    ("conversion_fee", income("conversion_fee")),
    ("chargeback_fee", income("chargeback_fee")),
    ("withdrawal_fee", income("withdrawal_fee")),
    ("hold", equity("adjustment")),
    ("release", income("withdrawal_fee")),
)
SOURCES = ("withdrawal", "refund", "balance_payment", "fulfillment", "conversion", "chargeback", "transaction")


async def test_no_posting_takes_value_from_a_merchant_past_the_gate(alice: Actor, bob: Actor, services: Services) -> None:
    await fund(alice)
    env, other = (MerchantEnv(MerchantId(UUID(one.merchant_id)), "test") for one in (alice, bob))

    async def take(work: Work, kind: EntryType, source: str, to: Account) -> None:
        posting = Posting(kind, "EUR", 100, available(env), to)
        await post_now(work, JournalEntry("test", kind, Source(source, uuid4()), (posting,)))

    ways: tuple[tuple[EntryType, Account], ...] = (*LEAVES, ("balance_payment_out", available(other)))
    for (kind, to), source in product(ways, SOURCES):
        with pytest.raises(asyncpg.CheckViolationError, match="past the gate"):
            await services.transact(lambda work, kind=kind, source=source, to=to: take(work, kind, source, to), clock.now())


async def test_every_way_out_has_its_release(alice: Actor, services: Services) -> None:
    paid = await sell(alice)
    back = (await refund(alice, paid, "1.00")).ok(201).body
    (await alice.post(f"/test/refunds/{back['id']}/simulate", {"outcome": "succeed"})).ok()
    taken = (
        (await alice.post(f"/test/transactions/{paid['id']}/simulate", {"outcome": "chargeback"})).ok().body["chargeback"]
    )
    await fund(alice)
    made = (await alice.post("/conversions", EURO_TO_DOLLAR, key="convert")).ok(201).body
    rows = await alice.sql(
        "SELECT source_type, source_id::text, currency FROM value_releases WHERE merchant_id = $1::uuid", alice.merchant_id
    )
    assert {tuple(row) for row in rows} == {
        ("refund", back["id"], "EUR"),
        ("chargeback", taken["id"], "EUR"),
        ("conversion", made["id"], "EUR"),
    }
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await alice.sql("DELETE FROM value_releases WHERE merchant_id = $1::uuid", alice.merchant_id)
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test")
    await suspend(alice)
    (await alice.post("/conversions", EURO_TO_DOLLAR, key="again")).refused("account_suspended", 403)
    new = NewConversion(**EURO_TO_DOLLAR)
    with pytest.raises(gate.MerchantSuspended):
        await services.transact(lambda work: conversions.convert(work, env, new), clock.now())
    await suspend(alice, suspended=False)


async def test_after_a_reset_of_a_password_two_operators_let_live_money_leave(alice: Actor, services: Services) -> None:
    """On every rail: where operators export, the one who does is the second."""
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "live")
    approvals = Approvals(("olga@example.com",), 0, 1)

    async def release(work: Work, payer: str | None = None, *, leaves: bool = True, second: bool = False) -> None:
        new = OutgoingTransfer(
            id=uuid4(),
            kind="withdrawal",
            env=env,
            rail="ethereum",
            currency="ETH",
            amount_minor=1,
            receiver="0x01",
            receiver_name=None,
            payer_account=payer,
            count=None,
            review="required",
            approvals=Approvals((), 0, 1),
            created_at=work.now,
        )
        await gate.admit(work, new)
        given = ("olga@example.com", "otto@example.com") if second else approvals.given
        await store.approve(work.tx, new.id, Approvals(given, 0, 1), "approved", work.now, None)
        await gate.release(work.tx, new.id, work.now, leaves=leaves)
        raise EverythingIsUndoneError

    async def outcome(**changes: Any) -> type[Exception]:
        with pytest.raises((EverythingIsUndoneError, PasswordWasReset)) as ended:
            await services.transact(lambda work: release(work, **changes), clock.now())
        return ended.type

    assert await outcome() is EverythingIsUndoneError
    await alice.sql("UPDATE users SET password_reset_at = now() WHERE merchant_id = $1::uuid", alice.merchant_id)
    assert await outcome() is PasswordWasReset
    assert await outcome(second=True) is EverythingIsUndoneError
    assert await outcome(leaves=False) is EverythingIsUndoneError
    assert await outcome(payer="0x01") is EverythingIsUndoneError
    await alice.sql(
        "UPDATE users SET password_reset_at = now() - interval '73 hours' WHERE merchant_id = $1::uuid", alice.merchant_id
    )
    assert await outcome() is EverythingIsUndoneError


async def test_in_test_mode_the_simulator_is_the_operator_too(alice: Actor) -> None:
    paid = await sell(alice)
    first = (await refund(alice, paid, "1.00", receiver="Nina")).ok(201).body
    assert (first["review"], first["receiver"]) == ("required", "Nina")
    path = "/test/refunds/{}/simulate"
    approved = (await alice.post(path.format(first["id"]), {"outcome": "approve"})).ok().body
    assert (approved["status"], approved["review"]) == ("pending", "approved")
    (await alice.post(path.format(first["id"]), {"outcome": "approve"})).refused("invalid_state", 409)
    second = (await refund(alice, paid, "2.00", receiver="Nina")).ok(201).body
    rejected = (await alice.post(path.format(second["id"]), {"outcome": "reject"})).ok().body
    assert (rejected["failure_code"], rejected["review"]) == ("review_rejected", "rejected")
    third = (await refund(alice, paid, "3.00", receiver="Nina")).ok(201).body
    assert (await alice.post(path.format(third["id"]), {"outcome": "succeed"})).ok().body["status"] == "succeeded"
    mine = (await refund(alice, paid, "0.50")).ok(201).body
    assert (mine["review"], mine["receiver"]) == ("not_required", "sandbox-payer")


NETWORK_FEE = """
    SELECT EXISTS (SELECT FROM ledger_release_kinds WHERE source_type = 'chain_payout') AS allows
"""


async def test_fees_of_networks_pass_the_gate(services: Services) -> None:
    """Those of payouts on chains that ended: `tests/rails/evm` books them."""
    [row] = await services.db.fetch(NETWORK_FEE)
    assert row["allows"]


WITHOUT_FUNCTION = """
    SELECT source_type FROM ledger_release_kinds
    WHERE to_regprocedure(format('%I(text, uuid, text, text, text, text, numeric)', released_by)) IS NULL
"""
UNKNOWN_SOURCE = """
    WITH source AS (
        INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, created_at)
        VALUES (gen_random_uuid(), 'live', 'adjustment', $1, gen_random_uuid(), now()) RETURNING id
    )
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT source.id, 1, 'adjustment', 'live', 'EUR', equity.id, rail.id, 100
    FROM source, ledger_accounts equity, ledger_accounts rail
    WHERE (equity.code, equity.mode, equity.currency) = ('equity:adjustment', 'live', 'EUR')
      AND (rail.code, rail.mode, rail.currency) = ('rail:bank', 'live', 'EUR')
"""
ACCOUNTS = """
    INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
    SELECT 'live', 'EUR', NULL, code, ledger_normal_side(false, code), false
    FROM unnest(ARRAY['equity:adjustment', 'rail:bank']) code
    ON CONFLICT DO NOTHING
"""


async def test_every_kind_of_source_has_its_function_and_others_let_nothing_leave(services: Services) -> None:
    assert await services.db.fetch(WITHOUT_FUNCTION) == []
    await services.db.execute(ACCOUNTS)
    kinds = [row["source_type"] for row in await services.db.fetch("SELECT source_type FROM ledger_release_kinds")]
    for kind in (*kinds, "test", "payment"):
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            await services.db.execute(UNKNOWN_SOURCE, kind)
        assert refused.value.constraint_name == "ledger_postings_outgoing", kind
