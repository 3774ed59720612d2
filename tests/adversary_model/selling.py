"""What the merchant and its partner do: refund, accept, convert, withdraw, charge each other; and what operators do."""

from uuid import UUID

from tests.adversary_model.quay import NAME, PAYER
from tests.adversary_model.story import Returned, Story
from tests.adversary_model.yard import CODES
from tests.running import CATALOGUE
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.services import Work
from tollhouse.kernel.rails.provider import PayoutState, Submission
from tollhouse.kernel.scopes import API
from tollhouse.pages.console import actions as operators
from tollhouse.pages.console import reviews
from tollhouse.payments.refunds import actions as refunds
from tollhouse.payments.refunds.new_refund import NewRefund
from tollhouse.payments.transactions import settlement
from tollhouse.transfers.balance_payments import actions as balance_payments
from tollhouse.transfers.balance_payments.model import NewBalancePayment, PartialAmount
from tollhouse.transfers.conversions import actions as conversions
from tollhouse.transfers.conversions.actions import NewConversion, NewConversionQuote
from tollhouse.transfers.gate import gate
from tollhouse.transfers.withdrawals import actions as withdrawals
from tollhouse.transfers.withdrawals import sending
from tollhouse.transfers.withdrawals.model import Withdrawal
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

PARTS = (1, 1, 2, 10)


def refund(story: Story, which: int, part: int) -> str:
    """The merchant refunds all that is left, or a part of what was asked for."""
    attempt = story.attempts[which % len(story.attempts)]
    share = PARTS[part % len(PARTS)]
    amount = None if share == 1 else spelt(max(1, attempt.amount_minor // share), attempt.currency)
    new = NewRefund(amount=amount)
    made = story.attempt(lambda work: refunds.request(work, story.env, attempt.payment_id, new, by=None))
    if isinstance(made, str):
        return made
    one, _ = made
    story.refund_ids.add(one.id)
    story.refunds.append(Returned(one.id, one.currency, one.amount_minor, attempt.payment_id))
    return f"{one.amount_minor} {one.currency}"


def send_refund(story: Story, which: int, _: int) -> str:
    """A refund is handed to the rail."""
    one = _pick([one for one in story.refunds if not one.is_sent], which)
    done = story.attempt(lambda work: gate.release(work.tx, one.id, work.now))
    one.is_sent = not isinstance(done, str)
    return done if isinstance(done, str) else "sent"


def end_refund(story: Story, which: int, outcome: int) -> str:
    """The rail pays a refund, or declines it."""
    one = _pick([one for one in story.refunds if not one.is_paid], which)
    is_paid = outcome % 3 > 0
    done = story.attempt(
        lambda work: (
            refunds.succeed(work, story.env, one.id) if is_paid else refunds.fail(work, story.env, one.id, "refund_declined")
        )
    )
    if isinstance(done, str):
        return done
    if is_paid:
        one.is_paid = one.is_sent = True
        story.yard.quay.coins[one.currency] -= one.amount_minor
        return f"{one.amount_minor} paid"
    story.refunds.remove(one)
    return f"{one.amount_minor} declined"


def return_refund(story: Story, which: int, _: int) -> str:
    """A refund that was paid comes back."""
    one = _pick([one for one in story.refunds if one.is_paid], which)
    done = story.attempt(lambda work: refunds.reverse(work, story.env, one.id))
    if isinstance(done, str):
        return done
    story.refunds.remove(one)
    story.yard.quay.coins[one.currency] += one.amount_minor
    return f"{one.amount_minor} came back"


def accept(story: Story, which: int, _: int) -> str:
    """The merchant accepts what awaits a decision."""
    attempt = story.attempts[which % len(story.attempts)]
    done = story.attempt(lambda work: settlement.accept(work, story.env, attempt.payment_id))
    return done if isinstance(done, str) else done.status


def convert(story: Story, which: int, part: int) -> str:
    """The merchant converts at the present rate."""
    given, got, amount = pair(story, which, part)
    new = NewConversion(from_currency=given, to_currency=got, amount=amount)
    done = story.attempt(lambda work: conversions.convert(work, story.env, new))
    return done if isinstance(done, str) else f"{amount} {given} to {got}"


def quote(story: Story, which: int, part: int) -> str:
    """The merchant asks for a price that holds for half a minute."""
    given, got, amount = pair(story, which, part)
    new = NewConversionQuote(from_currency=given, to_currency=got, amount=amount)
    done = story.attempt(lambda work: conversions.quote(work.tx, story.env, new, work.now, work.services.catalogue))
    if isinstance(done, str):
        return done
    story.quotes.append(done.id)
    return f"{amount} {given} to {got}"


def use_quote(story: Story, which: int, _: int) -> str:
    """The merchant converts by a quote."""
    quote_id = story.quotes.pop(which % len(story.quotes))
    done = story.attempt(lambda work: conversions.convert(work, story.env, NewConversion(quote_id=quote_id)))
    return done if isinstance(done, str) else "converted"


def withdraw(story: Story, which: int, part: int) -> str:
    """The merchant withdraws, and both operators approve."""
    code = _code_with_money(story, which)
    amount_minor = max(1, story.available(code) // PARTS[part % len(PARTS)])
    new = NewWithdrawal(method_id=f"{NAME}:{code}", amount=spelt(amount_minor, code), receiver=PAYER)
    made = story.attempt(lambda work: withdrawals.request(work, story.env, new))
    if isinstance(made, str):
        return made
    story.withdrawals.append(Returned(made.id, code, made.receive_minor))
    return f"{amount_minor} {code}: {[approve(story, made.id, operator) for operator in ('olga', 'oskar')]}"


def pay_out(story: Story, which: int, _: int) -> str:
    """A withdrawal is sent and arrives."""
    one = _pick([withdrawal for withdrawal in story.withdrawals if not withdrawal.is_paid], which)

    async def send(work: Work) -> Withdrawal:
        await sending.begin(work, story.env, one.id)
        await sending.record_submission(work.tx, story.env, one.id, Submission("accepted"), None, work.now)
        return await sending.complete(work, story.env, one.id, PayoutState("succeeded"))

    done = story.attempt(send)
    if isinstance(done, str):
        return done
    one.is_paid = True
    story.yard.quay.coins[one.currency] -= one.amount_minor
    return f"{one.amount_minor} {one.currency}"


def reserve(story: Story, which: int, part: int) -> str:
    """The partner's application reserves money of the merchant."""
    code = _code_with_money(story, which)
    new = NewBalancePayment(
        amount=spelt(max(1, story.available(code) // PARTS[part % len(PARTS)]), code), currency=code, capture=False
    )
    caller = Caller(story.env, "Shop", API, client_id=story.partner.client_id)
    done = story.attempt(lambda work: balance_payments.pay(work, caller, new))
    if isinstance(done, str):
        return done
    story.reserved.append(done.id)
    return f"{new.amount} {code}"


def capture(story: Story, which: int, _: int) -> str:
    """The partner takes what its application reserved."""
    payment_id, owner = story.reserved.pop(which % len(story.reserved)), story.partner
    done = story.attempt(
        lambda work: balance_payments.capture_as_owner(work, owner.merchant_id, owner.client_id, payment_id, PartialAmount())
    )
    return done if isinstance(done, str) else done.status


def suspend(story: Story, _which: int, _: int) -> str:
    """An operator suspends the merchant."""
    story.suspended.append((story.now, None))
    context = OperatorContext("olga", story.now, "Looked at")
    done = story.attempt(lambda work: operators.suspend(work, story.shop.merchant_id, context))
    return done if isinstance(done, str) else "suspended"


def reactivate(story: Story, _which: int, _: int) -> str:
    """An operator lets it go on."""
    context = OperatorContext("olga", story.now, "Looked at")
    done = story.attempt(lambda work: operators.reactivate(work, story.shop.merchant_id, context))
    story.suspended[-1] = (story.suspended[-1][0], story.now)
    return done if isinstance(done, str) else "active"


def spelt(minor: int, code: str) -> str:
    """An amount as requests say it."""
    return str(CATALOGUE.currencies[code].format(minor))


def approve(story: Story, withdrawal_id: UUID, operator: str) -> str:
    """An operator approves a withdrawal."""
    context = OperatorContext(operator, story.now)
    try:
        story.yard.run(reviews.approve(story.yard.services, reviews.WITHDRAWALS, withdrawal_id, context))
    except OperatorRefusedError:
        return "not needed"
    return "ok"


def pair(story: Story, which: int, part: int) -> tuple[str, str, str]:
    """Two currencies, and an amount of the first, which the merchant has."""
    given = _code_with_money(story, which)
    got = "USD" if given == "EUR" else "EUR"
    return given, got, spelt(max(1, story.available(given) // PARTS[part % len(PARTS)]), given)


def _code_with_money(story: Story, which: int) -> str:
    """A currency of which the merchant has something, if there is one."""
    there = [code for code in CODES if story.available(code)] or ["EUR"]
    return there[which % len(there)]


def _pick(among: list[Returned], which: int) -> Returned:
    return among[which % len(among)]
