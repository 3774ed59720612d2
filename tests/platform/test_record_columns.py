"""What is derived from a record: columns, the INSERT statement, the reader, and the view of the API."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import uuid4

import msgspec
import pytest
from msgspec import Struct

from tests.running import CATALOGUE
from tollhouse.http.record_views import After, InCurrency, RecordView, ShownAs, view_of
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.records import Array, Columns, Internal, Json, Record, Selected


class Part(Struct, frozen=True):
    """Two columns."""

    type: str
    client_id: str | None


class Order(Struct, frozen=True, kw_only=True):
    """A record with a field of each kind."""

    id: int
    amount_minor: int
    currency: str
    refund_minor: Annotated[int | None, InCurrency("refund_currency"), ShownAs("returned_minor")]
    refund_currency: str
    tags: Array[tuple[str, ...] | None]
    metadata: Json[dict[str, str]]
    maker: Annotated[Part, Columns({"maker_type": "type", "maker_client_id": "client_id"})]
    checker: Annotated[Part | None, Columns({"checker_type": "type", "checker_client_id": "client_id"})]
    env: MerchantEnv
    ended_at: datetime | None
    secret: Internal[str]
    counted: Internal[Array[Annotated[tuple[int, ...], Selected("counts({row})")]]] = ()
    offset: Internal[Annotated[timedelta, Selected("clock({row}.merchant_id)")]] = timedelta()

    @property
    def half_minor(self) -> int:
        """A member of the view."""
        return self.amount_minor // 2


ORDER = Record(Order, "orders")
STORED = (
    "id, amount_minor, currency, refund_minor, refund_currency, tags, metadata, maker_type, maker_client_id, "
    "checker_type, checker_client_id, merchant_id, mode, ended_at, secret"
)


@view_of(Order)
class OrderView(RecordView, frozen=True, kw_only=True):
    """GET /orders/{id}."""

    object: Annotated[Literal["order"], After("id")] = "order"
    half_minor: Annotated[int, After("currency")]


@pytest.fixture
def order() -> Order:
    return Order(
        id=1,
        amount_minor=1050,
        currency="EUR",
        refund_minor=7,
        refund_currency="BTC",
        tags=("a", "b"),
        metadata={"k": "v"},
        maker=Part("oauth", "thc_1"),
        checker=None,
        env=MerchantEnv(MerchantId(uuid4()), "test"),
        ended_at=datetime(2026, 11, 22, 15, tzinfo=UTC),
        secret="s",  # noqa: S106 - of a test
    )


def test_columns_and_statement() -> None:
    assert ORDER.columns == f"{STORED}, counts(orders) AS counted, clock(orders.merchant_id) AS offset"
    assert ORDER.columns_of("o").startswith("o.id, o.amount_minor, ")
    assert ORDER.columns_of("o").endswith("o.secret, counts(o) AS counted, clock(o.merchant_id) AS offset")
    into, values = ORDER.insert.split(" VALUES ")
    assert into == f"INSERT INTO orders ({STORED})"
    assert values == f"({', '.join(f'${place}' for place in range(1, 16))})"


def test_what_is_written_is_read(order: Order) -> None:
    row: Any = dict(zip(STORED.split(", "), ORDER.values(order), strict=True))
    assert row["metadata"] == '{"k":"v"}'
    assert (row["maker_client_id"], row["checker_type"]) == ("thc_1", None)
    assert ORDER.read(row | {"tags": ["a", "b"], "counted": [], "offset": timedelta(), "other": 1}) == order
    other = ORDER.read(row | {"tags": None, "counted": [1], "offset": timedelta()})
    assert (other.tags, other.counted) == (None, (1,))
    checked = msgspec.structs.replace(order, checker=Part("api_key", None))
    written: Any = dict(zip(STORED.split(", "), ORDER.values(checked), strict=True))
    assert (written["checker_type"], written["checker_client_id"]) == ("api_key", None)
    assert ORDER.read(written | {"counted": [], "offset": timedelta()}).checker == checked.checker


def test_the_view_shows_what_is_not_internal(order: Order) -> None:
    shown = msgspec.to_builtins(OrderView.of(order, CATALOGUE))
    assert shown == {
        "id": 1,
        "object": "order",
        "amount": "10.50",
        "amount_minor": 1050,
        "currency": "EUR",
        "half": "5.25",
        "half_minor": 525,
        "returned": "0.00000007",
        "returned_minor": 7,
        "refund_currency": "BTC",
        "tags": ("a", "b"),
        "metadata": {"k": "v"},
        "maker": {"type": "oauth", "client_id": "thc_1"},
        "checker": None,
        "mode": "test",
        "livemode": False,
        "ended_at": "2026-11-22T15:00:00.000Z",
    }
    assert list(shown) == list(OrderView.__struct_fields__)
    types = {field.name: field.type for field in msgspec.structs.fields(OrderView)}
    assert (types["amount"], types["returned"], types["ended_at"]) == (str, str | None, Timestamp | None)
    assert (
        msgspec.to_builtins(OrderView.of(msgspec.structs.replace(order, refund_minor=None), CATALOGUE))["returned"] is None
    )


def test_a_computed_member_replaces_the_field(order: Order) -> None:
    assert msgspec.to_builtins(OrderView.of(order, CATALOGUE, currency="USD"))["currency"] == "USD"
