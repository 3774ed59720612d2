"""The delivery engine: claim what is due, send it with no transaction open, write down how it ended.

A claim is a lease of thirty seconds, three times the deadline of a call. Whoever does not write down an attempt within
its lease has lost it: the sweep notes `worker_lost`, and another worker goes on. So an event is sent at least once.
"""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from msgspec import Struct

from tollhouse.events import delivery_store, secrets
from tollhouse.events.schedule import WORKER_LOST, Next, Trigger, following
from tollhouse.events.signing import signature, standard_headers
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode, new_id
from tollhouse.kernel.limits import DELIVERY_LEASE_S
from tollhouse.kernel.refusals import TemporarilyUnavailable
from tollhouse.platform.db import Row
from tollhouse.platform.log import log
from tollhouse.platform.outbound import Outbound, Outcome
from tollhouse.platform.sealing import SealBrokenError, Sealed
from tollhouse.web.house import House

AT_ONCE_MAX = 64
AT_ONCE_PER_DESTINATION = 4
"""Of one worker process: a fleet makes this many times its size."""
POLL_EVERY_S = 0.25
SWEEP_EVERY_S = 1.0
STOP_WITHIN_S = 12.0
AFTER_FAULT_S = 1.0
LEASE = timedelta(seconds=DELIVERY_LEASE_S)
FIRST_KEY = -1
USER_AGENT = "Tollhouse-Webhooks/2"
DATABASE_FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TemporarilyUnavailable)


class Claim(Struct, frozen=True):
    """One attempt that is ours to make, until the lease ends."""

    event_id: UUID
    token: UUID
    destination_key: int
    mode: Mode
    trigger: Trigger
    held: bool
    tries: int
    lost: int
    started_at: datetime


class Letter(Struct, frozen=True):
    """What is sent: the address, the stored bytes, the headers that say and prove whose they are."""

    url: str
    body: bytes
    headers: dict[str, str]


class Worker:
    """Delivers what is due, at most 64 calls at once and 4 to one destination, until `stop` is called."""

    def __init__(self, house: House, *, at_once: int = AT_ONCE_MAX, per_destination: int = AT_ONCE_PER_DESTINATION) -> None:
        self._house = house
        self._at_once = at_once
        self._per_destination = per_destination
        self._under_way: dict[asyncio.Task[None], Claim] = {}
        self._cursor = FIRST_KEY
        self._stopping = asyncio.Event()
        self._look_again = asyncio.Event()

    async def run(self) -> None:
        """Deliver until stopped; then wait for the calls under way, and give back what does not end in time."""
        async with Outbound(self._house.settings) as outbound:
            try:
                while not self._stopping.is_set():
                    await self._round(outbound)
            finally:
                await self._finish()

    def stop(self) -> None:
        """Claim nothing more. `run` returns within twelve seconds."""
        self._stopping.set()
        self._look_again.set()

    async def _round(self, outbound: Outbound) -> None:
        self._look_again.clear()
        try:
            claims = await self._claim()
        except DATABASE_FAULTS as fault:
            log.error("cannot claim deliveries", error=type(fault).__name__)
            await self._rest(AFTER_FAULT_S)
            return
        for claim in claims:
            call = asyncio.create_task(self._attempt(outbound, claim))
            self._under_way[call] = claim
            call.add_done_callback(self._ended)
        if not claims:
            await self._rest(POLL_EVERY_S)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._look_again.wait(), seconds)

    def _ended(self, call: "asyncio.Task[None]") -> None:
        del self._under_way[call]
        self._look_again.set()
        if not call.cancelled() and (fault := call.exception()) is not None:
            log.error("attempt failed on our side", exc_info=fault)

    async def _claim(self) -> list[Claim]:
        """As many as there is room for, never more: what waits in a queue here would use up its lease."""
        room = self._at_once - len(self._under_way)
        if room <= 0:
            return []
        token = new_id()
        busy = Counter(claim.destination_key for claim in self._under_way.values())
        rows = await self._house.db.fetch(
            delivery_store.CLAIM,
            token,
            LEASE,
            room,
            self._per_destination,
            list(busy),
            list(busy.values()),
            self._cursor,
        )
        claims = [_claim(row, token) for row in rows]
        began, self._cursor = self._cursor, FIRST_KEY
        if len(claims) == room:
            self._cursor = max(claim.destination_key for claim in claims)
        if not claims and began != FIRST_KEY:  # the end of the keys: look once more from their beginning
            return await self._claim()
        return claims

    async def _attempt(self, outbound: Outbound, claim: Claim) -> None:
        lease_ends = time.monotonic() + DELIVERY_LEASE_S
        row = await self._house.db.fetchrow(delivery_store.LOAD, claim.event_id)
        if row is None:
            raise AssertionError("a delivery outlived its event")
        url = self._address(claim, row)
        if row["disabled"] or url is None or (claim.held and row["version"] is None):
            await self._house.db.execute(delivery_store.CANCEL, claim.event_id, claim.token)
            return
        attempt: int = row["attempts"] + 1
        try:
            letter = self._letter(claim, row, url, attempt)
        except (SealBrokenError, ValueError) as fault:
            log.error("cannot sign", event_id=str(claim.event_id), error=type(fault).__name__)
            outcome = Outcome("signing_secret_missing", None, 0)
        else:
            outcome = await outbound.post(letter.url, letter.body, letter.headers)
        log.info("attempted", event_id=str(claim.event_id), attempt=attempt, mode=claim.mode, error=outcome.error)
        while True:
            try:
                await write_down(self._house, claim, attempt, outcome)
            except DATABASE_FAULTS as fault:
                if time.monotonic() + AFTER_FAULT_S >= lease_ends:
                    raise
                log.error("cannot write down an attempt", error=type(fault).__name__)
                await asyncio.sleep(AFTER_FAULT_S)
            else:
                return

    def _address(self, claim: Claim, row: Row) -> str | None:
        """Where it goes now. A saved address counts only while compatibility lasts; a redelivery goes to the present one."""
        if row["destination_source"] in {"request", "test"}:
            return row["destination_url"]
        if not self._house.settings.deprecated_webhooks:
            return None
        return row["saved_url"] if claim.trigger == "manual" else row["destination_url"]

    def _letter(self, claim: Claim, row: Row, url: str, attempt: int) -> Letter:
        """Raises `SealBrokenError` when there is nothing to sign with: nothing is ever sent unsigned."""
        if row["version"] is None:
            raise SealBrokenError("no active secret")
        env = MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])
        sealed = Sealed(row["key_id"], row["nonce"], row["ciphertext"])
        secret = secrets.reveal(self._house.keys, env, row["version"], sealed)
        body: bytes = row["body"]
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": USER_AGENT,
            "X-Service-Event-Id": str(claim.event_id),
            "X-Service-Event-Type": row["type"],
            "X-Service-Mode": claim.mode,
            "X-Service-Attempt": str(attempt),
            "X-Service-Signature": signature(secret, body),
            **standard_headers(secret, claim.event_id, int(claim.started_at.timestamp()), body),
        }
        return Letter(url, body, headers)

    async def _finish(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=STOP_WITHIN_S)
        left = dict(self._under_way)
        for call in left:
            call.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for claim in left.values():
            with suppress(*DATABASE_FAULTS):
                await self._house.db.execute(delivery_store.GIVE_BACK, claim.event_id, claim.token)


async def write_down(house: House, claim: Claim, attempt: int, outcome: Outcome) -> None:
    """Record how an attempt ended, and plan what follows, in one statement that counts only while the lease is ours."""
    plan = following(
        mode=claim.mode,
        trigger=claim.trigger,
        error=outcome.error,
        tries=claim.tries,
        lost=claim.lost,
        schedule=house.settings.webhook_retry_schedule,
        retry_after_s=outcome.retry_after_s,
    )
    told = (
        claim.event_id,
        claim.token,
        attempt,
        claim.trigger,
        "succeeded" if outcome.succeeded else "failed",
        outcome.error,
        outcome.http_status,
        claim.started_at,
        outcome.duration_ms,
    )
    if await _settle(house, told, claim, plan) or outcome.error == WORKER_LOST:
        return
    log.warning("lease lost", event_id=str(claim.event_id), attempt=attempt)
    result = ("succeeded" if outcome.succeeded else "failed", outcome.error, outcome.http_status, outcome.duration_ms)
    await house.db.execute(delivery_store.LATE, claim.event_id, attempt, *result)


async def sweep(house: House) -> None:
    """Take back the leases that ran out, and let go what is held although a secret has become active."""
    for row in await house.db.fetch(delivery_store.RAN_OUT, LEASE):
        lost = _claim(row, row["lease_token"])
        await write_down(house, lost, row["attempts"] + 1, Outcome(WORKER_LOST, None, DELIVERY_LEASE_S * 1000))
    await house.db.execute(delivery_store.FREE_LEFT_BEHIND)


async def _settle(house: House, told: tuple[object, ...], claim: Claim, plan: Next) -> bool:
    """Whether the lease was still ours. Each of the three is whole by itself; the first that applies ends it."""
    over = plan.after is None and not plan.again
    if over and await house.db.execute(delivery_store.END, *told, "failed", False):
        return True
    done_by_hand = int(claim.trigger == "manual" and not plan.again)
    if await house.db.execute(delivery_store.GO_ON, *told, plan.after, plan.tries, plan.lost, done_by_hand):
        return True
    # Delivery was switched off while the call was under way.
    return bool(await house.db.execute(delivery_store.END, *told, "canceled", True))


def _claim(row: Row, token: UUID) -> Claim:
    return Claim(
        event_id=row["event_id"],
        token=token,
        destination_key=row["destination_key"],
        mode=row["mode"],
        trigger=row["sending"],
        held=row["held"],
        tries=row["tries"],
        lost=row["lost"],
        started_at=row["started_at"],
    )
