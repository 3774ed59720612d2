"""A real Prometheus with the shipped rules, whose durations are divided by a factor: hours pass in minutes."""

import asyncio
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import aiohttp

from chaos.programs import free_port

RULES = Path(__file__).parents[1] / "deploy" / "monitoring" / "alerts.yml"
FACTOR = 20
"""`for: 15m` becomes 45 s, and `[5m]` 15 s. Thresholds stay: an age of 24 hours is 24 hours."""
SCRAPE_EVERY_S, EVALUATE_EVERY_S = 2, 0.5
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION = re.compile(r"(?m)(?P<before>^ *for: |\[)(?P<count>\d+)(?P<unit>[smhd])(?=\]|$)")
ALERT = re.compile(r"(?m)^ *- alert: (\w+)$")
READY_WITHIN_S, STOPS_WITHIN_S, POLL_EVERY_S = 60.0, 20.0, 0.25
CONFIGURATION = """
global: {{scrape_interval: {scrape}s, scrape_timeout: {scrape}s, evaluation_interval: {evaluate}ms}}
rule_files: [{rules}]
scrape_configs: [{{job_name: tollhouse, static_configs: [{{targets: {targets}}}]}}]
"""


def alerts_of_the_rules() -> list[str]:
    """The names of all shipped alerts."""
    return ALERT.findall(RULES.read_text())


def scaled(rules: str, factor: int = FACTOR) -> str:
    """The rules with every `for` and every range divided by the factor."""

    def divide(found: re.Match[str]) -> str:
        milliseconds = round(int(found["count"]) * SECONDS[found["unit"]] * 1000 / factor)
        return f"{found['before']}{milliseconds}ms"

    return DURATION.sub(divide, rules)


class Prometheus:
    """`async with Prometheus(folder, addresses) as prometheus`: it scrapes these addresses."""

    def __init__(self, folder: Path, addresses: Sequence[str]) -> None:
        self._folder = folder
        self._addresses = addresses
        self._url = f"http://127.0.0.1:{free_port()}"

    async def __aenter__(self) -> Self:
        self._folder.mkdir()
        rules, configuration = self._folder / "alerts.yml", self._folder / "prometheus.yml"
        rules.write_text(scaled(RULES.read_text()))
        configuration.write_text(
            CONFIGURATION.format(
                scrape=SCRAPE_EVERY_S,
                evaluate=round(EVALUATE_EVERY_S * 1000),
                rules=rules,
                targets=list(self._addresses),
            )
        )
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address={self._url.removeprefix('http://')}",
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._http = aiohttp.ClientSession()
        try:
            await self._wait_until_ready()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, STOPS_WITHIN_S)

    async def firing(self) -> set[str]:
        """The alerts that fire now, by the API of alerts."""
        found = await self._get("alerts", {})
        return {alert["labels"]["alertname"] for alert in found["alerts"] if alert["state"] == "firing"}

    async def fired(self, within_s: float) -> set[str]:
        """The alerts that fired at any moment of the last seconds."""
        query = f'max_over_time(ALERTS{{alertstate="firing"}}[{max(1, round(within_s))}s])'
        found = await self._get("query", {"query": query})
        return {one["metric"]["alertname"] for one in found["result"]}

    async def wait_until_firing(self, names: Sequence[str], within_s: float) -> Mapping[str, float]:
        """Wait until these alerts have fired. Returns after how many seconds each did; one that did not is left out."""
        began = time.monotonic()
        after_s = dict[str, float]()
        while len(after_s) < len(names) and time.monotonic() - began < within_s:
            for name in (await self.firing()) & (set(names) - after_s.keys()):
                after_s[name] = time.monotonic() - began
            await asyncio.sleep(POLL_EVERY_S)
        return after_s

    async def wait_until_quiet(self, within_s: float) -> set[str]:
        """Wait until no alert fires. Returns those that still do."""
        until = time.monotonic() + within_s
        while (firing := await self.firing()) and time.monotonic() < until:
            await asyncio.sleep(POLL_EVERY_S)
        return firing

    async def _get(self, what: str, parameters: Mapping[str, str]) -> Any:
        async with self._http.get(f"{self._url}/api/v1/{what}", params=parameters) as response:
            return (await response.json())["data"]

    async def _wait_until_ready(self) -> None:
        async with asyncio.timeout(READY_WITHIN_S):
            while True:
                try:
                    async with self._http.get(f"{self._url}/-/ready") as response:
                        if response.ok:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(POLL_EVERY_S)
