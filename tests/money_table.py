"""Every way of money in and out, for `docs/money.md`: its postings, who can take it, what checks it, and its tests."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.money_paths import reached
from tollhouse.accounts.identity.guards import ApplicationGuard, CredentialGuard, SessionGuard, TestCredentialGuard
from tollhouse.accounts.identity.operators import OperatorGuard
from tollhouse.http.operations import Operation
from tollhouse.instance.api import OPERATIONS
from tollhouse.ledger.books.invariants_store import I20_CHART

PAGE = Path(__file__).parent.parent / "docs" / "money.md"
CHART = re.compile(r"\('(\w+)', '(\w+)', '(\w+)', '(\w+)'\)")
Kind = tuple[str, str, str, str]
"""The type of the source, that of the posting, and the first parts of the accounts that are debited and credited."""
EVERYTHING = {"tollhouse demo", "tollhouse routes", "tollhouse serve", "tollhouse web", "tollhouse worker"}
"""Commands that start or list all of it."""
HEAD = """# The ways of money

Made by `just records`. Every kind of posting that the ledger knows is in one of these rows, with everybody who can cause it,
what checks it, and the tests that prove it. A test reads the kinds from the invariant I20, and the ways from the program: an
operation, a command or a job that can post and is missing here fails it. Where a way shares code with others, it is named
rather too often than too seldom. What decides and posts nothing itself has a line of its own.

A credential reaches its own merchant and mode only. A suspended merchant's keys, tokens and sessions change nothing. Where
the table says *recent in live*, a session in live mode confirms the password first. Operators in live use have a second
factor. `tests/penetration` tries every operation of this page with every credential that is for something else.
Balances cannot be negative, and no posting to the outgoing side of a rail is stored without a released transfer.
"""


class Row(NamedTuple):
    """A way of money: all postings of this type of source, and tests in `tests`."""

    title: str
    source: str
    checks: str
    tests: tuple[str, ...]


ROWS = (
    Row(
        "A customer pays",
        "transaction",
        "the verdict on time, amount and link; each report of a rail counts once",
        (
            "payments/transactions/test_transactions.py::test_a_payment_with_a_fee",
            "payments/transactions/test_unfitting.py::test_late_money_waits_for_a_decision",
            "adversary_model/test_adversary_model.py::test_nobody_gains_what_nothing_explains",
        ),
    ),
    Row(
        "A payment is refunded",
        "refund",
        "what is left of the payment, the balance, the gate: receiver, limits, review, suspension, pause",
        (
            "payments/refunds/test_refunds.py::test_thirty_at_once_share_what_is_left",
            "transfers/gate/test_gate.py::test_nothing_is_released_for_a_suspended_merchant",
        ),
    ),
    Row(
        "A payment is disputed",
        "chargeback",
        "the rail's report, once for each dispute; what the balance lacks is debt",
        (
            "payments/disputes/test_disputes.py::test_a_dispute_is_the_chargeback_of_its_payment",
            "payments/refunds/test_reversals.py::test_disputes_of_a_provider",
        ),
    ),
    Row(
        "A payment is reversed and comes back",
        "payment_reversal",
        "the rail's report, once for each transfer and block",
        (
            "payments/refunds/test_reversals.py::test_credited_money_that_is_gone_is_charged_back_and_comes_back_once",
            "rails/evm/test_reversed_deposits.py::test_the_same_block_can_be_dropped_twice",
        ),
    ),
    Row(
        "A merchant withdraws",
        "withdrawal",
        "the balance, limits, recipients, the gate: approvals of operators, two of them above what "
        "counts in a day, suspension, pause",
        (
            "transfers/withdrawals/test_two_operators.py::test_parts_do_not_avoid_the_second_operator",
            "transfers/withdrawals/test_live.py::test_even_the_smallest_waits_for_an_operator",
            "transfers/gate/test_gate.py::test_the_database_takes_no_posting_past_the_gate",
        ),
    ),
    Row(
        "An application charges a merchant",
        "balance_payment",
        "the connection, the balance, what was reserved, suspension; parts and refunds by confidential clients only",
        (
            "transfers/balance_payments/test_payments.py::test_no_more_than_was_reserved",
            "transfers/balance_payments/test_who.py::test_a_public_client_captures_in_full_alone",
        ),
    ),
    Row(
        "Money is converted",
        "conversion",
        "the present rate or the one that holds, fee and margin, limits of pairs and positions, the balance",
        (
            "transfers/conversions/test_conversions.py::test_a_quote_is_for_half_a_minute_and_once",
            "transfers/conversions/test_positions.py::test_conversions_at_once_do_not_pass_a_limit_together",
        ),
    ),
    Row(
        "A fulfillment is delivered",
        "fulfillment",
        "the balance, the highest cost, the answer of the game server, once",
        ("transfers/fulfillments/test_fulfillments.py::test_two_workers_charge_once",),
    ),
    Row(
        "An operator corrects a balance",
        "adjustment",
        "an operator with a reason, in the history, two of them for large credits; of a bank, a "
        "transfer that was taken back",
        (
            "pages/console/test_adjustments.py::test_small_credits_are_made_by_one_and_parts_of_a_large_one_by_two",
            "pages/console/test_operator.py::test_a_balance_is_adjusted_both_ways",
            "rails/bank/test_decisions.py::test_a_payment_is_taken_back_again",
        ),
    ),
    Row(
        "A bank statement is booked",
        "bank_entry",
        "an import; account, order and balances of the statement; without balances, two operators; each entry once",
        (
            "rails/bank/test_same_reference.py::test_a_statement_without_balances_waits_for_a_second_operator",
            "rails/bank/test_imports.py::test_importing_the_same_statement_twice_credits_once",
        ),
    ),
    Row(
        "A bank account begins",
        "bank_statement",
        "the first statement of an account, once",
        ("rails/bank/test_statement_chain.py::test_the_ledger_has_the_balance_of_the_bank",),
    ),
    Row(
        "A bank transfer is decided",
        "bank_transfer",
        "an operator with a reason, two of them for a return of much less, each transfer once; a "
        "reopened one is posted back",
        (
            "rails/bank/test_decisions.py::test_two_operators_decide_at_once",
            "rails/bank/test_decisions.py::test_a_return_for_much_less_needs_two_operators",
        ),
    ),
    Row(
        "A network takes its fee",
        "chain_payout",
        "what the mined transaction paid, once",
        ("transfers/gate/test_gate.py::test_fees_of_networks_pass_the_gate",),
    ),
    Row(
        "Bitcoin takes its fee",
        "bitcoin_batch",
        "what the mined batch paid, once",
        ("rails/bitcoin/test_payouts.py::test_the_share_of_a_refund_is_an_expense",),
    ),
    Row(
        "A card provider takes fees and pays out",
        "balance_transaction",
        "each balance transaction of the provider, once",
        ("rails/bank/test_provider_payouts.py::test_only_what_is_on_its_way_arrives",),
    ),
    Row(
        "An operator moves own money to or from a rail",
        "rail_float",
        "an operator with a reason, in the history",
        ("rails/evm/test_rail_balances.py::test_operators_book_their_own_money_by_command",),
    ),
    Row("Test money", "test_funding", "test mode only", ("payments/refunds/test_refunds.py::test_test_money",)),
)
DECIDE: dict[str, tuple[str, ...]] = {
    "refund": ("POST /operator/refunds/{refund_id}/approve", "tollhouse operator refunds approve"),
    "withdrawal": (
        "POST /operator/withdrawals/{withdrawal_id}/approve",
        "tollhouse operator withdrawals approve",
        "POST /api/v2/integration/withdrawal-recipients",
        "POST /{mode}/withdrawals/recipients/new/{method_id}",
        "POST /api/v2/integration/withdrawal-schedules",
        "POST /{mode}/withdrawals/schedules",
    ),
    "bank_entry": ("POST /operator/imports/{import_id}/confirm",),
    "conversion": (
        "POST /api/v2/integration/conversion-rules",
        "POST /{mode}/conversions/rules",
        "tollhouse operator prices post",
    ),
}
"""What decides on money of a type of source, and posts nothing itself."""


def page() -> str:
    """The page."""
    lines = [HEAD]
    for row in ROWS:
        postings = ", ".join(f"`{kind}` {debit} → {credit}" for _, kind, debit, credit in sorted(kinds_of(row.source)))
        lines += [
            f"## {row.title}\n",
            "| | |",
            "|---|---|",
            f"| Postings of `{row.source}` | {postings} |",
            *(f"| {who} | {', '.join(f'`{way}`' for way in ways)} |" for who, ways in who_of(row.source).items()),
            *((f"| Decided by | {', '.join(f'`{way}`' for way in DECIDE[row.source])} |",) if row.source in DECIDE else ()),
            f"| Checked by | {row.checks} |",
            f"| Tests | {', '.join(f'`tests/{test}`' for test in row.tests)} |\n",
        ]
    return "\n".join(lines)


def kinds() -> set[Kind]:
    """All that the ledger accepts."""
    return {(match[0], match[1], match[2], match[3]) for match in CHART.findall(I20_CHART)}


def kinds_of(source: str) -> set[Kind]:
    """Those of a type of source."""
    return {kind for kind in kinds() if kind[0] == source}


def who_of(source: str) -> dict[str, list[str]]:
    """Who can cause postings of a type of source, with the ways."""
    found: dict[str, list[str]] = {}
    for way, sources in sorted(reached().items()):
        if source in sources and way not in EVERYTHING:
            found.setdefault(who(way), []).append(way)
    return dict(sorted(found.items()))


def who(way: str) -> str:
    """Who can take it."""
    if way.startswith("job "):
        return "Job of the worker"
    if way.startswith("tollhouse "):
        return "Command on the server"
    one = operation(way)
    recent = {"no": "", "live": ", recent in live"}.get(one.recent_authentication, ", recent")
    for guard, text in (
        (TestCredentialGuard, "Test key or token"),
        (ApplicationGuard, "Token"),
        (CredentialGuard, "Key or token"),
    ):
        if isinstance(one.guard, guard):
            confidential = " of a confidential client" if getattr(one.guard, "confidential", False) else ""
            return f"{text}{confidential}, {one.guard.label}"
    if isinstance(one.guard, SessionGuard):
        return f"Session of the merchant{recent}"
    return "Operator page" if isinstance(one.guard, OperatorGuard) else "Customer with the link"


def operation(way: str) -> Operation:
    """The operation of this way."""
    return next(one for one in OPERATIONS if f"{one.method} {one.full_path}" == way)


def operations() -> Iterator[Operation]:
    """Every operation that can post or decides."""
    ways = {*reached(), *(way for decide in DECIDE.values() for way in decide)}
    return (operation(way) for way in sorted(ways) if way.partition(" ")[0].isupper())
