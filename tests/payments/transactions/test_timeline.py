"""The timeline of a payment names the API requests that caused its entries."""

import re

from tests.cast import Actor
from tests.forms import seen
from tests.payments.bank import refund, sell
from tests.webhooks.request_log.reading import all_written

REQUEST = re.compile(r'href="/test/developers/requests/([0-9a-f-]{36})">([^<]*)<')
REQUESTS = "SELECT id::text FROM api_requests WHERE merchant_id = $1::uuid AND method = 'POST' ORDER BY id DESC"

MOVE = """
    UPDATE api_requests SET created_at = (SELECT created_at FROM transactions WHERE id = $1::uuid)
    WHERE merchant_id = $2::uuid
"""


async def test_entries_lead_to_the_requests_that_caused_them(alice: Actor) -> None:
    paid = await sell(alice)
    (await refund(alice, paid, "1.00")).ok(201)
    await all_written(alice, 3)
    causes = REQUEST.findall(await seen(alice, f"/test/payments/{paid['id']}"))
    made = f"POST /test/payment-links/{paid['payment_link_id']}/simulate"
    assert [named for _, named in causes] == [f"POST /transactions/{paid['id']}/refunds", made, "POST /payment-links"]
    assert [request for request, _ in causes] == [row["id"] for row in await alice.sql(REQUESTS, alice.merchant_id)]
    for request, _ in causes:
        await seen(alice, f"/test/developers/requests/{request}")


async def test_a_request_about_another_payment_is_no_cause(alice: Actor) -> None:
    paid, other = await sell(alice), await sell(alice)
    (await refund(alice, other, "1.00")).ok(201)
    await all_written(alice, 5)
    await alice.sql(MOVE, paid["id"], alice.merchant_id)
    assert "/refunds" not in str(REQUEST.findall(await seen(alice, f"/test/payments/{paid['id']}")))
