"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.ledger.accounting import journal
from tollhouse.ledger.accounting import store as accounting_store
from tollhouse.ledger.books import invariants_store
from tollhouse.ledger.hash_chain import chain
from tollhouse.ledger.hash_chain import store as hash_chain_store
from tollhouse.ledger.reports import api as reports_api

SLICE = Slice(
    operations=tuple(reports_api.INTEGRATION_OPERATIONS),
    jobs=(Job(journal.EVERY_S, journal.add_daily_totals), Job(HOURLY_S, chain.append_blocks)),
    invariants=(*accounting_store.INVARIANTS, *invariants_store.INVARIANTS, *hash_chain_store.INVARIANTS),
)
