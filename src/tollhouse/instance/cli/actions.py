"""What commands share: the database, options, the acting operator, and how results are printed."""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, cast
from uuid import UUID

import asyncpg
import msgspec
from cyclopts import Parameter

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import (
    LOCAL_ADMINISTRATOR,
    REASON_RULE,
    OperatorContext,
    OperatorRefusedError,
    is_reason,
)
from tollhouse.http.services import Services, Work
from tollhouse.instance import main as root
from tollhouse.instance import supervisor
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.instance.database import data_folder, embedded
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.names import escape_unreadable
from tollhouse.platform.failure import Failure
from tollhouse.platform.settings import config

CONNECTIONS = 1
T = TypeVar("T")
SIGNED = re.compile(r"(?P<sign>-?)(?P<amount>[0-9.]+)")


class UsageError(Failure):
    """An argument is invalid."""

    exit_status = 2


class Recorded(Protocol):
    """An operator's action in the audit history."""

    @property
    def action_id(self) -> UUID:
        """Its id in the history."""
        ...

    @property
    def operator(self) -> str:
        """The email address of the operator, or the local administrator."""
        ...

    @property
    def at(self) -> Timestamp:
        """When it was done."""
        ...

    @property
    def summary(self) -> str:
        """The action and its subject."""
        ...


R = TypeVar("R", bound=Recorded)


def _validate_reason(_: Any, value: Any) -> None:
    if isinstance(value, str) and not is_reason(value):
        raise ValueError(str(REASON_RULE))


REASON = Parameter(help="The reason, stored in the history.", validator=_validate_reason)
By = Annotated[
    str | None, Parameter(name="--as", help="Email address of the acting operator. Default: the local administrator.")
]
DryRun = Annotated[bool, Parameter(negative=(), help="Show what would be exported, and export nothing.")]
Confirmed = Annotated[bool, Parameter(negative=(), help="Do not ask for confirmation.")]
MerchantArgument = Annotated[UUID, Parameter(help="The merchant's ID.")]
CurrencyArgument = Annotated[str, Parameter(help="The currency code.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Acting:
    """Options of an operator's action: who acts, and whether JSON is printed."""

    by: By = None
    as_json: Json = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WithReason(Acting):
    """Options of an action that needs a reason."""

    reason: Annotated[str, REASON]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WithOptionalReason(Acting):
    """Options of an action that may have a reason."""

    reason: Annotated[str | None, REASON] = None


ACTING, NO_REASON = Acting(), WithOptionalReason()
"""The defaults."""


@contextmanager
def database() -> Iterator[config.Settings]:
    """The settings with a database URL; starts the embedded database if none is configured and it is not running."""
    settings = data_folder.load_for_command()
    if settings.database_url is not None:
        yield settings
        return
    settings = supervisor.with_keys(settings)  # a new data folder gets its keys before its database
    with embedded.borrowed(settings.data_dir) as cluster:
        yield cluster.settings(settings)


def run(action: Callable[[Services], Awaitable[T]]) -> T:
    """The result of an action on the database. Raises `Failure` with a message for the operator."""

    async def with_services(settings: config.Settings) -> T:
        services = root.create_services(settings, connections=CONNECTIONS)
        try:
            return await action(services)
        finally:
            await services.close()

    try:
        with database() as settings:
            return asyncio.run(with_services(settings))
    except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
        raise Failure("The database has a different schema version than this program. Run `tollhouse migrate`.") from None
    except (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError):
        raise Failure("The database is busy. Run the command again.") from None
    except TemporarilyUnavailable:
        raise Failure("The database cannot be reached.") from None
    except OperatorRefusedError as error:
        raise Failure(str(error)) from None


async def operator_context(services: Services, options: Acting) -> OperatorContext:
    """The context of the operator with this email address, or of the local administrator.

    Raises `OperatorRefusedError` if there is no such operator.
    """
    name = LOCAL_ADMINISTRATOR if options.by is None else await rules.ensure_operator(services.db, options.by)
    reason = options.reason if isinstance(options, WithReason | WithOptionalReason) else None
    return OperatorContext(name, clock.now(), reason, on_command_line=True)


def run_as(action: Callable[[Services, OperatorContext], Awaitable[T]], options: Acting = ACTING) -> T:
    """The result of an operator's action."""

    async def with_context(services: Services) -> T:
        return await action(services, await operator_context(services, options))

    return run(with_context)


def act_with(change: Callable[[Services, OperatorContext], Awaitable[R]], options: Acting) -> None:
    """Run an operator's action, and print it with where the history has it."""
    action = run_as(change, options)
    print(msgspec.json.encode(action).decode() if options.as_json else action.summary)
    print_recorded(action)


def act(change: Callable[[Work, OperatorContext], Awaitable[R]], options: Acting) -> None:
    """Run an operator's action in one transaction, and print it."""
    act_with(lambda services, context: services.transact(lambda work: change(work, context), context.at, OPERATOR), options)


def print_recorded(action: Recorded, note: str = "") -> None:
    """Print where the history has the action."""
    stderr.print(f"Recorded as {action.action_id}: {action.operator}, {action.at}.{note}")


def can_confirm() -> bool:
    """Whether a person can be asked. If not, prints what to do instead."""
    if sys.stdin.isatty():
        return True
    stderr.print("Nobody can confirm here. Use --dry-run to look, then --yes.", style="red")
    return False


def is_export_confirmed(*, yes: bool) -> bool:
    """Whether payouts may be exported: a person is asked, unless the answer was given as an option."""
    return yes or (can_confirm() and input("Export these payouts? Type yes: ") == "yes")


def print_rows(name: str, read: Callable[[Services], Awaitable[Sequence[Any]]], *, as_json: bool) -> None:
    """Print the rows that `read` returns, one a line below the names of their fields."""
    rows = run(read)
    if as_json:
        print(msgspec.json.encode({name: rows}).decode())
    else:
        print_table(rows)


def print_table(rows: Sequence[Any]) -> None:
    """Print rows one a line below the names of their fields, and their number."""
    for line in _table([msgspec.to_builtins(row) for row in rows]):
        print(line)
    stderr.print("1 row." if len(rows) == 1 else f"{len(rows)} rows.")


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines with a column for each field that has a value in some row, below its name."""
    names: list[str] = [name for name in rows[0] if any(row[name] not in (None, {}, []) for row in rows)] if rows else []
    lines = [[name.upper() for name in names], *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = ("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    return list(shown) if rows else []


def _cell(value: Any) -> str:
    """A value as it is read; `-` for none. A terminal obeys no character of it."""
    if isinstance(value, dict):
        value = ", ".join(f"{name}={part}" for name, part in cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        value = ", ".join(map(str, cast("list[Any]", value)))
    elif isinstance(value, bool):
        value = "yes" if value else "no"
    text = "-" if value is None else str(value) or "-"
    return "".join(character if character.isprintable() else " " for character in escape_unreadable(text))


def read_signed(text: str, currency: Currency) -> int:
    """The minor units of an amount with an optional minus sign. Raises `UsageError`."""
    parts = SIGNED.fullmatch(text)
    amount_minor = parse_amount(parts["amount"], currency.decimals) if parts else None
    if parts is None or amount_minor is None:
        raise UsageError(f"{text} is not an amount in {currency.code}. Use at most {currency.decimals} decimals.")
    return -amount_minor if parts["sign"] else amount_minor


def read_limited(file: Path, bytes_max: int) -> bytes:
    """A file, read up to one byte over the size limit. Raises `OperatorRefusedError`."""
    try:
        with file.open("rb") as opened:
            return opened.read(bytes_max + 1)
    except OSError as error:
        raise OperatorRefusedError(f"{file} cannot be read: {error.strerror}.") from None
