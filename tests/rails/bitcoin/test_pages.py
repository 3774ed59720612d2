"""The operators' pages about payouts in bitcoin: export, download, import, replace, cancel and refuse."""

from uuid import UUID

import aiohttp
import pytest
from playwright.async_api import Browser

from tests.browser import WIDE, Look, by_look, in_a_browser, visitor
from tests.cast import Actor, Answer
from tests.journeys.with_bank.every_page import carry_session
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bitcoin.paying import BitcoinPayer
from tests.rails.bitcoin.wallet import THEIRS, sign

PATH = "/operator/bitcoin-payouts"


async def upload(olga: Actor, path: str, raw: bytes) -> Answer:
    """Import this file as the signed transaction."""
    form = aiohttp.FormData()
    form.add_field("signed", raw, filename="signed.psbt")
    return await olga.send("POST", path, data=form, headers={"Sec-Fetch-Site": "same-origin"})


async def shown(olga: Actor, path: str = PATH) -> str:
    """The page, with its white space as it is seen."""
    return " ".join((await olga.send("GET", path)).ok().text.split())


async def test_operators_pay_out_on_their_pages(payer: BitcoinPayer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps as on the command line."""
    service = payer.actor.service
    monkeypatch.setitem(service.rails.providers, (payer.name, "live"), payer.network)
    first, second = await payer.withdraw("0.0004"), await payer.withdraw("0.0003")
    async with signed_in_operator(service) as olga:
        page = await shown(olga)
        assert THEIRS in page
        assert page.count('type="checkbox"') == 2
        assert "No payouts are pending" in (await olga.form(f"{PATH}/export", {})).ok(409).text
        (await olga.form(f"{PATH}/export", {"payout": str(first.id), "fee_rate": "much"})).ok(409)
        done = (await olga.form(f"{PATH}/export", {"payout": str(first.id), "fee_rate": "3"})).ok(303).location
        batch_id = UUID(done.partition("?")[0].rsplit("/", 1)[1])
        assert "making the draft" in await shown(olga, done)
        (await olga.send("GET", f"{PATH}/{batch_id}/file")).ok(409)
        await payer.advance()
        psbt = (await olga.send("GET", f"{PATH}/{batch_id}/file")).ok().text
        (await upload(olga, f"{PATH}/{batch_id}/import", b"")).ok(422)
        refused = (await upload(olga, f"{PATH}/{batch_id}/import", psbt.encode())).ok(422).text
        assert "not signed by the keys" in refused
        done = (await upload(olga, f"{PATH}/{batch_id}/import", sign(psbt).serialize())).ok(303).location
        assert "Done: bitcoin batch imported" in await shown(olga, done)
        await payer.advance()
        (await olga.form(f"{PATH}/{batch_id}/replace", {"fee_rate": "-1"})).ok(422)
        (await olga.form(f"{PATH}/{batch_id}/replace", {"fee_rate": ""})).ok(303)
        (await olga.form(f"{PATH}/{batch_id}/cancel", {"reason": ""})).ok(422)
        (await olga.form(f"{PATH}/{batch_id}/cancel", {"reason": "A mistake"})).ok(409)
        (await olga.form(f"{PATH}/refuse", {"refused": "", "reason": ""})).ok(422)
        (await olga.form(f"{PATH}/refuse", {"refused": str(first.id), "reason": "Blocked"})).ok(409)
        done = (await olga.form(f"{PATH}/refuse", {"refused": str(second.id), "reason": "Blocked"})).ok(303).location
        assert "Done: payout refused" in await shown(olga, done)
        history = await shown(olga, "/operator/history")
        assert f"{PATH}/{batch_id}" in history
        assert f'href="/operator/withdrawals/{second.id}"' in history
        (await olga.send("GET", f"/operator/withdrawals/{second.id}")).ok()
        assert PATH in await shown(olga, "/operator/rails")
        (await olga.send("GET", f"{PATH}/{first.id}")).ok(404)
    assert (await payer.withdrawal(second.id)).status == "failed"


async def test_a_batch_is_canceled_on_its_page(payer: BitcoinPayer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its payouts wait again."""
    service = payer.actor.service
    monkeypatch.setitem(service.rails.providers, (payer.name, "live"), payer.network)
    made = await payer.withdraw("0.0004")
    batch_id = await payer.export()
    async with signed_in_operator(service) as olga:
        done = (await olga.form(f"{PATH}/{batch_id}/cancel", {"reason": "A mistake"})).ok(303).location
        assert "cannot pay them twice" in await shown(olga, done)
    assert await payer.statuses([made.id]) == ["waiting"]


@pytest.mark.long
@in_a_browser
@by_look(WIDE)
async def test_the_pages_in_a_browser(
    browser: Browser, look: Look, payer: BitcoinPayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wide and narrow, light and dark."""
    service = payer.actor.service
    monkeypatch.setitem(service.rails.providers, (payer.name, "live"), payer.network)
    first, _ = await payer.withdraw("0.0004"), await payer.withdraw("0.0003")
    batch_id = await payer.export(first.id)
    async with signed_in_operator(service) as olga, visitor(browser, look, service.url) as someone:
        await carry_session(someone, olga)
        await someone.page.goto(service.url + PATH)
        await someone.see("operator-bitcoin-payouts")
        await someone.page.goto(f"{service.url}{PATH}/{batch_id}")
        await someone.see("operator-bitcoin-batch")
