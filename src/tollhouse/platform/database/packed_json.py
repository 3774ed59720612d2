"""JSON as it is stored: deflated, with the field names of the API as a dictionary, to a quarter of its size.

Packed JSON begins with the number of its dictionary, all other JSON with the character that it has anyway, so that a column
can hold both. A dictionary never changes: a better one is added under the next number. In psql, `json_text` shows it.

A template is JSON with places for integers that only the database knows when it is stored. It is stored packed, followed by
these integers, which the database appends. `WrittenValues` makes the places, and `pack_value` stores either kind.
"""

import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from tollhouse.kernel.clock import stamp
from tollhouse.kernel.money import format_minor

WINDOW_BITS = -12
"""A window of 4 KiB, as the dictionary and a usual body have together; negative: without a header."""
MEMORY_LEVEL = 5
LEVEL = 6
PACKED_MIN_BYTES = 64

PLACE = re.compile(rb"\xff(\d+)([nt]|\d+)\xff")
"""The number of an integer, and what it stands for: a number, a time in milliseconds, or an amount with so many decimals."""
PLACE_MARK = b"\xff"
"""Never part of UTF-8, so no text of a user can hold a place."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ENCODER = msgspec.json.Encoder()

NUMBER = b"\x01"
TEMPLATE = b"\x02"
DICTIONARY = (
    b'{"error":"invalid_request","error_description":"","request_id":"","errors":[{"field":"","message":""}]}'
    b'{"object":"list","page":1,"limit":20,"total":0,"has_more":false,"data":[]}'
    b'{"id":"","object":"withdrawal","status":"processing","currency":"EUR","amount":"","amount_minor":,"network_fee":"0.00",'
    b'"network_fee_minor":0,"system_fee":"0.00","system_fee_minor":0,"receiver":"","failure_code":null,"failure_message":null,'
    b'{"id":"","object":"refund","transaction_id":"","reason":null,"refunds":[{'
    b'{"id":"","object":"payment_link","project_id":"","status":"active","display_name":"","description":null,"amount":"",'
    b'"amount_minor":,"currency":"EUR","external_id":"order-","success_url":"https://","cancel_url":"https://","webhook_url":'
    b'"https://","metadata":{"order":""},"expires_at":"2026-","max_payments":1,"payments_count":0,"latest_transaction_id":null,'
    b'"url":"https:///pay/","quantity":1,"unit_price":"","product_id":null,"customer":null,'
    b'{"outcome":"succeed","livemode":false,"mode":"live","livemode":true},'
    b'{"object":"balance","currency":"EUR","decimals":2,"available":"0.00","available_minor":0,"pending":"0.00","pending_minor"'
    b':0,"reserved":"0.00","reserved_minor":0,"debt":"0.00","debt_minor":0,"total":"0.00","total_minor":0,"reserved_breakdown":{'
    b'"withdrawals":"0.00","withdrawals_minor":0,"balance_payments":"0.00","balance_payments_minor":0,"refunds":"0.00",'
    b'"refunds_minor":0,"fulfillments":"0.00","fulfillments_minor":0},"version":,"updated_at":"2026-","mode":"test"},"source":{'
    b'"type":"transaction","id":"","status":"succeeded","version":3},"entries":[{"id":"","object":"ledger_entry",'
    b'"ledger_transaction_id":"","account":"available","direction":"credit","amount":"0.00","amount_minor":0,'
    b'"signed_amount_minor":0,"balance_after":"0.00","balance_after_minor":0,"currency":"EUR","type":"payment","source":{"type":'
    b'"transaction","id":""},"oauth_client_id":null,"description":"Payment","sequence":1,"created_at":"2026-'
    b'"type":"balance.updated","created_at":"2026-","mode":"test","livemode":false,"api_version":"v2","sequence":1,'
    b'"data":{"object":{"id":"","object":"transaction","type":"payment","payment_link_id":"","project_id":"","external_id":"",'
    b'"status":"succeeded","amount":"","amount_minor":0,"currency":"EUR","amount_received":"","amount_received_minor":0,'
    b'"fee":"0.00","fee_minor":0,"net":"","net_minor":0,"amount_refunded":"0.00","amount_refunded_minor":0,"overpaid":"0.00",'
    b'"overpaid_minor":0,"refundable":true,"refundable_amount":"","refundable_amount_minor":0,"refund_unavailable_reason":null,'
    b'"method_id":"sandbox:EUR","method_type":"sandbox","payment_details":{"network":"sandbox","asset":"EUR","pay_amount":null,'
    b'"pay_amount_onchain":null,"address":null,"tx_hashes":[],"confirmations":null,"required_confirmations":null,"rate":null,'
    b'"payer_hint":null},"failure_code":null,"failure_message":null,"refund_required_reason":null,"refund_required_amount":"0.00"'
    b',"refund_required_amount_minor":0,"late":false,"chargeback":null,"refunds":[],"timeline":[{"status":"pending","at":"2026-'
    b'","detail":null},{"status":"confirming","at":"2026-","detail":null},{"status":"succeeded","at":"2026-","detail":null}],'
    b'"metadata":{},"mode":"live","livemode":true,"created_at":"2026-","updated_at":"2026-","succeeded_at":"2026-","version":1}}}'
)  # fmt: skip
DICTIONARIES = {NUMBER: DICTIONARY}
_PRIMED = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW_BITS, MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
"""With the dictionary read. A copy of it costs less than reading it again."""


def pack(json: bytes) -> bytes:
    """JSON as it is stored."""
    if len(json) < PACKED_MIN_BYTES:
        return json
    deflating = _PRIMED.copy()
    return NUMBER + deflating.compress(json) + deflating.flush()


def pack_value(value: object) -> bytes:
    """The JSON of this value as it is stored. The database appends the integers that its `WrittenValues` stand for."""
    json = ENCODER.encode(value)
    return pack_template(json) if PLACE_MARK in json else pack(json)


class WrittenValues:
    """Integers that only the database knows when it writes JSON, by name, in the order in which it appends them.

    A member of the JSON is one of these integers as a number, an amount or a time; reading fills it in.
    """

    def __init__(self, names: Sequence[str], first: int = 0) -> None:
        self._numbers = {name: number for number, name in enumerate(names, first)}

    def number(self, name: str) -> Any:
        """The integer itself."""
        return msgspec.Raw(place(self._numbers[name], "number"))

    def amount(self, name: str, decimals: int) -> Any:
        """Minor units as a decimal string."""
        return msgspec.Raw(place(self._numbers[name], decimals))

    def time(self, name: str) -> Any:
        """Milliseconds since 1970 as a time."""
        return msgspec.Raw(place(self._numbers[name], "time"))


def place(number: int, meaning: Literal["number", "time"] | int) -> bytes:
    """The place of an integer in a template: a number, a time in milliseconds, or an amount with so many decimals."""
    kind = b"%d" % meaning if isinstance(meaning, int) else meaning[:1].encode()
    return b"\xff%d%s\xff" % (number, kind) if meaning == "number" else b'"\xff%d%s\xff"' % (number, kind)


def pack_template(template: bytes) -> bytes:
    """A template as it is stored, up to its integers. They follow as decimal digits, each with a space before it."""
    packed = pack(template)
    return TEMPLATE + len(packed).to_bytes(2) + packed


def unpack(stored: bytes) -> bytes:
    """The JSON that was stored. Raises `ValueError` if it is damaged."""
    if stored[:1] == TEMPLATE:
        end = 3 + int.from_bytes(stored[1:3])
        return _fill(_inflate(stored[3:end]), [int(value) for value in stored[end:].split()])
    return _inflate(stored)


def _fill(template: bytes, values: list[int]) -> bytes:
    def text(found: "re.Match[bytes]") -> bytes:
        if int(found[1]) >= len(values):
            raise ValueError("stored JSON is damaged")
        value, kind = values[int(found[1])], found[2]
        if kind == b"n":
            return b"%d" % value
        if kind == b"t":
            return stamp(EPOCH + timedelta(milliseconds=value)).encode()
        return format_minor(value, int(kind)).encode()

    return PLACE.sub(text, template)


def _inflate(stored: bytes) -> bytes:
    dictionary = DICTIONARIES.get(stored[:1])
    if dictionary is None:
        return stored
    inflating = zlib.decompressobj(WINDOW_BITS, dictionary)
    try:
        json = inflating.decompress(stored[1:]) + inflating.flush()
    except zlib.error as error:
        raise ValueError("stored JSON is damaged") from error
    if not inflating.eof or inflating.unused_data:
        raise ValueError("stored JSON is damaged")
    return json
