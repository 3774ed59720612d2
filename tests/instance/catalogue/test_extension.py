"""What an operator adds to the catalogue by a file: read whole, faults told all at once, built-in scales untouchable."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Actor, sign_up
from tests.pages.console.commands import operator
from tests.payments.shop import open_link, pay
from tests.running import CATALOGUE, Service, migrated_database, settings_for
from tollhouse.instance import catalogue_file, start_checks
from tollhouse.instance.database import embedded
from tollhouse.kernel.catalogue import currencies
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.settings.config import InvalidSettingsError

ZLOTY = """
[currencies.PLN]
name = "Polish Zloty"
type = "fiat"
symbol = "zł"
decimals = 2
"""
BANK = """
[methods."elixir:PLN"]
name = "Polish bank transfer"
type = "bank_transfer"
rail = "elixir"
confirmation = "days"
fees = { fixed_minor = 100, basis_points = 50, maximum_minor = 900, chargeback_minor = 2500 }
"""


def whole_number(least: int) -> str:
    """What is said of an amount that is out of range."""
    return f"must be a whole number from {least} to 9,007,199,254,740,991."


def problems(text: str) -> list[str]:
    """What is wrong with this file, without the name of the setting."""
    with pytest.raises(InvalidSettingsError) as refused:
        catalogue_file.read(text.encode())
    assert all(problem.startswith("TOLLHOUSE_CATALOGUE_FILE ") for problem in refused.value.field_errors)
    return [problem.removeprefix("TOLLHOUSE_CATALOGUE_FILE ") for problem in refused.value.field_errors]


@pytest.fixture
def zloty_service(server: embedded.Server, tmp_path: Path) -> Iterator[Service]:
    """A service of this process with a catalogue of its own."""
    file = tmp_path / "catalogue.toml"
    file.write_text(ZLOTY + BANK + '[methods."sandbox:PLN"]\nfees = { fixed_minor = 30, basis_points = 100 }\n')
    with Service(settings_for(server.cluster.dsn, fresh=True, TOLLHOUSE_CATALOGUE_FILE=str(file))) as running:
        yield running


def test_an_empty_file_changes_nothing() -> None:
    services = catalogue_file.read(b"")
    assert services.currencies == dict(currencies.BUILT_IN)
    assert services == CATALOGUE


def test_a_currency_and_a_method_are_added() -> None:
    services = catalogue_file.read((ZLOTY + BANK).encode())
    assert (services.currencies["PLN"].decimals, services.currencies["PLN"].operations.payments) == (2, True)
    assert services.methods["elixir:PLN"].fees.of(100_000) == 600
    assert services.methods["sandbox:PLN"].type == "simulator"
    assert "PLN" not in CATALOGUE.currencies


def test_what_the_module_shows_is_read(tmp_path: Path) -> None:
    (tmp_path / "quest.secret").write_text("ours\n")
    shown = "\n".join(line[4:] for line in (catalogue_file.__doc__ or "").splitlines() if line.startswith("    "))
    services = catalogue_file.read(shown.replace("/etc/tollhouse", str(tmp_path)).encode())
    gold = services.products["quest:gold"]
    assert (gold.game, gold.unit_price_minor, gold.minimum_quantity, gold.recipient_schema["required"]) == (
        "Quest",
        5,
        1,
        ["player"],
    )
    assert (services.game_servers["quest"].url, services.game_servers["quest"].secret()) == (
        "https://quest.example/grants",
        b"ours",
    )
    assert "sandbox:gems" in services.products


def test_the_source_of_prices() -> None:
    feed = catalogue_file.read(b'[price_feed]\nurl = "https://rates.example/eur"\npointer = "/data/rates"').price_feed
    assert feed is not None
    assert (feed.pointer, feed.check_url, feed.every_s, feed.change_basis_points) == ("/data/rates", None, 300, 1_000)
    assert catalogue_file.read(b"").price_feed is None
    assert problems('[price_feed]\nurl = "ftp://rates.example"')[0].startswith("price_feed.url: ")
    faulty = problems('[price_feed]\nurl = "https://rates.example"\nevery_s = 5\npointer = "rates"')
    assert [line.partition(":")[0] for line in faulty] == ["price_feed.pointer", "price_feed.every_s"]


def test_game_servers_and_products_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    server = '[game_servers.quest]\nurl = "https://quest.example"\nsecret_file = "{}"\n'
    assert problems(server.format(tmp_path / "empty")) == ["game_servers.quest.secret_file: the file is empty"]
    assert problems(server.format(tmp_path / "none")) == ["game_servers.quest.secret_file: the file cannot be read"]
    name = "the name must be 1 to 32 lower-case letters, digits and underscores, and not sandbox"
    assert problems(server.replace("quest]", "sandbox]")) == [f"game_servers.sandbox: {name}"]
    (tmp_path / "secret").write_text("ours")
    assert problems(server.replace("https", "ftp").format(tmp_path / "secret"))[0].startswith("game_servers.quest.url: ")
    gems = '[products."sandbox:gems"]\n'
    assert problems(gems + "unit_wholesale_minor = 11") == [
        'products."sandbox:gems".unit_wholesale_minor: must not exceed unit_price_minor'
    ]
    assert problems(gems + "minimum_quantity = 5\nmaximum_quantity = 4") == [
        'products."sandbox:gems".maximum_quantity: must not be below minimum_quantity'
    ]
    assert problems(gems + 'server = "quest"') == [
        'products."sandbox:gems": the ID must be server:item with the server that delivers it'
    ]
    assert problems(gems + 'currency = "XXX"') == [
        'products."sandbox:gems".currency: the currency must exist and support balances'
    ]
    assert problems(gems + 'recipient_schema = { type = "string" }') == [
        'products."sandbox:gems".recipient_schema: must have type object and additionalProperties false'
    ]


def test_what_is_built_in_can_be_changed_a_little() -> None:
    services = catalogue_file.read(
        b'[methods."sepa:EUR"]\nenabled = false\nfees = { basis_points = 10 }\n'
        b"[currencies.ETH]\noperations = { payments = false }\n"
    )
    sepa, ether = services.methods["sepa:EUR"], services.currencies["ETH"]
    assert (sepa.enabled, sepa.fees.basis_points, sepa.minimum_minor) == (False, 10, 100)
    assert (ether.operations.payments, ether.operations.conversions, ether.decimals) == (False, False, 8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[currencies.BTC]\ndecimals = 6", ["currencies.BTC.decimals: is 8 and cannot be changed"]),
        ('[currencies.EUR]\ntype = "crypto"', ["currencies.EUR.type: is fiat and cannot be changed"]),
        (ZLOTY.replace("2", "9"), ["currencies.PLN.decimals: must be a whole number from 0 to 8."]),
        (ZLOTY.replace("2", "-1"), ["currencies.PLN.decimals: must be a whole number from 0 to 8."]),
        (ZLOTY.replace("2", "2.0"), ["currencies.PLN.decimals: must be a whole number from 0 to 8."]),
        (ZLOTY.replace("PLN", "pln"), ["currencies.pln: the code must be 2 to 12 capital letters and digits"]),
        (ZLOTY + "scale = 2", ["currencies.PLN.scale: is not a known field."]),
        (
            "[currencies.PLN]\ndecimals = 2",
            [f"currencies.PLN.{name}: is required." for name in ("name", "type", "symbol")],
        ),
        ("[currencies]\nPLN = 2", ["currencies.PLN: must be a table"]),
        ("currencies = 1", ["currencies: must be a table"]),
        ("[coins.PLN]", ["coins: unknown table"]),
        (BANK, ['methods."elixir:PLN": the ID must be network:CURRENCY with an existing currency']),
        ('[methods."sepa:EUR"]\nrail = "sandbox"', ['methods."sepa:EUR".rail: is bank and cannot be changed']),
        ('[methods."sepa:EUR"]\nminimum_minor = 0', [f'methods."sepa:EUR".minimum_minor: {whole_number(1)}']),
        (
            '[methods."sepa:EUR"]\nmaximum_minor = 99\nfees = { minimum_minor = 2, maximum_minor = 1 }',
            [
                'methods."sepa:EUR".maximum_minor: must not be below minimum_minor',
                'methods."sepa:EUR".fees.maximum_minor: must not be below fees.minimum_minor',
            ],
        ),
        (
            ZLOTY + BANK.replace('rail = "elixir"', 'rail = "sandbox"'),
            ['methods."elixir:PLN": sandbox methods cannot be added'],
        ),
        ('[methods."sepa:EUR"]\nfees = { fixed_minor = -1 }', [f'methods."sepa:EUR".fees.fixed_minor: {whole_number(0)}']),
    ],
)  # fmt: skip
def test_an_error_names_its_member(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_all_errors_are_reported_at_once() -> None:
    text = '[coins]\n[currencies.BTC]\ndecimals = 2\n[currencies.x]\n[methods."sepa:EUR"]\nname = ""\n'
    assert [problem.partition(":")[0] for problem in problems(text)] == [
        "coins", "currencies.BTC.decimals", "currencies.x", 'methods."sepa',
    ]  # fmt: skip


@pytest.mark.parametrize("raw", [b"[currencies", b"\xff\xfe"])
def test_what_is_not_toml_is_said_to_be(raw: bytes) -> None:
    with pytest.raises(InvalidSettingsError, match="is not valid TOML"):
        catalogue_file.read(raw)


async def currencies_of(actor: Actor) -> dict[str, dict[str, Any]]:
    return {currency["code"]: currency for currency in (await actor.get("/currencies")).ok().body["currencies"]}


async def test_an_added_currency_works_like_any_other(zloty_service: Service) -> None:
    async with sign_up(zloty_service, "alice", "Alice's Games") as alice:
        listed = await currencies_of(alice)
        assert (listed["PLN"]["symbol"], listed["PLN"]["decimals"], listed["PLN"]["chains"]) == ("zł", 2, [])
        await pay(await open_link(alice, currency="PLN", amount="10.00"))
        assert (await alice.get("/balances/PLN")).ok().body["available"] == "9.60"
        answer = (await alice.get("/payment-methods", mode="live")).ok()
        live = {payment_method["method_id"]: payment_method for payment_method in answer.body["payment_methods"]}
        assert live["elixir:PLN"]["unavailable_reason"] == "provider_not_configured"
        assert live["elixir:PLN"]["fees"]["chargeback_minor"] == 2_500


async def test_services_of_one_process_have_catalogues_of_their_own(alice: Actor, zloty_service: Service) -> None:
    async with sign_up(zloty_service, "alice", "Alice's Games") as other:
        assert (await currencies_of(other)).keys() - (await currencies_of(alice)).keys() == {"PLN"}
    (await alice.get("/balances/PLN")).refused("not_found", 404)


@pytest.mark.long
async def test_the_command_line_reads_the_file(alice: Actor, service: Service, tmp_path: Path) -> None:
    file = tmp_path / "catalogue.toml"
    file.write_text("[currencies.BTC]\ndecimals = 6\n[currencies.pln]\n")
    refused = await operator(service, "merchants", "list", TOLLHOUSE_CATALOGUE_FILE=str(file))
    assert (refused.status, refused.out) == (1, "")
    assert "currencies.BTC.decimals: is 8 and cannot be changed" in refused.talk
    assert "currencies.pln" in refused.talk
    missing = await operator(service, "merchants", "list", TOLLHOUSE_CATALOGUE_FILE=str(tmp_path / "none.toml"))
    assert (missing.status, "TOLLHOUSE_CATALOGUE_FILE" in missing.talk) == (1, True)
    assert alice.merchant_id


async def test_decimals_are_held_for_ever(service: Service) -> None:
    pool = Pool(await migrated_database(service.dsn), 1)
    try:
        for text in ("", ZLOTY, ZLOTY):
            await start_checks.verify_scales(pool, catalogue_file.read(text.encode()))
        finer = catalogue_file.read(ZLOTY.replace("2", "3").encode())
        with pytest.raises(InvalidSettingsError, match=r"currencies\.PLN: amounts in the database have 2 decimals"):
            await start_checks.verify_scales(pool, finer)
        with pytest.raises(InvalidSettingsError, match=r"currencies\.PLN"):
            await start_checks.verify_scales(pool, CATALOGUE)
    finally:
        await pool.close()


def test_ways_to_withdraw_and_pairs() -> None:
    services = catalogue_file.read(
        ZLOTY.encode()
        + b"""
[withdrawal_methods."elixir:PLN"]
name = "Polish bank transfer"
rail = "elixir"
receiver_type = "iban"
provider_fields = { type = "object", additionalProperties = false, required = ["name"], properties.name.type = "string" }

[withdrawal_methods."sepa:EUR"]
daily_limit_minor = 5_000_000
fees = { fixed_minor = 30 }

[conversion_pairs."EUR:PLN"]
fee_basis_points = 50
"""
    )
    sepa = services.withdrawal_methods["sepa:EUR"]
    assert (sepa.daily_limit_minor, sepa.fees.fixed_minor, sepa.provider_fields["required"]) == (
        5_000_000,
        30,
        ["account_holder_name"],
    )
    assert services.withdrawal_methods["elixir:PLN"].currency == "PLN"
    assert services.withdrawal_methods["sandbox:PLN"].receiver_type == "sandbox"
    assert services.conversion_pairs["EUR:PLN"].fee_basis_points == 50


def test_what_is_wrong_with_ways_to_withdraw_and_pairs() -> None:
    assert problems(
        """
[withdrawal_methods."sepa:EUR"]
rail = "other"
maximum_minor = 1
[withdrawal_methods."elixir:EUR"]
name = "Elixir"
rail = "elixir"
receiver_type = "iban"
provider_fields = { type = "object" }
[withdrawal_methods."mine:EUR"]
name = "Mine"
rail = "mine"
receiver_type = "iban"
provider_fields = { type = "object", additionalProperties = false, properties.name."$ref" = "http://127.0.0.1/x" }
[withdrawal_methods."sandbox:XXX"]
[conversion_pairs."EUR:EUR"]
[conversion_pairs."EUR:USD"]
minimum_minor = 2
maximum_minor = 1
"""
    ) == [
        'withdrawal_methods."sepa:EUR".maximum_minor: must not be below minimum_minor',
        'withdrawal_methods."sepa:EUR".rail: is bank and cannot be changed',
        'withdrawal_methods."elixir:EUR".provider_fields: must have type object and additionalProperties false',
        'withdrawal_methods."mine:EUR".provider_fields: must be a self-contained JSON Schema',
        'withdrawal_methods."sandbox:XXX": the ID must be network:CURRENCY with an existing currency',
        'conversion_pairs."EUR:EUR": the ID must be FROM:TO with two different existing currencies',
        'conversion_pairs."EUR:USD".maximum_minor: must not be below minimum_minor',
    ]
