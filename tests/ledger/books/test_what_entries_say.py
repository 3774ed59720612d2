"""Entries name the application that asked for them, and say in a sentence what they are."""

from typing import Any, get_args

import pytest

from tests.cast import Actor
from tests.transfers.balance_payments.till import SCOPES, fund, open_till
from tests.transfers.conversions.steps import EURO_TO_DOLLAR
from tollhouse.ledger.books.model import EntryType
from tollhouse.ledger.books.views import DESCRIPTIONS


async def entries(actor: Actor, query: str = "") -> list[dict[str, Any]]:
    """Entries of a merchant, newest first, each the same when it is read alone."""
    listed = (await actor.get(f"/ledger?{query}")).ok().body["ledger"]
    for listed_entry in listed:
        assert (await actor.get(f"/ledger/{listed_entry['id']}")).ok().body == listed_entry
    return listed


async def reported(actor: Actor) -> dict[str, Any]:
    """The entries of the newest balance.updated, by their ids."""
    events = (await actor.get("/webhook-events?limit=100")).ok().body["webhook_events"]
    newest = next(event for event in events if event["type"] == "balance.updated")
    return {entry["id"]: entry for entry in newest["payload"]["data"]["entries"]}


async def test_what_an_application_did_names_it(alice: Actor, bob: Actor) -> None:
    till = await open_till(alice, bob)
    paid = (await till.pay()).ok(201).body
    for actor, description in (
        (alice, "The owner of an application was paid."),
        (bob, "A merchant paid through an application."),
    ):
        [entry] = await entries(actor, f"source_id={paid['id']}")
        assert (entry["oauth_client_id"], entry["description"]) == (till.app.client_id, description)
        assert (await reported(actor))[entry["id"]] == entry
    token = (await till.app.connect(alice, f"{SCOPES} conversions:write withdrawals:write"))["access_token"]
    (await till.app.api(token, "POST", "/conversions", EURO_TO_DOLLAR, "c")).ok(201)
    body = {"method_id": "sandbox:EUR", "amount": "5.00", "receiver": "Nina"}
    (await till.app.api(token, "POST", "/withdrawals", body, "w")).ok(201)
    named = [(entry["type"], entry["oauth_client_id"]) for entry in await entries(alice, "limit=5")]
    assert {client_id for _, client_id in named} == {till.app.client_id}
    assert {"conversion_out", "conversion_in", "hold"} <= {entry_type for entry_type, _ in named}


async def test_what_others_did_names_none(alice: Actor, bob: Actor) -> None:
    till = await open_till(alice, bob)
    [funded] = await entries(alice)
    assert (funded["oauth_client_id"], funded["description"]) == (None, "Test funds were added.")
    reserved = await till.reserve()
    (await till.as_owner(reserved, "release")).ok()
    await fund(alice, "1.00")
    after = {entry["type"]: entry["oauth_client_id"] for entry in await entries(alice, "limit=4")}
    assert after == {"test_funding": None, "release": None, "hold": till.app.client_id}


@pytest.mark.parametrize("entry_type", get_args(EntryType))
def test_every_type_has_its_sentence(entry_type: EntryType) -> None:
    assert DESCRIPTIONS[entry_type].endswith(".")
