"""API views of records: a member for each field that is not `Internal`, in the order of the fields.

A time is shown as a timestamp, `amount_minor` after the decimal string `amount`, and `env` as `mode` and `livemode`.
A view declares only the members that its record does not have.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, Self, TypeVar

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.records import is_internal, is_spread, marked

V = TypeVar("V", bound="RecordView")
MINOR = "_minor"
RECORD = "__record__"
"""The attribute of a view that has its record."""


class After(Struct, frozen=True):
    """On a declared member: it stands after this one. Without it, the member replaces the record's member of its name."""

    member: str


class ShownAs(Struct, frozen=True):
    """On a field: its name in the API."""

    member: str


class InCurrency(Struct, frozen=True):
    """On an amount: the field with its currency, where that is not `currency`."""

    field: str


class Member(Struct, frozen=True, kw_only=True):
    """A member of a view. Its value is the attribute `path` of the record; without a path it is passed to `of`."""

    name: str
    type: Any
    path: str | None
    example: Meta | None = None
    currency_path: str | None = None
    default: Any = msgspec.field(default_factory=lambda: NODEFAULT)


class RecordView(Struct, frozen=True, kw_only=True):
    """The base of views, which `view_of` completes."""

    @classmethod
    def of(cls, record: Any, catalogue: Catalogue, **computed: Any) -> Self:
        """The view of a record. `catalogue` has the scales of amounts.

        `computed` are values of members by name; they replace those of the record.
        """
        raise NotImplementedError


def view_of(record: type[Struct]) -> Callable[[type[V]], type[V]]:
    """Complete a view with the members of its record."""

    def complete(declared: type[V]) -> type[V]:
        members = list(_record_members(record))
        for field in msgspec.structs.fields(declared):
            _declare(members, field, record)
        shown = [part for member in members for part in _shown(member)]
        namespace = {"__doc__": declared.__doc__, RECORD: record, "of": classmethod(_builder(members))}
        name, module = declared.__name__, declared.__module__
        made: Any = msgspec.defstruct(
            name, shown, bases=(RecordView,), module=module, namespace=namespace, frozen=True, kw_only=True
        )
        return made

    return complete


def _record_members(record: type[Struct], path: str = "") -> Iterator[Member]:
    for field in msgspec.structs.fields(record):
        value_type, marks = marked(field.type)
        of_value = f"{path}{field.name}"
        if is_internal(marks):
            continue
        if value_type is MerchantEnv:
            yield Member(name="mode", type=Mode, path=f"{of_value}.mode")
            yield Member(name="livemode", type=bool, path=f"{of_value}.livemode")
        elif is_spread(value_type, marks):
            yield from _record_members(value_type, f"{of_value}.")
        else:
            shown_as = marks.get(ShownAs)
            name = shown_as.member if isinstance(shown_as, ShownAs) else field.name
            currency_path = _currency_path(name, path, marks)
            yield Member(name=name, type=value_type, path=of_value, example=marks.get(Meta), currency_path=currency_path)


def _declare(members: list[Member], field: msgspec.structs.FieldInfo, record: type[Struct]) -> None:
    """Put a declared member into its place. A property of the record is its value."""
    value_type, marks = marked(field.type)
    member = Member(
        name=field.name,
        type=value_type,
        path=field.name if isinstance(getattr(record, field.name, None), property) else None,
        example=marks.get(Meta),
        default=field.default,
        currency_path=_currency_path(field.name, "", marks),
    )
    names = [member.name for member in members]
    after = marks.get(After)
    if isinstance(after, After):
        members.insert(names.index(after.member) + 1, member)
    else:
        members[names.index(field.name)] = member


def _currency_path(name: str, path: str, marks: dict[type, Any]) -> str | None:
    if not name.endswith(MINOR):
        return None
    currency = marks.get(InCurrency)
    return path + (currency.field if isinstance(currency, InCurrency) else "currency")


def _shown(member: Member) -> Iterator[tuple[str, Any, Any]]:
    """The members of the API with their types and defaults."""
    is_optional = member.type in {datetime | None, int | None}
    if member.currency_path is not None:
        yield member.name.removesuffix(MINOR), str | None if is_optional else str, NODEFAULT
    shown = member.type
    if shown in {datetime, datetime | None}:
        shown = Timestamp | None if is_optional else Timestamp
    yield member.name, shown if member.example is None else Annotated[shown, member.example], member.default


def _builder(members: list[Member]) -> Callable[..., Any]:
    read = [member for member in members if member.path is not None]
    names = [member.name for member in read]
    values_of = attrgetter(*(member.path or "" for member in read))
    times = [member.name for member in read if member.type in {datetime, datetime | None}]
    amounts = [
        (member.name, member.name.removesuffix(MINOR), attrgetter(member.currency_path))
        for member in members
        if member.currency_path is not None
    ]

    def of(cls: type[Any], record: Any, catalogue: Catalogue, **computed: Any) -> Any:
        members = dict(zip(names, values_of(record), strict=True))
        members.update(computed)
        for name in times:
            moment = members[name]
            if moment is not None:
                members[name] = stamp(moment)
        for name, decimal, currency_of in amounts:
            minor = members[name]
            members[decimal] = None if minor is None else catalogue.format_amount(minor, currency_of(record))
        return cls(**members)

    return of
