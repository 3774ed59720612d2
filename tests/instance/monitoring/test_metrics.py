"""What a scrape of a running instance returns, who may scrape it, and that alerts and dashboard use what there is."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.processes import Serving
from tests.running import KEY, free_port, migrated_database, new_database
from tollhouse.instance import supervisor
from tollhouse.instance.database import embedded
from tollhouse.instance.monitoring import exporter
from tollhouse.platform.log.metrics import Counter, Durations, Gauge, Rows
from tollhouse.platform.server import listening
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import InvalidSettingsError

MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
TOKEN = "m" * 32
NAME = re.compile(r"tollhouse_[a-z_0-9]+")
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

pytestmark = pytest.mark.xdist_group("serve")


@pytest.fixture(scope="module")
async def scraped(server: embedded.Server, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Serving, str]]:
    """An instance with two web processes, and the URL of its metrics."""
    port = free_port()
    serving = Serving(
        tmp_path_factory.mktemp("metrics"),
        "serve",
        "--workers",
        "2",
        DATABASE_URL=await new_database(server.cluster.dsn),
        TOLLHOUSE_SECRET_KEYS=KEY,
        TOLLHOUSE_METRICS_ADDRESS=f"127.0.0.1:{port}",
        TOLLHOUSE_METRICS_TOKEN=TOKEN,
    )
    url = f"http://127.0.0.1:{port}/metrics"
    await serving.start()
    async with asyncio.timeout(30):  # one web process responds before the other one has started
        while await running(url) != {"worker", "web 1", "web 2"}:
            await asyncio.sleep(0.1)
    yield serving, url
    assert serving.stop() == []


async def read(url: str) -> str:
    """The response to Prometheus."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as response:
        assert response.status == 200
        return await response.text()


async def scrape(url: str) -> Samples:
    """Every sample, by its name and labels."""
    families = text_string_to_metric_families(await read(url))
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


async def scrape_until(url: str, holds: Callable[[Samples], bool]) -> Samples:
    """The first scrape of which this holds: a request is counted after its response was sent."""
    async with asyncio.timeout(60):
        while not holds(samples := await scrape(url)):
            await asyncio.sleep(0.05)
    return samples


async def running(url: str) -> set[str]:
    """The processes that run; none before the worker, which serves the metrics, has started."""
    try:
        return processes(await scrape(url))
    except aiohttp.ClientConnectorError:
        return set()


def processes(samples: Samples) -> set[str]:
    """The processes that run."""
    return {dict(labels)["process"] for name, labels in samples if name == "tollhouse_process_memory_bytes"}


def total(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples with these labels."""
    return sum(value for (one, found), value in samples.items() if one == name and found >= labels.items())


@pytest.mark.long
async def test_a_scrape_adds_up_the_requests_of_all_processes(scraped: tuple[Serving, str]) -> None:
    serving, url = scraped
    labels = {"surface": "none", "operation": "none", "status": "4xx"}
    before = total(await scrape(url), "tollhouse_http_requests_total", **labels)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http:
        for _ in range(20):  # each on a connection of its own, which any process may accept
            async with http.get(f"{serving.url}/api/v2/there-is-no-such-thing") as response:
                assert response.status == 404
    samples = await scrape_until(url, lambda now: total(now, "tollhouse_http_requests_total", **labels) >= before + 20)
    assert total(samples, "tollhouse_http_requests_total", **labels) == before + 20
    assert total(samples, "tollhouse_http_request_duration_seconds_count", surface="none") == before + 20


async def test_requests_that_are_no_http_or_too_large_are_counted(scraped: tuple[Serving, str]) -> None:
    serving, url = scraped
    name = "tollhouse_http_requests_refused_total"
    before = await scrape(url)
    refused = {"invalid_request": b"HELLO\r\n\r\n", "request_headers_too_large": b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000}
    for sent in refused.values():
        reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
        writer.write(sent)
        assert (await reader.readline()).startswith(b"HTTP/1.1 4")
        writer.close()
    after = await scrape_until(url, lambda now: total(now, name) >= total(before, name) + len(refused))
    assert {code: total(after, name, code=code) - total(before, name, code=code) for code in refused} == dict.fromkeys(
        refused, 1
    )


async def test_a_scrape_tells_about_database_worker_and_processes(scraped: tuple[Serving, str]) -> None:
    samples = await scrape(scraped[1])
    assert total(samples, "tollhouse_database_up") == 1
    assert ("tollhouse_workers_running", frozenset()) in samples  # its first heartbeat may be still to come
    assert total(samples, "tollhouse_invariants_broken") == 0
    assert total(samples, "tollhouse_partitions_ahead_seconds", table="webhook_events") > 86_400
    assert total(samples, "tollhouse_database_pool_limit") > 0
    assert total(samples, "tollhouse_disk_free_bytes", folder="data") > 0
    assert total(samples, "tollhouse_payouts_paused") == 0
    assert total(samples, "tollhouse_webhook_destinations_failing") == 0


async def test_no_label_is_one_of_prometheus(scraped: tuple[Serving, str]) -> None:
    assert {name for name, labels in await scrape(scraped[1]) if {"job", "instance"} & dict(labels).keys()} == set()


@pytest.mark.parametrize(
    ("method", "path", "authorization", "status"),
    [
        ("GET", "/metrics", None, 401),
        ("GET", "/metrics", f"Bearer {TOKEN}x", 401),
        ("GET", "/", f"Bearer {TOKEN}", 404),
        ("POST", "/metrics", f"Bearer {TOKEN}", 405),
    ],
)
async def test_others_get_nothing(
    scraped: tuple[Serving, str], method: str, path: str, authorization: str | None, status: int
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    url = scraped[1].removesuffix("/metrics") + path
    async with aiohttp.ClientSession() as http, http.request(method, url, headers=headers) as response:
        assert response.status == status
        assert "tollhouse_" not in await response.text()


async def test_the_service_itself_has_no_metrics(scraped: tuple[Serving, str]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession() as http, http.get(f"{scraped[0].url}/metrics", headers=headers) as response:
        assert response.status == 404


async def test_alerts_and_dashboard_use_metrics_that_exist(scraped: tuple[Serving, str]) -> None:
    known = set(re.findall(r"^# HELP (\S+)", await read(scraped[1]), re.MULTILINE))
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    expressions += re.findall(r"expr: (?:>-\n)?((?:.|\n)+?)\n +(?:for|labels):", (MONITORING / "alerts.yml").read_text())
    used = {name for expression in expressions for name in NAME.findall(expression)}
    assert len(used) > 25
    assert {name for name in used if not {name, name.removesuffix("_bucket")} & known} == set()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool of Prometheus is not installed: alerts are untested")
@pytest.mark.parametrize("words", [("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")])
def test_prometheus_accepts_the_files(words: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *words], cwd=MONITORING, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
async def test_a_port_that_is_taken_stops_no_payments(server: embedded.Server, tmp_path: Path) -> None:
    with listening.open_listening("127.0.0.1", free_port(), "") as other:
        serving = Serving(
            tmp_path,
            "web",
            DATABASE_URL=await migrated_database(server.cluster.dsn),
            TOLLHOUSE_SECRET_KEYS=KEY,
            TOLLHOUSE_METRICS_ADDRESS=f"127.0.0.1:{other.getsockname()[1]}",
        )
        await serving.start()  # it is ready to take payments
        warning = json.loads(next(line for line in serving.said.splitlines() if "metrics_not_served" in line))
        assert serving.stop() == []
    assert warning["level"] == "warning"
    assert f"for example --metrics-port {other_port(warning['detail']) + 1}" in warning["detail"]


def other_port(detail: str) -> int:
    """The port that a warning names."""
    found = re.match(r"Port (\d+) on 127\.0\.0\.1 is already in use", detail)
    assert found is not None, detail
    return int(found[1])


@pytest.mark.long
async def test_each_unit_has_metrics_on_a_port_of_its_own(server: embedded.Server, tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/metrics"
    with listening.open_listening("127.0.0.1", free_port(), "") as other:
        serving = Serving(
            tmp_path,
            "web",
            "--metrics-port",
            str(port),
            DATABASE_URL=await migrated_database(server.cluster.dsn),
            TOLLHOUSE_SECRET_KEYS=KEY,
            TOLLHOUSE_METRICS_ADDRESS=f"127.0.0.1:{other.getsockname()[1]}",
            TOLLHOUSE_METRICS_TOKEN=TOKEN,
        )
        await serving.start()
        async with asyncio.timeout(30):
            while await running(url) != {"web 1"}:
                await asyncio.sleep(0.05)
        assert serving.stop() == []


async def test_metrics_are_served_once_their_port_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "RETRY_AFTER_S", 0.01)
    with listening.open_listening("127.0.0.1", free_port(), "") as other:
        port = other.getsockname()[1]
        waiting = asyncio.create_task(exporter.listen("127.0.0.1", port))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(waiting), 0.1)
    with await asyncio.wait_for(waiting, 30) as listener:
        assert listener.getsockname()[1] == port


def test_parts_of_a_supervisor_do_not_get_the_password_of_the_owner() -> None:
    url = "postgresql://tollhouse:secret@db1/tollhouse"
    settings = config.load(
        {"DATABASE_URL": "postgresql://a@db1/t", "TOLLHOUSE_SECRET_KEYS": KEY, "TOLLHOUSE_MIGRATION_DATABASE_URL": url}
    )
    environment = supervisor.part_environment(settings)
    assert config.load(environment).migration_database_url is None


def test_processes_count_in_rows_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows()
    monkeypatch.setattr("tollhouse.platform.log.metrics.INSTANCE", rows)
    counter = Counter("c", "", ("kind",), [("a",), ("b",)])
    durations, gauge = Durations("d", ""), Gauge("g", "")
    for number in (0, 1):
        rows.use(number)
        counter.add("a")
        durations.observe(3_000)
        durations.observe(20_000_000)
        gauge.set(number + 5)
        rows.mark_sampled()
    assert dict(counter.totals()) == {("a",): 2, ("b",): 0}
    [(_, buckets, sum_us)] = durations.totals()
    assert (sum(buckets), buckets[2], buckets[-1], sum_us) == (4, 2, 2, 40_006_000)
    assert dict(gauge.by_process()) == {"worker": 5, "web 1": 6}
    rows.mark_ended()
    assert dict(gauge.by_process()) == {"worker": 5}
    assert dict(counter.totals())[("a",)] == 2


@pytest.mark.parametrize(
    ("address", "token", "message"),
    [
        ("0.0.0.0:9464", "", "TOLLHOUSE_METRICS_TOKEN is required"),
        ("[::]:9464", "", "TOLLHOUSE_METRICS_TOKEN is required"),
        ("127.0.0.1:9464", "short", "TOLLHOUSE_METRICS_TOKEN must be at least 32 visible ASCII characters"),
        ("localhost:9464", "", "TOLLHOUSE_METRICS_ADDRESS must be an IP address and a port"),
        ("127.0.0.1:0", "", "TOLLHOUSE_METRICS_ADDRESS must be an IP address and a port"),
        ("::1:9464", "", "TOLLHOUSE_METRICS_ADDRESS must be an IP address and a port"),
    ],
)
def test_an_address_that_is_open_or_wrong_is_refused(address: str, token: str, message: str) -> None:
    with pytest.raises(InvalidSettingsError, match=message):
        config.load({"TOLLHOUSE_METRICS_ADDRESS": address, "TOLLHOUSE_METRICS_TOKEN": token})


def test_metrics_are_off_by_default() -> None:
    assert config.load({}).metrics_address is None
