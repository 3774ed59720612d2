"""What must hold on the simulated network when everything has settled: compared with the blocks themselves."""

from collections import Counter, defaultdict
from datetime import timedelta

from tests.invariants import broken_invariants
from tests.rails.evm.fake_chain import Block, MinedTx
from tests.rails.evm.simulated_history import History
from tests.rails.evm.simulation import NAME, TOKEN, Simulation
from tollhouse.rails.balances import measuring
from tollhouse.rails.balances import store as balance_store
from tollhouse.rails.evm import jobs
from tollhouse.rails.evm.network.node import to_minor

ROUNDS_MAX, ROUNDS_WITH_SWEEPS = 80, 6
CURRENCIES = {None: "ETH", TOKEN: "USDC"}
SCALES = {"ETH": (8, 18), "USDC": (6, 6)}
UNSETTLED = """
    SELECT (SELECT count(*) FROM chain_payouts WHERE status NOT IN ('completed', 'failed'))
         + (SELECT count(*) FROM chain_deposits WHERE status NOT IN ('confirmed', 'ignored', 'vanished'))
         + (SELECT count(*) FROM withdrawals WHERE status IN ('pending', 'approved', 'processing'))
         + (SELECT count(*) FROM refunds WHERE status = 'pending') AS unsettled
"""
DEPOSITS = (
    "SELECT tx_hash, address, currency, units, amount_minor, block_hash FROM chain_deposits WHERE status <> 'vanished'"
)
ADDRESSES = "SELECT lower(address) AS address FROM deposit_addresses WHERE rail = $1"
RECEIVED = """
    SELECT lower(split_part(rail_reference, '/', 1)) AS address, currency, sum(received_minor)::bigint AS minor
    FROM transactions WHERE rail = $1 GROUP BY 1, 2 HAVING sum(received_minor) > 0
"""
PAYOUTS = """
    SELECT id, kind, status, currency, contract, lower(receiver) AS receiver, amount_units, wallet, nonce, tx_hash,
           block_hash, reason
    FROM chain_payouts WHERE rail = $1
"""
ORDERS = """
    SELECT w.id, w.status = 'completed' AS has_left FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id
    WHERE o.rail = $1
    UNION ALL
    SELECT r.id, r.status = 'succeeded' FROM refunds r JOIN outgoing_transfers o ON o.id = r.id WHERE o.rail = $1
"""


async def settle(simulation: Simulation, history: History) -> None:
    """Nothing fails any more, everything is mined and final, and everybody does what there is to do."""
    simulation.calm()
    simulation.chain.base_fee = 10**9
    unsettled = 0
    for number in range(ROUNDS_MAX):
        await history.approve(100)
        simulation.chain.mine()
        simulation.chain.mine(30)
        simulation.finalize()
        simulation.node.lag()
        simulation.now += timedelta(minutes=11)
        await simulation.work_all(but=() if number < ROUNDS_WITH_SWEEPS else (jobs.collect_deposits,))
        [(unsettled,)] = await simulation.web.db.fetch(UNSETTLED)
        if number >= ROUNDS_WITH_SWEEPS and not unsettled:
            await simulation.work_all(but=(jobs.collect_deposits,))
            return
    raise AssertionError(f"{unsettled} are unsettled: {await simulation.web.db.fetch(PAYOUTS, NAME)}")


async def check(simulation: Simulation, dsn: str) -> Counter[str]:
    """All of it. Returns what was counted."""
    counts = Counter[str]()
    await _check_deposits(simulation, counts)
    await _check_payouts(simulation, counts)
    assert await broken_invariants(dsn) == []
    await measuring.measure(simulation.web, simulation.network, simulation.now)
    for status in await balance_store.list_latest(simulation.web.db):
        assert status.failure is None
        assert status.balance.difference_units == 0, status
    return counts


async def _check_deposits(simulation: Simulation, counts: Counter[str]) -> None:
    """Each is credited once, with what arrived, and nothing else is."""
    db = simulation.web.db
    ours = {row["address"] for row in await db.fetch(ADDRESSES, NAME)}
    gas = {entry.tx_hash for entry in simulation.signer.journal.entries if entry.order.purpose == "gas"}
    arrived, by_contracts = Counter[tuple[str, str, str]](), Counter[str]()
    for block, one in _mined(simulation):
        for move in () if one.was_reverted or one.tx.hash in gas else one.tx.moves:
            if move.receiver not in ours:
                continue
            currency = CURRENCIES[move.contract]
            if move.contract is None and one.tx.to != move.receiver:
                by_contracts[move.receiver] += move.units
            else:
                percent = 0 if move.contract is None or one.tx.nonce is not None else block.token_fee_percent
                arrived[move.receiver, currency, block.hash] += move.units * (100 - percent) // 100
    found, found_by_contracts, minor = Counter[tuple[str, str, str]](), Counter[str](), Counter[tuple[str, str]]()
    for row in await db.fetch(DEPOSITS):
        counts["deposits"] += 1
        minor[row["address"], row["currency"]] += row["amount_minor"]
        assert row["amount_minor"] == to_minor(int(row["units"]), *SCALES[row["currency"]])
        if row["tx_hash"].startswith("internal:"):
            found_by_contracts[row["address"]] += int(row["units"])
        else:
            found[row["address"], row["currency"], row["block_hash"]] += int(row["units"])
    assert +found == +arrived, f"credited {found - arrived}, arrived {arrived - found}"
    assert found_by_contracts == by_contracts
    received = {(row["address"], row["currency"]): row["minor"] for row in await db.fetch(RECEIVED, NAME)}
    assert received == dict(+minor)


async def _check_payouts(simulation: Simulation, counts: Counter[str]) -> None:
    """Each order left once, as it was signed, and nothing else did."""
    db, journal = simulation.web.db, simulation.signer.journal
    rows = {row["id"]: row for row in await db.fetch(PAYOUTS, NAME)}
    signed = {entry.tx_hash: entry.order.order_id for entry in journal.entries}
    own = {simulation.signer.wallet.address.lower(), *(row["address"] for row in await db.fetch(ADDRESSES, NAME))}
    mined: dict[object, list[tuple[Block, MinedTx]]] = defaultdict(list)
    for block, one in _mined(simulation):
        if one.tx.sender in own:
            mined[signed[one.tx.hash]].append((block, one))
    assert mined.keys() <= rows.keys()
    for id_, row in rows.items():
        counts[f"{row['kind']} {row['status']}"] += 1
        if row["status"] == "failed" and row["nonce"] is None:
            assert (id_ in mined, id_ in journal.by_order) == (False, False)
            continue
        [(block, one)] = mined[id_]
        assert (row["tx_hash"], row["block_hash"]) == (one.tx.hash, block.hash), f"{row} is in {block.number} {block.hash}"
        assert (row["status"] == "failed") == one.was_reverted, row
        [move] = one.tx.moves
        assert (move.contract, move.receiver, move.units) == (row["contract"], row["receiver"], int(row["amount_units"]))
        assert (one.tx.sender, one.tx.nonce) == (row["wallet"].lower(), row["nonce"])
        counts["replaced"] += len(journal.by_order[id_]) > 1
    nonces = defaultdict[str, list[int]](list)
    for row in rows.values():
        if row["nonce"] is not None:
            nonces[row["wallet"].lower()].append(row["nonce"])
    assert all(sorted(some) == list(range(len(some))) for some in nonces.values())
    for row in await db.fetch(ORDERS, NAME):
        assert row["has_left"] == (row["id"] in rows and rows[row["id"]]["status"] == "completed")


def _mined(simulation: Simulation) -> list[tuple[Block, MinedTx]]:
    chain = simulation.chain
    return [(chain.blocks[name], tx) for name in chain.canon for tx in chain.blocks[name].txs]
