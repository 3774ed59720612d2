"""The card provider in the rails file, amounts as it writes them, and secrets that are not shown."""

from pathlib import Path

import pytest

from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import InvalidSettingsError
from tollhouse.rails import configured
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.objects import InexactAmountError, from_provider, to_provider


def described(folder: Path, old: str = "", new: str = "", *, key: str = "rk_live_abc") -> str:
    """A rails file beside its secrets."""
    (folder / "card.key").write_text(f"{key}\n")
    (folder / "card.webhook").write_text("whsec_abc\n")
    (folder / "empty").write_text("\n")
    text = f"""
        [card]
        kind = "stripe"
        secret_key_file = "{folder}/card.key"
        webhook_secret_files = ["{folder}/card.webhook"]
    """
    return text.replace(old, new) if old else text


def test_a_card_rail_is_described_by_the_rails_file(tmp_path: Path) -> None:
    (tmp_path / "rails.toml").write_text(described(tmp_path))
    rails = configured.build(config.load({"TOLLHOUSE_RAILS_FILE": str(tmp_path / "rails.toml")}))
    cards = rails.find("card", "live")
    assert isinstance(cards, StripeCards)
    assert (cards.account.secret_key, cards.account.webhook_secrets) == ("rk_live_abc", (b"whsec_abc",))
    assert repr(cards.account) == "StripeAccount('card', 'https://api.stripe.com')"
    assert rails.error("card", "live") is None
    assert rails.error("card", "test") == "provider_not_configured"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("card.key", "nothing"), "secret_key_file"),
        (("card.webhook", "empty"), "one line"),
        (('kind = "stripe"', 'kind = "stripe"\napi_url = "http://provider.example"'), "https://"),
        (('kind = "stripe"', 'kind = "stripe"\napi_url = "https://provider.example/v1"'), "end with the host"),
        (('kind = "stripe"', 'kind = "stripe"\nstatement_suffix = "<b>"'), "statement_suffix"),
        (('kind = "stripe"', 'kind = "stripe"\nsecret_key = "sk_live_a"'), "unknown field"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, changed: tuple[str, str], expected: str) -> None:
    with pytest.raises(InvalidSettingsError, match=expected):
        configured.read(described(tmp_path, *changed).encode())


def test_a_key_of_the_test_mode_is_refused_unless_it_is_meant(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingsError, match="test mode"):
        configured.read(described(tmp_path, key="sk_test_abc").encode())
    meant = described(tmp_path, 'kind = "stripe"', 'kind = "stripe"\ntakes_test_payments = true', key="sk_test_abc")
    assert configured.read(meant.encode())


def test_amounts_are_those_of_the_provider() -> None:
    for currency, amount_minor, amount in (
        ("EUR", 1_050, 1_050),
        ("JPY", 500, 500),
        ("ISK", 5, 500),
        ("KWD", 1_230, 1_230),
        ("MGA", 500, 5),
    ):
        assert to_provider(currency, amount_minor) == amount
        assert from_provider(currency, amount) == amount_minor
    for currency, amount_minor in (("KWD", 1_234), ("MGA", 550)):
        with pytest.raises(InexactAmountError):
            to_provider(currency, amount_minor)
    with pytest.raises(InexactAmountError):
        from_provider("UGX", 550)
