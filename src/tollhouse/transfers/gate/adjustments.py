"""Adjustments of balances by operators, as entries of the ledger that notify the merchant."""

from msgspec import structs

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.accounts.approvals.record import record_action
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books.model import Account, JournalEntry, Posting, Source
from tollhouse.ledger.books.post import Charge, charge_postings, post_now
from tollhouse.transfers.orders.balance_events import Cause, notify_balance

SOURCE = "adjustment"


async def charge(
    work: Work, env: MerchantEnv, currency: str, amount_minor: int, creditor: Account, context: OperatorContext
) -> OperatorAction:
    """Debit a merchant for what the platform paid in its place. What the available balance does not cover becomes debt."""
    action = await record_adjustment(work, env, currency, -amount_minor, context)
    postings = await charge_postings(work.tx, env, currency, [Charge("adjustment", amount_minor, creditor)])
    await post_adjustment(work, env, currency, action, postings)
    return action


async def record_adjustment(
    work: Work, env: MerchantEnv, currency: str, amount_minor: int, context: OperatorContext
) -> OperatorAction:
    """Record that an operator changes a merchant's available balance by an amount, which is negative for a debit."""
    return await record_action(
        work, context, "balance_adjusted", env, subject_id=env.merchant_id, currency=currency, amount_minor=amount_minor
    )


async def post_adjustment(
    work: Work, env: MerchantEnv, currency: str, action: OperatorAction, postings: tuple[Posting, ...]
) -> None:
    """Post what an operator adjusted, and notify the merchant."""
    posted = await post_now(work, JournalEntry(env.mode, "adjustment", Source(SOURCE, action.action_id), postings))
    cause = Cause(SOURCE, action.action_id, "posted", 1)
    await notify_balance(structs.replace(work, now=posted.entries[0].created_at), env, currency, posted, cause, None)
