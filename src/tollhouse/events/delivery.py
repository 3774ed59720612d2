"""The delivery engine: claim what is due, send it with no transaction open, write down how it ended.

A claim is a lease of thirty seconds, three times the deadline of a call. Whoever does not write down an attempt within
its lease has lost it: the sweep notes `worker_lost`, and another worker goes on. So an event is sent at least once.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from tollhouse.events import delivery_store, letter
from tollhouse.events.lanes import Call, Kind, Lane, Memory, Places, Turn, Turns
from tollhouse.events.letter import Claim, claim_of
from tollhouse.events.results import DATABASE_FAULTS, LEASE, Result, Results, give_back
from tollhouse.http.services import Services
from tollhouse.kernel.ids import new_id
from tollhouse.platform.db import Pool, Row
from tollhouse.platform.encryption import DecryptionError
from tollhouse.platform.log import log
from tollhouse.platform.outbound import Outbound, Outcome

POLL_EVERY_S = 0.02
POLL_EVERY_IDLE_S = 0.1
IDLE_AFTER_S = 5.0
GATHER_S = 0.002
FEW = 16
"""Calls begun at once, below which a worker has time to wait for more to make up for."""
LATER_EVERY_S = 0.1
SWEEP_EVERY_S = 1.0
NOTICE_EVERY_MS = 100
STOP_WITHIN_S = 12.0
AFTER_FAULT_S = 1.0
UNWRITTEN_MAX = 500
WALK_MAX = 200
WALK_EVERY_S = 0.05
"""While prompt destinations of the last walk have more; otherwise every look is a walk."""
IN_THE_WAY_MAX = 50
PROMOTED_AT_ONCE = 1_000
FIRST_KEY = -1
CONNECTIONS = 4
BY_INDEX = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}
"""Row by row, by index: right for a few rows of tables of any size, also when the plan was made while they were empty."""


def engine_services(services: Services) -> Services:
    """The house with connections for the engine alone."""
    dsn = services.settings.database_url or ""
    return msgspec.structs.replace(
        services, db=Pool(dsn, CONNECTIONS, services.db.name, settings=BY_INDEX, partitions=services.db.partitions)
    )


class Worker:
    """Delivers what is due until `stop` is called, never more calls at once than the rooms of `lanes` hold."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._under_way: dict[asyncio.Task[None], tuple[Claim, Call]] = {}
        self._memory = Memory()
        self._results = Results(services)
        self._began = dict.fromkeys(Lane, FIRST_KEY)
        self._last = dict.fromkeys(Lane, FIRST_KEY)
        self._more_of: list[int] = []
        self._more_later = False
        self._later_at = self._walk_at = self._idle_since = time.monotonic()
        self._noticed_ms = 0
        self._stopping = asyncio.Event()
        self._look_again = asyncio.Event()

    async def run(self) -> None:
        """Deliver until stopped; then wait for the calls under way, and give back what does not end in time.

        Raises what ended the writing of results, where that ended by itself.
        """
        async with Outbound(self._services.settings) as known, Outbound(self._services.settings) as strangers:
            writing = asyncio.create_task(self._results.run())
            writing.add_done_callback(lambda _: self.stop())  # nothing is sent that nobody would write down
            try:
                while not self._stopping.is_set():
                    await self._round(known, strangers)
            finally:
                await self._finish(writing)

    def stop(self) -> None:
        """Claim nothing more. `run` returns within twelve seconds."""
        self._stopping.set()
        self._look_again.set()

    async def _round(self, known: Outbound, strangers: Outbound) -> None:
        """Look for what is due, start the calls, and rest: until a call ends, or for as long as a poll may wait."""
        self._look_again.clear()
        self._notice_lasting_calls()
        try:
            started, more = await self._start(known, strangers)
        except DATABASE_FAULTS as fault:
            log.error("cannot claim deliveries", error=type(fault).__name__)
            await self._rest(AFTER_FAULT_S)
            return
        if started:
            self._idle_since = time.monotonic()
        if more:
            return
        if 0 < started < FEW:
            await asyncio.sleep(GATHER_S)  # so that what ends meanwhile is made up for together
        idle = time.monotonic() - self._idle_since > IDLE_AFTER_S
        await self._rest(POLL_EVERY_IDLE_S if idle else POLL_EVERY_S)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._look_again.wait()

    def _notice_lasting_calls(self) -> None:
        """A destination is slow as soon as a call to it has lasted too long, not only when that ends."""
        now_ms = _now_ms()
        if now_ms < self._noticed_ms + NOTICE_EVERY_MS:
            return
        self._noticed_ms = now_ms
        for _, call in self._under_way.values():
            if call.kind_at(now_ms) is not call.kind:
                self._memory.learn(call.key, now_ms - call.since_ms, delivered=False)

    async def _start(self, known: Outbound, strangers: Outbound) -> tuple[int, bool]:
        """Claim and begin; how many, and whether there is room for more that is due."""
        if len(self._results) > UNWRITTEN_MAX:
            return 0, False
        places = Places((call for _, call in self._under_way.values()), self._memory, _now_ms())
        turns: list[Turn] = []
        full = more = False
        lanes = await self._lanes()
        self._more_later = self._more_later and len(lanes) == 1
        for lane in lanes:
            if places.any_for(lane):
                shared, whole = await self._turns(lane, places)
                turns += shared.turns
                full, more = full or shared.full, more or not whole
        if not turns:
            return 0, more
        token = new_id()
        rows = await self._services.db.fetch(
            delivery_store.CLAIM,
            [turn.lane for turn in turns],
            [turn.key for turn in turns],
            [turn.room for turn in turns],
            token,
            LEASE,
        )
        self._remember(turns, rows)
        kinds = {(turn.lane, turn.key): turn.kind for turn in turns}
        now_ms = _now_ms()
        for row in rows:
            claim, kind = claim_of(row, token), kinds[row["lane"], row["destination_key"]]
            call = asyncio.create_task(self._deliver(known if kind is Kind.PROMPT else strangers, claim, row))
            self._under_way[call] = claim, Call(claim.destination_key, kind, now_ms)
            call.add_done_callback(self._ended)
        return len(rows), more or (full and bool(rows))

    def _remember(self, turns: list[Turn], claimed_rows: list[Row]) -> None:
        """Prompt destinations that left no room of their turn have more to claim, which needs no looking first."""
        claimed = Counter((row["lane"], row["destination_key"]) for row in claimed_rows)
        first = [turn for turn in turns if turn.lane is Lane.FIRST]
        self._know_no_more_of(
            turn.key for turn in first if turn.kind is not Kind.PROMPT or claimed[turn.lane, turn.key] < turn.room
        )

    def _know_no_more_of(self, keys: Iterable[int]) -> None:
        """Only a walk finds more of these; while nobody else is left, the next look is a walk."""
        gone = frozenset(keys)
        self._more_of = [key for key in self._more_of if key not in gone]

    async def _lanes(self) -> Sequence[Lane]:
        """The lane of first attempts each time; the others now and then, after what has become due has joined them.

        And at every look, while the last one found something there for a destination that answers promptly.
        """
        now = time.monotonic()
        if now < self._later_at:
            return tuple(Lane) if self._more_later else (Lane.FIRST,)
        while await self._services.db.execute(delivery_store.PROMOTE, PROMOTED_AT_ONCE) == PROMOTED_AT_ONCE:
            pass
        self._later_at = now + LATER_EVERY_S
        return tuple(Lane)

    async def _turns(self, lane: Lane, places: Places) -> tuple[Turns, bool]:
        """Whose turn it is in this lane, and whether that was the end of it.

        The walk goes round: where it ends for want of room, or because it was long enough, the next one begins.
        """
        if lane is Lane.FIRST and self._more_of and time.monotonic() < self._walk_at:
            keys, whole = self._more_of, True
        else:
            keys, whole = await self._walk(lane)
        if lane is not Lane.FIRST:
            self._more_later = self._more_later or self._memory.any_prompt(lane, keys)
        last = self._last[lane]
        keys = [key for key in keys if key > last] + [key for key in keys if key <= last]
        shared = places.share_out(lane, keys)
        if shared.turns:
            self._last[lane] = shared.turns[-1].key
        if lane is Lane.FIRST:
            self._know_no_more_of(shared.aside)
        if lane is Lane.FIRST and len(shared.aside) > IN_THE_WAY_MAX:
            await self._services.db.execute(delivery_store.SET_ASIDE, shared.aside)
        return shared, whole

    async def _walk(self, lane: Lane) -> tuple[list[int], bool]:
        """Destinations that have something due, and whether that was the end of the lane."""
        rows = await self._services.db.fetch(delivery_store.WALK, lane, self._began[lane], WALK_MAX)
        keys: list[int] = [row["key"] for row in rows]
        whole = len(keys) < WALK_MAX
        self._began[lane] = FIRST_KEY if whole else keys[-1]
        if lane is Lane.FIRST:
            self._more_of, self._walk_at = keys, time.monotonic() + WALK_EVERY_S
        return keys, whole

    async def _deliver(self, outbound: Outbound, claim: Claim, row: Row) -> None:
        """One claim, to its end."""
        if row["id"] is None:
            log.error("a delivery outlived its event", event_id=str(claim.event_id))
            await self._services.db.execute(delivery_store.FORGET, claim.event_id, claim.token)
            return
        url = letter.address(claim, row, deprecated_webhooks=self._services.settings.deprecated_webhooks)
        if url is None:
            await self._services.db.execute(delivery_store.CANCEL, claim.event_id, claim.token)
            return
        attempt: int = row["attempts"] + 1
        try:
            sent = letter.write(self._services.keys, claim, row, url)
        except (DecryptionError, ValueError) as fault:
            log.error("cannot sign", event_id=str(claim.event_id), error=type(fault).__name__)
            outcome = Outcome("signing_secret_missing", None, 0)
        else:
            outcome = await outbound.post(sent.url, sent.body, sent.headers)
            self._memory.learn(claim.destination_key, outcome.duration_ms, delivered=outcome.succeeded)
        if outcome.error is not None:
            log.info("attempt failed", event_id=str(claim.event_id), attempt=attempt, mode=claim.mode, error=outcome.error)
        self._results.add(Result(claim, attempt, outcome))

    def _ended(self, call: "asyncio.Task[None]") -> None:
        del self._under_way[call]
        self._look_again.set()
        if not call.cancelled() and (fault := call.exception()) is not None:
            log.error("attempt failed on our side", exc_info=fault)

    async def _finish(self, writing: "asyncio.Task[None]") -> None:
        until = time.monotonic() + STOP_WITHIN_S
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=STOP_WITHIN_S)
        left = dict(self._under_way)
        for call in left:
            call.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._results.close()
        await asyncio.wait({writing}, timeout=max(1.0, until - time.monotonic()))
        writing.cancel()
        await give_back(self._services, [claim for claim, _ in left.values()])
        if writing.done() and not writing.cancelled():
            await writing


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
