"""The samples of the chapter on the Python SDK, run as they are written against the real service."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Actor
from tests.payments.bank import sell
from tollhouse.instance.docs.book import EXAMPLE_URL, PLACEHOLDER

CHAPTER = Path(__file__).parent.parent.parent / "docs" / "sdk-python.md"
SAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


async def test_every_sample_runs(
    alice: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    secret = (await alice.post("/webhook/rotate-secret")).ok().body["secret"]
    payment = await sell(alice)
    text = CHAPTER.read_text().replace(EXAMPLE_URL, alice.service.url).replace(PLACEHOLDER, await alice.key())
    names: dict[str, Any] = {}
    samples = SAMPLE.findall(text)
    assert len(samples) == 4
    capsys.readouterr()
    for sample in samples:
        await asyncio.to_thread(exec, compile(sample, str(CHAPTER), "exec"), names)
    printed = capsys.readouterr().out
    for expected in (f"{alice.service.url}/pay/", payment["id"], "payment.succeeded", "'amount'"):
        assert expected in printed
    event = (await alice.get("/events")).ok().body["events"][-1]
    body = event["body"].encode()
    assert names["receive"](body, event["headers"], secret) == 204
    assert names["receive"](body + b" ", event["headers"], secret) == 400
