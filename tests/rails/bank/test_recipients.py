"""Recipients' banks and addresses: what withdrawals and statements say of them, and what the payment file has."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import CUSTOMER_IBAN, paid
from tests.rails.bank.steps import ACCOUNT, Bank, earned, offer, prepared, refunded, withdrawn
from tests.rails.bank.test_payouts import said
from tests.running import Service
from tollhouse.kernel.bank_codes import PostalAddress, is_bic_of, parse_address, read_address
from tollhouse.rails.bank.files.batch import missing_details

BRITISH, SWISS = "GB29NWBK60161331926819", "CH9300762011623852957"
ADDRESS = {
    "street_name": "Downing Street",
    "building_number": "10",
    "postcode": "SW1A 2AA",
    "town_name": "London",
    "country": "GB",
}
ELEMENTS = ("StrtNm", "BldgNb", "PstCd", "TwnNm", "Ctry")
OURS = parse_address("Main Street 7; 10115; Berlin; DE")
FROM = replace(ACCOUNT, address=OURS)


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga is the operator."""
    async with signed_in_operator(service) as actor:
        yield actor


@pytest.mark.parametrize(
    ("bic", "iban", "fits"),
    [
        ("NWBKGB2L", BRITISH, True),
        ("NWBKJESHXXX", BRITISH, True),
        ("COBADEFFXXX", BRITISH, False),
        ("BNPAGPGXXXX", CUSTOMER_IBAN, True),
        ("BNPAFRPP", "MC5811222000010123456789030", True),
        ("UBSWCHZH80A", SWISS, True),
        ("UBSWCHZH80A", CUSTOMER_IBAN, False),
    ],
)
def test_a_bank_is_of_the_country_of_its_accounts_or_of_a_territory(bic: str, iban: str, fits: bool) -> None:
    assert is_bic_of(bic, iban) is fits


def test_what_is_missing_outside_the_eea() -> None:
    address = PostalAddress(town_name="London", country="GB")
    assert missing_details(BRITISH, None, None) == "bic, address"
    assert missing_details(BRITISH, "NWBKGB2L", None) == "address"
    assert missing_details(SWISS, None, address) == "bic"
    assert missing_details(SWISS, "UBSWCHZH", address) is None
    assert missing_details(CUSTOMER_IBAN, None, None) is None


def test_an_address_is_read_from_its_parts() -> None:
    whole = read_address(ADDRESS)
    assert whole is not None
    assert whole.line == "Downing Street 10, SW1A 2AA London, GB"
    assert read_address({"town_name": "London", "country": "GB"}) == PostalAddress(town_name="London", country="GB")
    wrong: list[Any] = [None, "London", {}, {"town_name": "London"}, ADDRESS | {"country": "gb"}, ADDRESS | {"postcode": ""}]
    for one in [*wrong, ADDRESS | {"building_number": "1" * 17}, ADDRESS | {"town_name": 7}]:
        assert read_address(one) is None


async def test_the_bic_and_the_address_are_checked(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    asked: dict[str, Any] = {"method_id": "sepa:EUR", "amount": "4.00", "receiver": BRITISH}
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"bic": "COBADEFFXXX"}, ["provider_fields.bic"]),
        ({"bic": "nwbkgb2l"}, ["provider_fields.bic"]),
        ({"bic": "NWBKGB2LX"}, ["provider_fields.bic"]),
        ({"bic": 7}, ["provider_fields.bic"]),
        ({"address": "10 Downing Street"}, ["provider_fields.address"]),
        ({"address": {}}, ["provider_fields.address.country", "provider_fields.address.town_name"]),
        ({"address": ADDRESS | {"town_name": "x" * 36}}, ["provider_fields.address.town_name"]),
        ({"address": ADDRESS | {"country": "GBR"}}, ["provider_fields.address.country"]),
        ({"address": ADDRESS | {"floor": "2"}}, ["provider_fields.address.floor"]),
    ]
    for details, fields in cases:
        body = asked | {"provider_fields": {"account_holder_name": "Nina", **details}}
        refused = (await alice.post("/withdrawals", body, key=str(uuid4()), mode="live")).refused("validation_failed", 422)
        assert sorted(problem["field"] for problem in refused.body["errors"]) == fields
    body = asked | {"provider_fields": {"account_holder_name": "Nina", "bic": "COBADEFFXXX"}}
    [problem] = (
        (await alice.post("/withdrawals", body, key="k", mode="live")).refused("validation_failed", 422).body["errors"]
    )
    assert problem["message"] == "The bank is in DE and the account in GB. Check the BIC."


async def test_the_file_has_the_bic_and_the_address(alice: Actor, olga: Actor, bank: Bank, service: Service) -> None:
    await earned(alice, bank)
    whole = await withdrawn(alice, bank, "2.00", BRITISH, bic="NWBKGB2L", address=ADDRESS)
    bare = await withdrawn(alice, bank, "3.00", SWISS)
    shown = (await olga.send("GET", "/operator/payouts")).ok().text
    assert shown.count("No BIC and no address") == 1
    assert "goes to an account outside the EEA without a BIC or an address. The bank may reject it." in " ".join(
        shown.split()
    )
    details = (await olga.send("GET", f"/operator/payouts/{whole}")).ok().text
    for text in ("NWBKGB2L", "Downing Street 10, SW1A 2AA London, GB"):
        assert text in details
    for kind, payout_id, is_warned in (("payouts", bare, True), ("payouts", whole, False)):
        page = (await olga.send("GET", f"/operator/{kind}/{payout_id}")).ok().text
        assert ("the bank may reject the transfer" in page) is is_warned
    batch = await bank.export(whole, account=FROM)
    assert said(batch, "p:CdtrAgt/p:FinInstnId/p:BICFI") == ["NWBKGB2L"]
    assert [said(batch, f"p:Cdtr/p:PstlAdr/p:{element}") for element in ELEMENTS] == [[text] for text in ADDRESS.values()]
    assert await bank.export_again(batch.id) == batch
    environment = {"TOLLHOUSE_BANK_ADDRESS": str(OURS), "TOLLHOUSE_BANK_IBAN": ACCOUNT.iban, "TOLLHOUSE_BANK_HOLDER": "T"}
    exported = await operator(service, "payouts", "export", bare, **environment)
    assert f"Payout {bare} goes to CH, outside the EEA. Missing: bic, address. The bank may reject it." in exported.talk
    assert "<CdtrAgt>" not in exported.out


async def test_operators_are_warned_before_they_approve(alice: Actor, olga: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    for details, says in (
        ({}, "No BIC and no address"),
        ({"bic": "NWBKGB2L"}, "No address"),
        ({"address": ADDRESS}, "No BIC"),
    ):
        fields = {"account_holder_name": "Nina", **details}
        body = {"method_id": "sepa:EUR", "amount": "1.00", "receiver": BRITISH, "provider_fields": fields}
        made = (await alice.post("/withdrawals", body, key=str(uuid4()), mode="live")).ok(201).body
        shown = (await olga.send("GET", f"/operator/withdrawals/{made['id']}")).ok().text
        assert f"{says}. The account is outside the EEA, and the bank may reject the transfer." in shown
        assert all(text in shown for text in ("Building number", "SW1A 2AA") if "address" in details)


@pytest.mark.parametrize("version", ["02", "08"])
async def test_a_refund_has_the_bank_and_address_of_the_payer(alice: Actor, bank: Bank, version: str) -> None:
    _, payment_id, reference = await offer(alice)
    stated = {"StrtNm": "Bahnhofstrasse", "BldgNb": "1", "PstCd": "8001", "TwnNm": "Zürich", "Ctry": "CH"}
    line = paid(reference, 1_000, account=SWISS, bic="UBSWCHZH80A", address=stated)
    assert (await bank.shows(line, version=version)).placed == 1
    refund = (await alice.post(f"/transactions/{payment_id}/refunds", {"amount": "4.00"}, key="r", mode="live")).ok(201).body
    batch = await bank.export(await prepared(bank, refund["id"]), account=FROM)
    assert said(batch, "p:CdtrAgt/p:FinInstnId/p:BICFI") == ["UBSWCHZH80A"]
    assert [said(batch, f"p:Cdtr/p:PstlAdr/p:{element}") for element in ELEMENTS] == [
        ["Bahnhofstrasse"],
        ["1"],
        ["8001"],
        ["Zurich"],
        ["CH"],
    ]


async def test_what_a_statement_says_wrongly_is_left_out(alice: Actor, bank: Bank) -> None:
    """A bank of another country, and an address in lines."""
    _, payment_id, reference = await offer(alice)
    line = paid(reference, 1_000, bic="UBSWCHZH80A", address={"AdrLine": "Bahnhofstrasse 1"})
    assert (await bank.shows(line)).placed == 1
    batch = await bank.export(await refunded(alice, bank, payment_id))
    assert said(batch, "p:CdtrAgt/p:FinInstnId/p:BICFI") == []
    assert said(batch, "p:Cdtr/p:PstlAdr/p:Ctry") == []
