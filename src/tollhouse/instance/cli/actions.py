"""What the commands of `tollhouse operator` share: parameters, the acting operator, and how results are printed."""

import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Protocol, TypeVar, cast
from uuid import UUID

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
from tollhouse.instance.cli.database import NoDatabaseError, run_with_services
from tollhouse.instance.cli.options import stderr
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.names import escape_unreadable

T = TypeVar("T")
SIGNED = re.compile(r"(?P<sign>-?)(?P<amount>[0-9.]+)")


class UsageError(ValueError):
    """An argument is invalid: exit status 2."""


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


Reason = Annotated[str, Parameter(help="The reason, stored in the history.", validator=_validate_reason)]
OptionalReason = Annotated[str | None, Parameter(help="The reason, stored in the history.", validator=_validate_reason)]
By = Annotated[
    str | None, Parameter(name="--as", help="Email address of the acting operator. Default: the local administrator.")
]
MerchantArgument = Annotated[UUID, Parameter(help="The merchant's ID.")]


async def operator_context(services: Services, reason: str | None, by: str | None) -> OperatorContext:
    """The context of the operator with this email address, or of the local administrator.

    Raises `OperatorRefusedError` if there is no such operator.
    """
    name = LOCAL_ADMINISTRATOR if by is None else await rules.ensure_operator(services.db, by)
    return OperatorContext(name, clock.now(), reason, on_command_line=True)


def act(
    change: Callable[[Work, OperatorContext], Awaitable[R]], reason: str | None, by: str | None, *, as_json: bool
) -> int:
    """Run an operator's action in one transaction and print it. Returns the exit status."""
    return print_action(
        run_as(
            lambda services, context: services.transact(lambda work: change(work, context), context.at, OPERATOR), reason, by
        ),
        as_json=as_json,
    )


def print_action(action: Recorded | int, *, as_json: bool) -> int:
    """Print the action with its subject and where the history has it. Returns the exit status."""
    if isinstance(action, int):
        return action
    print(msgspec.json.encode(action).decode() if as_json else action.summary)
    print_recorded(action)
    return 0


def print_recorded(action: Recorded, note: str = "") -> None:
    """Print where the history has the action."""
    stderr.print(f"Recorded as {action.action_id}: {action.operator}, {action.at}.{note}")


def can_confirm() -> bool:
    """Whether a person can be asked. If not, prints what to do instead."""
    if sys.stdin.isatty():
        return True
    stderr.print("Nobody can confirm here. Use --dry-run to look, then --yes.", style="red")
    return False


def print_rows(name: str, read: Callable[[Services], Awaitable[Sequence[Any]]], *, as_json: bool) -> int:
    """Print the rows that `read` returns, one a line below the names of their fields. Returns the exit status."""
    rows = run(read)
    if isinstance(rows, int):
        return rows
    if as_json:
        print(msgspec.json.encode({name: rows}).decode())
        return 0
    print_table(rows)
    return 0


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
        value = ", ".join(f"{name}={one}" for name, one in cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        value = ", ".join(map(str, cast("list[Any]", value)))
    elif isinstance(value, bool):
        value = "yes" if value else "no"
    text = "-" if value is None else str(value) or "-"
    return "".join(one if one.isprintable() else " " for one in escape_unreadable(text))


def read_signed(text: str, currency: Currency) -> int:
    """The minor units of an amount with an optional minus sign. Raises `UsageError`."""
    parts = SIGNED.fullmatch(text)
    amount_minor = parse_amount(parts["amount"], currency.decimals) if parts else None
    if parts is None or amount_minor is None:
        raise UsageError(f"{text} is not an amount in {currency.code}. Use at most {currency.decimals} decimals.")
    return -amount_minor if parts["sign"] else amount_minor


def run_as(
    action: Callable[[Services, OperatorContext], Awaitable[T]], reason: str | None = None, by: str | None = None
) -> T | int:
    """The result of an operator's action, or the exit status of a failure."""

    async def with_context(services: Services) -> T:
        return await action(services, await operator_context(services, reason, by))

    return run(with_context)


def run(action: Callable[[Services], Awaitable[T]]) -> T | int:
    """The result of the action, or the exit status of a failure."""
    try:
        return run_with_services(action)
    except UsageError as error:
        stderr.print(str(error), style="red", markup=False)
        return 2
    except (OperatorRefusedError, NoDatabaseError) as error:
        stderr.print(str(error), style="red", markup=False)
        return 1
