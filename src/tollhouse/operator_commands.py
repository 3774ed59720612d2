"""`tollhouse operator`: what the people who run a house do at its command line."""

import os
import pwd
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from cyclopts import App, Parameter
from rich.console import Console

from tollhouse.catalogue.currencies import CURRENCIES, Currency
from tollhouse.conversions import prices
from tollhouse.doors import withdrawal_reviews
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.money import parse_amount
from tollhouse.operator import actions, store, users, users_store
from tollhouse.operator.model import REASON_RULE, Deed, Hand, OperatorRefusedError, is_reason
from tollhouse.short_commands import NoHouseError, in_house
from tollhouse.statements.model import BankRefusedError
from tollhouse.web.house import House
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
people = App(name="users", help="Who may use the pages under /operator.")
price_list = App(name="prices", help="See and post what currencies cost, for conversions in live mode.")
app.command(merchants)
app.command(projects)
app.command(withdrawals)
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
WithdrawalArgument = Annotated[UUID, Parameter(help="The withdrawal's id.")]
ProjectArgument = Annotated[UUID, Parameter(help="The project's id.")]
Email = Annotated[str, Parameter(help="The operator's e-mail.")]
PersonsEmail = Annotated[str, Parameter(name="--email", help="The e-mail that they sign in with.")]


@merchants.command(name="list")
def list_merchants(*, as_json: Json = False) -> int:
    """List all merchants, newest first."""

    async def read(house: House) -> list[Any]:
        return list(await store.merchants(house.db))

    return listed("merchants", read, as_json=as_json)


@merchants.command
def suspend(merchant_id: MerchantArgument, /, *, reason: MaybeReason = None, as_json: Json = False) -> int:
    """Refuse every call with the merchant's credentials from now on. Its grants stay."""
    hand = hand_of(reason)
    return _done(
        lambda house: house.db.transact(lambda tx: actions.suspend(tx, MerchantId(merchant_id), hand)), as_json=as_json
    )


@merchants.command
def reactivate(merchant_id: MerchantArgument, /, *, reason: MaybeReason = None, as_json: Json = False) -> int:
    """Let a suspended merchant's credentials work again."""
    hand = hand_of(reason)
    return _done(
        lambda house: house.db.transact(lambda tx: actions.reactivate(tx, MerchantId(merchant_id), hand)), as_json=as_json
    )


@merchants.command
def drop_second_factor(*, email: PersonsEmail, reason: Reason, as_json: Json = False) -> int:
    """Let somebody in again who lost authenticator and backup codes: the password alone counts, and every session ends."""
    hand = hand_of(reason)
    return _done(lambda house: house.db.transact(lambda tx: actions.remove_second_factor(tx, email, hand)), as_json=as_json)


@projects.command(name="list")
def list_projects(*, status: Status = None, as_json: Json = False) -> int:
    """List projects, newest first."""

    async def read(house: House) -> list[Any]:
        return list(await store.projects(house.db, status=status or ""))

    return listed("projects", read, as_json=as_json)


@projects.command
def approve(project_id: ProjectArgument, /, *, reason: MaybeReason = None, as_json: Json = False) -> int:
    """Let a project sell."""
    hand = hand_of(reason)
    return _done(lambda house: house.db.transact(lambda tx: actions.approve(tx, project_id, hand)), as_json=as_json)


@projects.command
def reject(project_id: ProjectArgument, /, *, reason: Reason, as_json: Json = False) -> int:
    """Refuse a project. Its merchant sees the reason, and can change the project to have it reviewed again."""
    hand = hand_of(reason)
    return _done(lambda house: house.db.transact(lambda tx: actions.reject(tx, project_id, hand)), as_json=as_json)


@people.command(name="list")
def list_users(*, as_json: Json = False) -> int:
    """List operators, newest first, with those who have yet to choose a password and those who were closed."""

    async def read(house: House) -> list[Any]:
        return list(await users_store.operators(house.db))

    return listed("operators", read, as_json=as_json)


@people.command
def create(*, email: Email, reason: MaybeReason = None, as_json: Json = False) -> int:
    """Let somebody use the pages. Prints a link, good for a day and once, on which they choose their password."""
    hand = hand_of(reason)
    return _invited(lambda house: house.db.transact(lambda tx: users.invite(tx, email, hand)), as_json=as_json)


@people.command
def reset(*, email: Email, reason: MaybeReason = None, as_json: Json = False) -> int:
    """Take an operator's password and second factor away, end every session, and print a link to choose a password."""
    hand = hand_of(reason)
    return _invited(lambda house: house.db.transact(lambda tx: users.invite_again(tx, email, hand)), as_json=as_json)


@people.command
def close(*, email: Email, reason: MaybeReason = None, as_json: Json = False) -> int:
    """Let an operator use the pages no more, from this moment on. What they did stays in the history."""
    hand = hand_of(reason)
    return _done(lambda house: house.db.transact(lambda tx: users.close(tx, email, hand)), as_json=as_json)


@withdrawals.command(name="list")
def list_withdrawals(*, status: Standing = "pending_review", as_json: Json = False) -> int:
    """List the withdrawals that wait for review, or those in another state, oldest first."""

    async def read(house: House) -> list[Any]:
        return list(await review_store.queue(house.db, status, LISTED_MAX))

    return listed("withdrawals", read, as_json=as_json)


@withdrawals.command(name="approve")
def approve_withdrawal(withdrawal_id: WithdrawalArgument, /, *, reason: MaybeReason = None, as_json: Json = False) -> int:
    """Let the money leave. Above the method's limit for one operator, a second one must approve too."""
    hand = hand_of(reason)
    return _done(lambda house: withdrawal_reviews.approve(house, withdrawal_id, hand), as_json=as_json)


@withdrawals.command(name="reject")
def reject_withdrawal(withdrawal_id: WithdrawalArgument, /, *, reason: Reason, as_json: Json = False) -> int:
    """Refuse a withdrawal that was not sent yet. Its merchant sees the reason, and has the money again."""
    hand = hand_of(reason)
    return _done(lambda house: withdrawal_reviews.reject(house, withdrawal_id, hand), as_json=as_json)


@price_list.command(name="list")
def list_prices(*, as_json: Json = False) -> int:
    """List the latest price of every currency that has one."""

    async def read(house: House) -> list[Any]:
        return list(await prices.posted(house.db))

    return listed("prices", read, as_json=as_json)


@price_list.command(name="post")
def post_price(currency: CurrencyArgument, per_euro: PriceArgument, /, *, as_json: Json = False) -> int:
    """Say how much of a currency one euro buys, from now until it is too old. Kept for ever."""
    hand = hand_of(None)

    async def deed(house: House) -> list[Any]:
        if currency not in CURRENCIES or currency == prices.EURO:
            raise UsageError(f"There is no currency {currency} to be priced in euros.")
        if not prices.is_price(per_euro):
            raise UsageError(f"{per_euro} is no price: digits above zero, with at most 18 behind a point.")
        await house.db.transact(lambda tx: prices.post(tx, currency, per_euro, hand.operator, hand.at))
        return list(await prices.posted(house.db, currency))

    return listed("prices", deed, as_json=as_json)


@app.command
def adjust(
    merchant_id: MerchantArgument,
    /,
    *,
    mode: Annotated[Mode, Parameter(help="The environment.")],
    currency: Annotated[str, Parameter(help="The currency's code.")],
    amount: Annotated[str, Parameter(help="Such as 100.00; below zero takes.", allow_leading_hyphen=True)],
    reason: Reason,
    as_json: Json = False,
) -> int:
    """Give to a merchant's available balance, or take from it with an amount below zero."""
    hand, env = hand_of(reason), MerchantEnv(MerchantId(merchant_id), mode)

    async def deed(house: House) -> Deed:
        known = CURRENCIES.get(currency)
        if known is None:
            raise UsageError(f"There is no currency {currency}. There are {', '.join(CURRENCIES)}.")
        amount_minor = _signed(amount, known)
        return await house.db.transact(lambda tx: actions.adjust(tx, env, known, amount_minor, hand, house))

    return _done(deed, as_json=as_json)


def _signed(text: str, currency: Currency) -> int:
    """Minor units of an amount that may have a minus before it."""
    parts = SIGNED.fullmatch(text)
    amount_minor = parse_amount(parts["amount"], currency.decimals) if parts else None
    if parts is None or amount_minor is None:
        raise UsageError(f"{text} is no amount of {currency.code}: it has at most {currency.decimals} decimals.")
    return -amount_minor if parts["sign"] else amount_minor


def hand_of(reason: str | None) -> Hand:
    """Whoever runs this process: its environment could name anybody."""
    try:
        operator = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        operator = f"uid {os.getuid()}"
    return Hand(operator, clock.now(), reason)


def listed(name: str, read: Callable[[House], Awaitable[list[Any]]], *, as_json: bool) -> int:
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


def _done(deed: Callable[[House], Awaitable[Deed]], *, as_json: bool) -> int:
    done = run(deed)
    if isinstance(done, int):
        return done
    if as_json:
        print(msgspec.json.encode(done).decode())
    else:
        print(f"{done.action} {done.subject_id}")
    talk.print(f"Kept as {done.action_id}: {done.operator}, {done.at}.")
    return 0


def _invited(deed: Callable[[House], Awaitable[tuple[Deed, str]]], *, as_json: bool) -> int:
    """The link goes to standard output, once: we keep only its digest."""

    async def with_link(house: House) -> tuple[Deed, str]:
        kept, secret = await deed(house)
        return kept, f"{house.settings.base_url}/operator/welcome/{secret}"

    done = run(with_link)
    if isinstance(done, int):
        return done
    kept, link = done
    print(msgspec.json.encode({"operator_id": kept.subject_id, "link": link}).decode() if as_json else link)
    talk.print(f"Kept as {kept.action_id}: {kept.operator}, {kept.at}. Send the link to nobody else; it is good for a day.")
    return 0


def run(deed: Callable[[House], Awaitable[T]]) -> T | int:
    """What came of it, or the exit status where nothing did."""
    try:
        return in_house(deed)
    except UsageError as fault:
        talk.print(str(fault), style="red", markup=False)
        return 2
    except (OperatorRefusedError, BankRefusedError, NoHouseError) as fault:
        talk.print(str(fault), style="red", markup=False)
        return 1
