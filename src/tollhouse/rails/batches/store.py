"""How rows of payouts are read, on any rail. The statements are in the stores of the rails."""

from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.transfers.gate.model import OUTGOING_TRANSFER

TRANSFER_COLUMNS = OUTGOING_TRANSFER.columns_of("o")
S = TypeVar("S", bound=Struct)


def read_shown(kind: type[S], row: Row, catalogue: Catalogue | None = None, **others: Any) -> S:
    """A row for people, by its columns, which have the names of the fields: times as text, `amount` from `amount_minor`.

    `others` are the values of fields that no column has.
    """
    columns: dict[str, Any] = dict(row) | others
    if catalogue is not None and "amount" not in columns:
        columns["amount"] = catalogue.format_amount(int(columns["amount_minor"]), columns["currency"])
    fields = {name: columns[name] for name in kind.__struct_fields__ if name in columns}
    return kind(**{name: stamp(value) if isinstance(value, datetime) else value for name, value in fields.items()})


async def list_shown(db: Pool | Tx, kind: type[S], catalogue: Catalogue, statement: str, *values: object) -> list[S]:
    """The rows of a statement for people."""
    return [read_shown(kind, row, catalogue) for row in await db.fetch(statement, *values)]
