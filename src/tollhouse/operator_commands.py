"""`tollhouse operator`: what the people who run a house do at its command line."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from cyclopts import App, Parameter
from rich.console import Console

from tollhouse.approvals import rules
from tollhouse.approvals.model import LOCAL_ADMINISTRATOR, OperatorContext
from tollhouse.catalogue.currencies import CURRENCIES, Currency
from tollhouse.console import actions, reviews, store, users, users_store
from tollhouse.console.model import REASON_RULE, OperatorAction, OperatorRefusedError, is_reason
from tollhouse.conversions import prices
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.money import parse_amount
from tollhouse.payments import refund_review_store
from tollhouse.platform.db import Tx
from tollhouse.short_commands import NoDatabaseError, in_house
from tollhouse.withdrawals import review_store
from tollhouse.withdrawals.model import WithdrawalStatus

LISTED_MAX = 1_000
SIGNED = re.compile(r"(?P<sign>-?)(?P<amount>[0-9.]+)")
T = TypeVar("T")

talk = Console(stderr=True, highlight=False)
app = App(
    name="operator",
    help="Suspend merchants, review projects and withdrawals, post prices, correct balances. Each deed is kept for ever.",
)
merchants = App(name="merchants", help="See, suspend and reactivate merchants, and let their people in.")
projects = App(name="projects", help="See, approve and reject projects.")
withdrawals = App(name="withdrawals", help="See, approve and reject withdrawals.")
refunds = App(name="refunds", help="See, approve and reject refunds to another account than the one that paid.")
people = App(name="users", help="Who may use the pages under /operator.")
price_list = App(name="prices", help="See and post what currencies cost, for conversions in live mode.")
app.command(merchants)
app.command(projects)
app.command(withdrawals)
app.command(refunds)
app.command(people)
app.command(price_list)


class UsageError(ValueError):
    """What was typed cannot be meant: exit 2."""


def _some_words(_: Any, value: Any) -> None:
    if isinstance(value, str) and not is_reason(value):
        raise ValueError(REASON_RULE)


Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]
Reason = Annotated[str, Parameter(help="Why; kept for ever.", validator=_some_words)]
MaybeReason = Annotated[str | None, Parameter(help="Why; kept for ever.", validator=_some_words)]
Status = Annotated[Literal["in_review", "approved", "rejected"] | None, Parameter(help="Only those.")]
MerchantArgument = Annotated[UUID, Parameter(help="The merchant's id.")]
Standing = Annotated[WithdrawalStatus, Parameter(name="--status", help="Only those.")]
CurrencyArgument = Annotated[str, Parameter(help="The currency's code.")]
PriceArgument = Annotated[str, Parameter(help="How much of it one euro buys, such as 1.0842.")]
ReviewStatus = Annotated[Literal["required", "approved", "rejected"], Parameter(help="Only those.")]
RefundArgument = Annotated[UUID, Parameter(help="The refund's id.")]
By = Annotated[
    str | None, Parameter(name="--as", help="The operator who does it, by e-mail. Left out: the local administrator.")
]
WithdrawalArgument = Annotated[UUID, Parameter(help="The withdrawal's id.")]
ProjectArgument = Annotated[UUID, Parameter(help="The project's id.")]
Email = Annotated[str, Parameter(help="The operator's e-mail.")]
PersonsEmail = Annotated[str, Parameter(name="--email", help="The e-mail that they sign in with.")]


@merchants.command(name="list")
def list_merchants(*, as_json: Json = False) -> int:
    """List all merchants, newest first."""

    async def read(services: Services) -> list[Any]:
        return list(await store.merchants(services.db))

    return listed("merchants", read, as_json=as_json)


@merchants.command
def suspend(merchant_id: MerchantArgument, /, *, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Refuse every call with the merchant's credentials from now on. Its grants stay."""
    return _done(lambda tx, context: actions.suspend(tx, MerchantId(merchant_id), context), reason, by, as_json=as_json)


@merchants.command
def reactivate(merchant_id: MerchantArgument, /, *, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Let a suspended merchant's credentials work again."""
    return _done(lambda tx, context: actions.reactivate(tx, MerchantId(merchant_id), context), reason, by, as_json=as_json)


@merchants.command
def drop_second_factor(*, email: PersonsEmail, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Let somebody in again who lost authenticator and backup codes: the password alone counts, and every session ends."""
    return _done(lambda tx, context: actions.remove_second_factor(tx, email, context), reason, by, as_json=as_json)


@projects.command(name="list")
def list_projects(*, status: Status = None, as_json: Json = False) -> int:
    """List projects, newest first."""

    async def read(services: Services) -> list[Any]:
        return list(await store.projects(services.db, status=status or ""))

    return listed("projects", read, as_json=as_json)


@projects.command
def approve(project_id: ProjectArgument, /, *, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Let a project sell."""
    return _done(lambda tx, context: actions.approve(tx, project_id, context), reason, by, as_json=as_json)


@projects.command
def reject(project_id: ProjectArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Refuse a project. Its merchant sees the reason, and can change the project to have it reviewed again."""
    return _done(lambda tx, context: actions.reject(tx, project_id, context), reason, by, as_json=as_json)


@people.command(name="list")
def list_users(*, as_json: Json = False) -> int:
    """List operators, newest first, with those who have yet to choose a password and those who were closed."""

    async def read(services: Services) -> list[Any]:
        return list(await users_store.operators(services.db))

    return listed("operators", read, as_json=as_json)


@people.command
def create(*, email: Email, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Let somebody use the pages. Prints a link, good for a day and once, on which they choose their password."""
    return _invited(lambda tx, context: users.invite(tx, email, context), reason, by, as_json=as_json)


@people.command
def reset(*, email: Email, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Take an operator's password and second factor away, end every session, and print a link to choose a password."""
    return _invited(lambda tx, context: users.invite_again(tx, email, context), reason, by, as_json=as_json)


@people.command
def close(*, email: Email, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Let an operator use the pages no more, from this moment on. What they did stays in the history."""
    return _done(lambda tx, context: users.close(tx, email, context), reason, by, as_json=as_json)


@withdrawals.command(name="list")
def list_withdrawals(*, status: Standing = "pending_review", as_json: Json = False) -> int:
    """List the withdrawals that wait for review, or those in another state, oldest first."""

    async def read(services: Services) -> list[Any]:
        return list(await review_store.queue(services.db, status, LISTED_MAX))

    return listed("withdrawals", read, as_json=as_json)


@withdrawals.command(name="approve")
def approve_withdrawal(
    withdrawal_id: WithdrawalArgument, /, *, reason: MaybeReason = None, by: By = None, as_json: Json = False
) -> int:
    """Let the money leave. Above the method's limit for one operator, a second one must approve too."""
    return _reviewed(reviews.approve, reviews.WITHDRAWALS, withdrawal_id, reason, by, as_json=as_json)


@withdrawals.command(name="reject")
def reject_withdrawal(withdrawal_id: WithdrawalArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Refuse a withdrawal that was not sent yet. Its merchant sees the reason, and has the money again."""
    return _reviewed(reviews.reject, reviews.WITHDRAWALS, withdrawal_id, reason, by, as_json=as_json)


@refunds.command(name="list")
def list_refunds(*, review: ReviewStatus = "required", as_json: Json = False) -> int:
    """List the refunds that wait for review, or those whose review has ended, oldest first."""

    async def read(services: Services) -> list[Any]:
        return list(await refund_review_store.queue(services.db, review, LISTED_MAX))

    return listed("refunds", read, as_json=as_json)


@refunds.command(name="approve")
def approve_refund(refund_id: RefundArgument, /, *, reason: MaybeReason = None, by: By = None, as_json: Json = False) -> int:
    """Let a refund leave to another account than the one that paid. Where two operators must approve, be one of them."""
    return _reviewed(reviews.approve, reviews.REFUNDS, refund_id, reason, by, as_json=as_json)


@refunds.command(name="reject")
def reject_refund(refund_id: RefundArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Refuse a refund that was not sent yet. Its merchant sees the reason, and has the money again."""
    return _reviewed(reviews.reject, reviews.REFUNDS, refund_id, reason, by, as_json=as_json)


@price_list.command(name="list")
def list_prices(*, as_json: Json = False) -> int:
    """List the latest price of every currency that has one."""

    async def read(services: Services) -> list[Any]:
        return list(await prices.posted(services.db))

    return listed("prices", read, as_json=as_json)


@price_list.command(name="post")
def post_price(currency: CurrencyArgument, per_euro: PriceArgument, /, *, by: By = None, as_json: Json = False) -> int:
    """Say how much of a currency one euro buys, from now until it is too old. Kept for ever."""

    async def action(services: Services) -> list[Any]:
        context = await context_of(services, None, by)
        if currency not in CURRENCIES or currency == prices.EURO:
            raise UsageError(f"There is no currency {currency} to be priced in euros.")
        if not prices.is_price(per_euro):
            raise UsageError(f"{per_euro} is no price: digits above zero, with at most 18 behind a point.")
        await services.db.transact(lambda tx: prices.post(tx, currency, per_euro, context.operator, context.at))
        return list(await prices.posted(services.db, currency))

    return listed("prices", action, as_json=as_json)


@app.command
def adjust(
    merchant_id: MerchantArgument,
    /,
    *,
    mode: Annotated[Mode, Parameter(help="The environment.")],
    currency: Annotated[str, Parameter(help="The currency's code.")],
    amount: Annotated[str, Parameter(help="Such as 100.00; below zero takes.", allow_leading_hyphen=True)],
    reason: Reason,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Give to a merchant's available balance, or take from it with an amount below zero."""
    env = MerchantEnv(MerchantId(merchant_id), mode)

    async def action(services: Services) -> OperatorAction:
        context = await context_of(services, reason, by)
        known = CURRENCIES.get(currency)
        if known is None:
            raise UsageError(f"There is no currency {currency}. There are {', '.join(CURRENCIES)}.")
        amount_minor = _signed(amount, known)
        return await services.db.transact(lambda tx: actions.adjust(tx, env, known, amount_minor, context, services))

    return _told(run(action), as_json=as_json)


def _signed(text: str, currency: Currency) -> int:
    """Minor units of an amount that may have a minus before it."""
    parts = SIGNED.fullmatch(text)
    amount_minor = parse_amount(parts["amount"], currency.decimals) if parts else None
    if parts is None or amount_minor is None:
        raise UsageError(f"{text} is no amount of {currency.code}: it has at most {currency.decimals} decimals.")
    return -amount_minor if parts["sign"] else amount_minor


async def context_of(services: Services, reason: str | None, by: str | None) -> OperatorContext:
    """The operator of this e-mail, or else the local administrator, whoever runs this process.

    Raises `OperatorRefusedError` where there is no such operator.
    """
    name = LOCAL_ADMINISTRATOR if by is None else await rules.ensure_operator(services.db, by)
    return OperatorContext(name, clock.now(), reason, on_command_line=True)


def listed(name: str, read: Callable[[Services], Awaitable[list[Any]]], *, as_json: bool) -> int:
    """Print what is read, a line for each; the exit status."""
    rows = run(read)
    if isinstance(rows, int):
        return rows
    if as_json:
        print(msgspec.json.encode({name: rows}).decode())
        return 0
    for row in rows:
        facts: dict[str, Any] = msgspec.to_builtins(row)
        print("  ".join(str(value) for value in facts.values() if value is not None))
    talk.print(f"{len(rows)} {name}.")
    return 0


def _done(
    change: Callable[[Tx, OperatorContext], Awaitable[OperatorAction]], reason: str | None, by: str | None, *, as_json: bool
) -> int:
    async def action(services: Services) -> OperatorAction:
        context = await context_of(services, reason, by)
        return await services.db.transact(lambda tx: change(tx, context))

    return _told(run(action), as_json=as_json)


def _reviewed(
    decide: Callable[[Services, reviews.Kind, UUID, OperatorContext], Awaitable[OperatorAction]],
    kind: reviews.Kind,
    subject_id: UUID,
    reason: str | None,
    by: str | None,
    *,
    as_json: bool,
) -> int:
    async def action(services: Services) -> OperatorAction:
        return await decide(services, kind, subject_id, await context_of(services, reason, by))

    return _told(run(action), as_json=as_json)


def _told(done: OperatorAction | int, *, as_json: bool) -> int:
    if isinstance(done, int):
        return done
    if as_json:
        print(msgspec.json.encode(done).decode())
    else:
        print(f"{done.action} {done.subject_id}")
    talk.print(f"Kept as {done.action_id}: {done.operator}, {done.at}.")
    return 0


def _invited(
    change: Callable[[Tx, OperatorContext], Awaitable[tuple[OperatorAction, str]]],
    reason: str | None,
    by: str | None,
    *,
    as_json: bool,
) -> int:
    """The link goes to standard output, once: we keep only its digest."""

    async def with_link(services: Services) -> tuple[OperatorAction, str]:
        context = await context_of(services, reason, by)
        kept, secret = await services.db.transact(lambda tx: change(tx, context))
        return kept, f"{services.settings.base_url}/operator/welcome/{secret}"

    done = run(with_link)
    if isinstance(done, int):
        return done
    kept, link = done
    print(msgspec.json.encode({"operator_id": kept.subject_id, "link": link}).decode() if as_json else link)
    talk.print(f"Kept as {kept.action_id}: {kept.operator}, {kept.at}. Send the link to nobody else; it is good for a day.")
    return 0


def run(action: Callable[[Services], Awaitable[T]]) -> T | int:
    """What came of it, or the exit status where nothing did."""
    try:
        return in_house(action)
    except UsageError as fault:
        talk.print(str(fault), style="red", markup=False)
        return 2
    except (OperatorRefusedError, NoDatabaseError) as fault:
        talk.print(str(fault), style="red", markup=False)
        return 1
