"""Every operation that moves money or decides on it refuses every credential that is for something else."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest

from tests import money_table
from tests.cast import sign_up
from tests.penetration import crowd
from tests.penetration.intruders import Intruder, key, of_api
from tests.penetration.scene import Scene, build
from tests.rails.bank.camt import ACCOUNT
from tests.running import Service, settings_for
from tollhouse.accounts.identity.guards import ApplicationGuard
from tollhouse.http.operations import Operation
from tollhouse.instance.database import embedded

pytestmark = pytest.mark.long

BOOKS = """
    SELECT (SELECT count(*) FROM ledger_transactions) AS transactions, (SELECT count(*) FROM ledger_postings) AS postings,
           (SELECT count(*) FROM ledger_holds) AS holds, (SELECT count(*) FROM conversion_rules) AS rules,
           (SELECT count(*) FROM withdrawal_schedules) AS schedules,
           (SELECT string_agg(concat(id, review, cardinality(approvals), released_at, closed_at), ' ' ORDER BY id)
            FROM outgoing_transfers) AS transfers
"""


@pytest.fixture(scope="module")
def live_service(server: embedded.Server) -> Iterator[Service]:
    """A service in live use, with a database of its own and no worker: nothing moves by itself."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **ACCOUNT), worker=False) as running:
        yield running


@pytest.fixture
async def scene(live_service: Service) -> AsyncIterator[Scene]:
    """What there is to take."""
    async with sign_up(live_service, "alice", "Alice's coffee") as alice, sign_up(live_service, "bob", "Bob's tools") as bob:
        yield await build(alice, bob)


async def test_nobody_reaches_money_with_a_credential_for_something_else(live_service: Service, scene: Scene) -> None:
    operations = list(money_table.operations())
    assert len(operations) > 50
    tried: dict[str, int] = {}
    wrong: list[str] = []
    async with AsyncExitStack() as stack:
        intruders = [
            *await crowd.of_keys(scene),
            *await crowd.of_tokens(scene),
            *await crowd.of_others(scene, live_service, stack),
            *await crowd.of_people_and_operators(scene, live_service, stack),
        ]
        for intruder in intruders:
            for operation in filter(intruder.applies, operations):
                wrong += await _try(live_service, scene, intruder, operation)
                tried[intruder.name] = tried.get(intruder.name, 0) + 1
    count = sum(tried.values())
    print(f"{count} attempts, {count - len(wrong)} refused")  # noqa: T201 - the figure is what it is run for
    assert not wrong, "\n".join(wrong)
    assert set(tried) == {intruder.name for intruder in intruders}, "each intruder has something to try"


async def test_who_may_is_not_refused(scene: Scene) -> None:
    """The same requests, with the merchant's own key: so what refuses the others is their credential."""
    own = Intruder("the merchant's key", key(await scene.merchant.key()), of_api, frozenset())
    for operation in filter(of_api, money_table.operations()):
        if not isinstance(operation.guard, ApplicationGuard):
            answer = await own.attempt(scene, operation)
            assert answer.status not in {401, 403, 404, 415}, f"{operation.full_path}: {answer.status} {answer.text[:200]}"


async def _try(live_service: Service, scene: Scene, intruder: Intruder, operation: Operation) -> list[str]:
    """What is wrong with an attempt: that it was answered otherwise, or that something moved."""
    [before] = await live_service.sql(BOOKS)
    answer = await intruder.attempt(scene, operation)
    [after] = await live_service.sql(BOOKS)
    what = f"{intruder.name}: {operation.method} {operation.full_path}"
    found = [] if dict(before.items()) == dict(after.items()) else [f"{what} moved something"]
    is_away = answer.status != 303 or any(word in answer.location for word in ("signin", "stepup"))
    if answer.status not in intruder.refused or not is_away:
        found.append(f"{what} is answered {answer.status}: {answer.text[:120]}")
    return found
