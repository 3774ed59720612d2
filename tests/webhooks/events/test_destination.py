"""Which addresses are refused by their text alone."""

import pytest

from tests.running import settings_for
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.outgoing.targets import Target, parse_target
from tollhouse.webhooks.events.destination import check_destination_url, destination_key

CLOSED = settings_for("postgresql:///nowhere", TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="", TOLLHOUSE_INGRESS_IP="8.8.4.4")
OPEN = settings_for("postgresql:///nowhere", TOLLHOUSE_INGRESS_IP="127.0.0.9")

REFUSED = [
    "", " ", "example.com", "//example.com/", "ftp://example.com/", "javascript:alert(1)", "data:text/plain,x",
    "file:///etc/passwd",
    "https://", "https:///path", "https:/example.com", "https:example.com", "gopher://example.com", "HTTPS//example.com",
    "https://user@example.com/", "https://user:pass@example.com/", "https://example.com@127.0.0.1/", "https://@example.com/",
    "https://example.com/#", "https://example.com/a#b", "https://example.com#@evil.example/",
    "https://example.com/a b", "https://example.com/\ta", "https://exa\nmple.com/", "https://example.com/\r\nX: y",
    "https://example.com\\@evil.example/", "https://example.com/\x00", " https://example.com/", "https://example.com/ ",
    "https://example.com/caf\u00e9", "https://example.com/\u202e", "https://exam%70le.com/", "https://%31%32%37.0.0.1/",
    "https://[::1]/", "https://[example.com]/", "https://[::ffff:127.0.0.1]/", "https://[fe80::1%25eth0]/",
    "https://::1/",
    "https://example..com/", "https://.example.com/", "https://-example.com/", "https://example-.com/", "https://./",
    "https://" + "a" * 64 + ".com/", "https://" + "a." * 127 + "com/", "https://xn--/", "https://xn--a/", "https://\u2488\u2488.com/",
    "https://exa\u00admple\u2603\ufe0f\u200d.\u0f0c/", "https://a_\u00e4b\u2260.com/",
    "https://localhost/", "https://LOCALHOST/", "https://localhost./", "https://foo.localhost/", "https://printer.local/",
    "https://db.internal/", "https://metadata.google.internal/", "https://x.home.arpa/", "https://x.onion/", "https://intranet/",
    "https://intranet./", "https://x.LOCAL../",
    "https://127.0.0.1/", "https://127.0.0.1./", "https://127.1/", "https://127.0.1/", "https://2130706433/",
    "https://0x7f000001/",    "https://0x7f.0.0.1/", "https://017700000001/", "https://0177.0.0.1/", "https://127.0.0.01/", "https://127.0.0.1.1/",
    "https://256.0.0.1/", "https://1.2.3/", "https://example.0x/", "https://example.123/", "https://0/", "https://0.0.0.0/",
    "https://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/", "https://\uff11\uff12\uff17.0.0.1/",
    "https://127\u3002 0\u30020\u30021/",
    "https://127\u30020\u30020\u30021/", "https://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "https://10.255.255.255/",
    "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://100.64.0.1/", "https://100.127.255.255/",
    "https://192.0.0.1/", "https://192.0.0.9/", "https://192.0.2.1/", "https://192.88.99.1/", "https://198.18.0.1/",
    "https://198.19.255.255/", "https://198.51.100.7/", "https://203.0.113.7/", "https://224.0.0.1/", "https://239.255.255.255/",
    "https://240.0.0.1/", "https://255.255.255.255/", "https://8.8.4.4/",
    "https://example.com:22/", "https://example.com:25/", "https://example.com:0/", "https://example.com:1023/",
    "https://example.com:6000/", "https://example.com:6667/", "https://example.com:65536/", "https://example.com:99999/",
    "https://example.com:123456/", "https://example.com:-1/", "https://example.com:+443/", "https://example.com:0x50/",
    "https://example.com:/", "https://example.com:80:80/", "https://example.com:\u0664\u0664\u0663/",
    "https://example.com/" + "a" * 2029,
]  # fmt: skip
TAKEN = [
    "https://example.com", "https://example.com/", "HTTPS://EXAMPLE.com/Hook?a=%2F&b=%7e", "https://example.com./hook",
    "https://example.com:443/", "https://example.com:80/", "https://example.com:1024/", "https://example.com:8443/hook",
    "https://example.com?x=1", "https://example.com/a/../b//c", "https://m\u00fcnchen.example/", "https://xn--mnchen-3ya.example/",
    "https://under_score.example.com/", "https://1.example.com/", "https://8.8.8.8/", "https://172.15.0.1/", "https://172.32.0.1/",
    "https://100.63.0.1/", "https://100.128.0.1/", "https://192.0.1.1/", "https://198.20.0.1/", "https://223.255.255.255/",
    "https://example.com/" + "a" * 2028, "https://localhost.example.com/",
    "https://0x7f.example/", "https://a.notlocal/",
]  # fmt: skip


@pytest.mark.covers("W-13", "W-15", "W-57", "W-58", "W-64", "W-65", "S-56")
@pytest.mark.parametrize("url", REFUSED)
@pytest.mark.parametrize("livemode", [True, False])
def test_refused(url: str, livemode: bool) -> None:
    assert check_destination_url(url, livemode=livemode, settings=CLOSED)


@pytest.mark.parametrize("url", TAKEN)
def test_taken(url: str) -> None:
    assert check_destination_url(url, livemode=True, settings=CLOSED) is None


@pytest.mark.covers("W-2", "W-70")
def test_http_outside_live_only() -> None:
    assert check_destination_url("http://example.com/", livemode=True, settings=CLOSED)
    assert check_destination_url("http://example.com/", livemode=False, settings=CLOSED) is None


def test_allowed_networks_open_addresses_and_names_but_never_the_ingress() -> None:
    for url in ("http://127.0.0.1:8080/", "http://receiver:8080/", "http://localhost/"):
        assert check_destination_url(url, livemode=False, settings=OPEN) is None
    for url in ("http://10.0.0.1/", "http://127.0.0.9/", "http://2130706433/", "http://[::1]/", "http://127.1:6667/"):
        assert check_destination_url(url, livemode=False, settings=OPEN)


@pytest.mark.covers("W-14", "W-15")
def test_what_is_called_is_what_was_given() -> None:
    target = parse_target("HTTPS://B\u00fccher.Example.:8443/a/../%7e?x=%2F&y")
    assert target == Target("https", "xn--bcher-kva.example", 8443, "/a/../%7e?x=%2F&y")
    assert parse_target("https://example.com?x").target == "/?x"
    assert parse_target("https://example.com").target == ""


def test_each_merchant_and_host_has_a_key_of_its_own() -> None:
    one, other = (MerchantEnv(MerchantId(new_id()), "live") for _ in range(2))
    key = destination_key(one, "https://example.com/a")
    assert key == destination_key(one, "https://EXAMPLE.com:443/b?c")
    assert key != destination_key(other, "https://example.com/a")
    assert key != destination_key(one, "https://example.com:8443/a")
    assert key >> 31 == destination_key(one, "https://example.org/") >> 31
    assert 0 <= key < 1 << 63
    assert 0 <= destination_key(one, "https://[::1]/ saved under older rules") < 1 << 63
