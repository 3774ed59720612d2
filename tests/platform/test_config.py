"""Settings: every fault told at once, lifetimes shortened but never lengthened."""

import base64
from pathlib import Path

import pytest

from tollhouse.platform.settings.config import SETTINGS, InvalidSettingsError, load
from tollhouse.platform.smtp import Relay

KEY = "k1:" + base64.urlsafe_b64encode(bytes(32)).decode().rstrip("=")


def test_the_defaults_stand() -> None:
    settings = load({"HOME": "/home/alice"})
    assert settings.base_url == "http://localhost:8000"
    assert settings.data_dir == Path("/home/alice/.local/share/tollhouse")
    assert (settings.authorization_code_ttl, settings.access_token_ttl, settings.grant_ttl) == (300, 900, 2_592_000)
    assert settings.webhook_retry_schedule == (10, 60, 300, 1800, 7200, 21600, 50400, 86400)
    assert not settings.deprecated_webhooks
    assert settings.signup_open


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        load(
            {
                "DATABASE_URL": "postgresql://somewhere",
                "TOLLHOUSE_BASE_URL": "http://localhost:8000/",
                "TOLLHOUSE_SIGNUP": "maybe",
                "TOLLHOUSE_ACCESS_TOKEN_TTL": "901",
                "TOLLHOUSE_WEBHOOK_RETRY_SCHEDULE": "1,2,3,4,5,6,7,8,9",
                "TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": "10.0.0.1/8",
                "TOLLHOUSE_INGRESS_IP": "::1",
            }
        )
    assert [problem.split()[0] for problem in refused.value.field_errors] == [
        "TOLLHOUSE_BASE_URL",
        "TOLLHOUSE_SIGNUP",
        "TOLLHOUSE_INGRESS_IP",
        "TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS",
        "TOLLHOUSE_WEBHOOK_RETRY_SCHEDULE",
        "TOLLHOUSE_ACCESS_TOKEN_TTL",
        "TOLLHOUSE_SECRET_KEYS",
    ]


@pytest.mark.parametrize("ring", ["k1", "k1:short", f"{KEY},{KEY}", ":" + KEY[3:]])
def test_a_key_ring_is_whole_or_refused(ring: str) -> None:
    with pytest.raises(InvalidSettingsError):
        load({"TOLLHOUSE_SECRET_KEYS": ring})


@pytest.mark.parametrize("text", ["TRUE", "True", "1", "yes", "on", "", "true ", " true", "true\n", "\ttrue"])
def test_only_true_keeps_saved_webhook_addresses(text: str) -> None:
    assert not load({"NOTIFY_DEPRECATED_WH": text}).deprecated_webhooks
    assert load({"NOTIFY_DEPRECATED_WH": "true"}).deprecated_webhooks


def test_each_setting_fills_its_own_field() -> None:
    assert len({setting.name for setting in SETTINGS}) == len({setting.field for setting in SETTINGS}) == len(SETTINGS)


def test_a_relay_for_mail_is_read_from_its_url() -> None:
    smtp = load({"TOLLHOUSE_SMTP_URL": "smtps://post%40house:p%3Aw@relay.example"}).smtp
    assert smtp == Relay("relay.example", 465, True, "post@house", "p:w")
    assert "p:w" not in repr(smtp)
    assert load({"TOLLHOUSE_SMTP_URL": "smtp://127.0.0.1:1025/"}).smtp == Relay("127.0.0.1", 1025, False)
    assert load({}).smtp is None


@pytest.mark.parametrize(
    "url",
    ["relay.example", "http://relay.example", "smtp://", "smtp://hunter2@relay.example", "smtp://a:hunter2@r:hunter2",
     "smtp://a:hunter2@relay.example/x", "smtp://a:hunter2@relay.example?tls=no", "smtp://a:hunter2@[relay"],
)  # fmt: skip
def test_a_relay_that_cannot_be_is_refused_and_its_password_not_repeated(url: str) -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        load({"TOLLHOUSE_SMTP_URL": url})
    assert "hunter2" not in str(refused.value)


def test_mail_is_from_an_address() -> None:
    assert load({"TOLLHOUSE_BASE_URL": "https://pay.example"}).sender == "Tollhouse <tollhouse@pay.example>"
    assert load({"TOLLHOUSE_MAIL_FROM": "Our Toll <toll@house.example>"}).sender == "Our Toll <toll@house.example>"
    for wrong in ("toll", "a@b.example, c@d.example", "Toll <>", "a b@c.example"):
        with pytest.raises(InvalidSettingsError):
            load({"TOLLHOUSE_MAIL_FROM": wrong})
