"""What a history runs on: a service with a database of its own and no worker, and two fresh merchants for each."""

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

import msgspec
import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict, Processor, WrappedLogger

from tests.invariants import broken_in
from tests.money_model.counter import Counter
from tests.money_model.oracle.balances import DECIMALS, LIVE, SHOP, Fee
from tests.money_model.oracle.books import Prices
from tests.money_model.oracle.conversions import Terms as ConversionTerms
from tests.money_model.oracle.payments import Policy
from tests.money_model.oracle.withdrawals import Terms as WithdrawalTerms
from tests.running import CATALOGUE, Service
from tests.transfers.withdrawals.rails import Line, PaperBank
from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.kernel import clock, tokens
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.catalogue.methods import Fees
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.scopes import API
from tollhouse.platform.database.digests_store import BEFORE_ALL

T = TypeVar("T")
AT_ONCE = 50
CONNECTIONS = 3
"""How many of each application a merchant has, which are counted together."""
PRICES = Prices(
    payments={
        "EUR": Fee(fixed=25, bps=140, dispute=1_500),
        "JPY": Fee(bps=333, minimum=3, maximum=500, dispute=7),
        "BTC": Fee(),
    },
    withdrawals={
        SHOP: {
            "EUR": WithdrawalTerms(Fee(fixed=40, bps=50), 30, minimum=50, maximum=80_000, a_day=150_000),
            "JPY": WithdrawalTerms(Fee(bps=250, minimum=3, maximum=200)),
            "BTC": WithdrawalTerms(),
        },
        LIVE: {"EUR": WithdrawalTerms(Fee(fixed=10), 20, second_operator_above=40_000)},
    },
    conversions={
        ("EUR", "JPY"): ConversionTerms(Fee(bps=75), minimum=50, maximum=30_000),
        ("JPY", "EUR"): ConversionTerms(),
    },
)
"""What things cost here, so that fees and limits are in the books too."""

METHOD = {SHOP: {currency: f"sandbox:{currency}" for currency in DECIMALS}, LIVE: {"EUR": "sepa:EUR"}}
"""By which a currency is withdrawn, from the purse of each mode."""

# No people: a merchant is asked for nothing but its credentials here, and passwords are slow on purpose. Its test clock is
# at six in the morning of tomorrow, so that no history is cut by a midnight.
OPEN_SHOPS = """
    WITH shops AS (
        INSERT INTO merchants (id, business_name, created_at)
        SELECT id, 'Shop', now() FROM unnest($1::uuid[]) AS id
    ), keys AS (
        INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at, proposals_only)
        SELECT uuidv7(), s.id, k.mode, 'Key', k.key_hash, $4, 'th', now(), k.proposals_only
        FROM unnest($1::uuid[], $2::bytea[], $3::bytea[], $6::bytea[], $7::bytea[])
             AS s (id, test_hash, live_hash, agent_hash, proposer_hash)
        CROSS JOIN LATERAL (
            VALUES ('test', test_hash, false), ('live', live_hash, false), ('test', agent_hash, false),
                   ('test', proposer_hash, true)) AS k (mode, key_hash, proposals_only)
    ), clocks AS (
        INSERT INTO test_clocks (merchant_id, ahead)
        SELECT id, date_trunc('day', now(), 'UTC') + interval '30 h' - now() FROM unnest($1::uuid[]) AS id
    ), applications AS (
        -- Of two partners the first has a public client and the second a confidential one, whose secret nobody needs.
        INSERT INTO oauth_clients (id, merchant_id, client_type, secret_hash, name, description, redirect_uris,
                                   scope_mask, status, created_at, updated_at)
        SELECT client_id, s.id, CASE nth % 2 WHEN 1 THEN 'public' ELSE 'confidential' END,
               CASE nth % 2 WHEN 0 THEN sha256('') END,
               'Till', 'Charges a partner', '{https://till.example/callback}', $4, 'enabled', now(), now()
        FROM unnest($1::uuid[], $5::text[]) WITH ORDINALITY AS s (id, client_id, nth)
    )
    INSERT INTO projects (id, merchant_id, mode, name, status, created_at, updated_at)
    SELECT uuidv7(), id, 'test', 'Default', 'approved', now(), now() FROM unnest($1::uuid[]) AS id
"""
# As the consent page and the token endpoint do it.
CONNECT = """
    WITH grants AS (
        INSERT INTO oauth_grants (id, client_id, merchant_id, mode, scope_mask, grant_epoch, created_at, expires_at)
        SELECT g.id, c.id, g.merchant_id, 'test', $5, c.grant_epoch, now(), now() + interval '1 d'
        FROM unnest($1::uuid[], $2::text[], $3::uuid[]) AS g (id, client_id, merchant_id)
        JOIN oauth_clients c ON c.id = g.client_id
    )
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at)
    SELECT token_hash, id, $5, now() + interval '15 min' FROM unnest($4::bytea[], $1::uuid[]) AS t (token_hash, id)
"""


class Connection(NamedTuple):
    """What an application may do with a merchant: until its grant ends."""

    grant_id: UUID
    token: str


class Merchant(NamedTuple):
    """A merchant that nothing happened to yet, its own application, and its connections to the partner's.

    Beside its own two keys it has one for an agent, and one for an agent that may only propose.
    """

    merchant_id: MerchantId
    api_key: str
    live_key: str
    agent_key: str
    proposer_key: str
    client_id: str
    connections: tuple[Connection, ...]


class Harness:
    """The service, its database, and merchants made in advance. `bank` is the rail of live mode, at the end of `line`."""

    def __init__(self, service: Service, runner: asyncio.Runner, logged: list[EventDict]) -> None:
        self.counter = Counter(service)
        self.services = service.create_services(connections=2)
        self.bank = PaperBank()
        self.line = service.rails.providers["bank", "live"] = Line(self.bank)
        self._logged = logged
        self._overlooked: set[str] = set()
        self._runner = runner
        self._waiting: deque[tuple[Merchant, Merchant]] = deque()

    def partners(self) -> tuple[Merchant, Merchant]:
        """Two fresh ones, each connected to the application of the other."""
        if not self._waiting:
            self._open_shops()
        return self._waiting.popleft()

    def connect(self, client_ids: list[str], payers: list[MerchantId]) -> list[tuple[Connection, ...]]:
        """Connect merchants to applications, anew, each some times."""
        made = [Connection(new_id(), tokens.mint("that")) for _ in range(CONNECTIONS * len(payers))]
        hashes = [tokens.digest(grant.token) for grant in made]
        ids = [grant.grant_id for grant in made]
        self.run(self.services.db.execute(CONNECT, ids, client_ids * CONNECTIONS, payers * CONNECTIONS, hashes, API.mask))
        return [tuple(made[place :: len(payers)]) for place in range(len(payers))]

    def set_policy(self, merchant: Merchant, policy: Policy) -> None:
        """What the merchant wants done with amounts that do not fit."""
        new = PaymentSettings(
            underpayment_tolerance_bps=policy.tolerance_bps,
            overpayment=policy.overpayment,
            late_payments=policy.late_payments,
        )
        env = MerchantEnv(merchant.merchant_id, "test")
        self.run(self.services.db.transact(lambda tx: payment_settings.save(tx, env, new, clock.now())))

    def run(self, action: Coroutine[Any, Any, T]) -> T:
        """Do what no request asks for."""
        return self._runner.run(action)

    def broken_invariants(self, after: UUID = BEFORE_ALL) -> list[str]:
        """As `tollhouse check` finds them, in rows with later ids; and what the worker's jobs logged as errors since."""
        found = [str(one) for one in self._logged] + self.run(broken_in(self.services.db, after))
        self._logged.clear()
        return [violation for violation in found if violation not in self._overlooked]

    def overlook_broken(self) -> None:
        """What is broken by now is known: only what breaks from now on is told."""
        self._overlooked.update(self.broken_invariants())

    def close(self) -> None:
        """Let go of the service and the database."""
        self.counter.close()
        self.run(self.services.db.close())

    def _open_shops(self) -> None:
        count = 2 * AT_ONCE
        ids = [MerchantId(new_id()) for _ in range(count)]
        keys = [tokens.mint("th_test") for _ in ids]
        live_keys = [tokens.mint("th_live") for _ in ids]
        agents, proposers = ([tokens.mint("th_test") for _ in ids] for _ in range(2))
        client_ids = [tokens.public_name("thc") for _ in ids]
        hashes = [[tokens.digest(key) for key in some] for some in (keys, live_keys, agents, proposers)]
        self.run(self.services.db.execute(OPEN_SHOPS, ids, *hashes[:2], API.mask, client_ids, *hashes[2:]))
        connections = self.connect([client_ids[place ^ 1] for place in range(count)], ids)
        facts = zip(ids, keys, live_keys, agents, proposers, client_ids, connections, strict=True)
        made = [Merchant(*each) for each in facts]
        self._waiting.extend(zip(made[::2], made[1::2], strict=True))


@contextmanager
def harness(service: Service) -> Iterator[Harness]:
    """What the histories run on; the service must be in this process, since prices and its rails are changed."""
    changed: Any = (CATALOGUE.methods, CATALOGUE.withdrawal_methods, CATALOGUE.conversion_pairs, service.rails.providers)
    with _as_before(*changed), asyncio.Runner() as runner, capture_logs([_errors_of_this_thread()]) as logged:
        _set_prices()
        here = Harness(service, runner, logged)
        try:
            yield here
        finally:
            here.close()


def _errors_of_this_thread() -> Processor:
    """Other services of the process may log what they like; and requests that fail are answered so."""
    here = threading.get_ident()

    def only_these(_logger: WrappedLogger, method: str, entry: EventDict) -> EventDict:
        if method != "error" or threading.get_ident() != here:
            raise structlog.DropEvent
        return entry

    return only_these


@contextmanager
def _as_before(*catalogues: dict[Any, Any]) -> Iterator[None]:
    """Whatever is changed in these is as it was afterwards."""
    kept = [dict(catalogue) for catalogue in catalogues]
    try:
        yield
    finally:
        for one, before in zip(catalogues, kept, strict=True):
            one.clear()
            one.update(before)


def _set_prices() -> None:
    """Let the catalogue say what the books say."""
    methods, withdrawal_methods, conversion_pairs = (
        cast("dict[str, Any]", one) for one in (CATALOGUE.methods, CATALOGUE.withdrawal_methods, CATALOGUE.conversion_pairs)
    )
    for currency, fee in PRICES.payments.items():
        methods[f"sandbox:{currency}"] = msgspec.structs.replace(CATALOGUE.methods[f"sandbox:{currency}"], fees=_fees(fee))
    for purse, terms_of in PRICES.withdrawals.items():
        for currency, terms in terms_of.items():
            method_id = METHOD[purse][currency]
            withdrawal_methods[method_id] = msgspec.structs.replace(
                CATALOGUE.withdrawal_methods[method_id],
                fees=_fees(terms.fee),
                network_fee_minor=terms.network_fee,
                minimum_minor=terms.minimum,
                maximum_minor=terms.maximum,
                daily_limit_minor=terms.a_day,
                second_operator_above_minor=terms.second_operator_above,
            )
    for (given, got), terms in PRICES.conversions.items():
        conversion_pairs[f"{given}:{got}"] = ConversionPair(
            pair_id=f"{given}:{got}",
            minimum_minor=terms.minimum,
            maximum_minor=terms.maximum,
            fee_basis_points=terms.fee.bps,
        )


def _fees(fee: Fee) -> Fees:
    return Fees(fee.fixed, fee.bps, fee.minimum, fee.maximum, fee.dispute)
