-- A transfer on a statement that brings a payout of a card provider. Each payout arrives once; the decision can be reopened.
ALTER TABLE bank_entry_parts
    ADD COLUMN provider_payout_id uuid REFERENCES provider_balance_transactions,
    DROP CONSTRAINT bank_entry_parts_outcome_check,
    ADD CONSTRAINT bank_entry_parts_outcome_check
        CHECK (outcome IN ('payment', 'payment_return', 'payout', 'payout_return', 'unmatched', 'dismissed', 'fee',
                           'written_off', 'provider_payout')),
    DROP CONSTRAINT bank_entry_parts_decided,
    ADD CONSTRAINT bank_entry_parts_decided
        CHECK (outcome NOT IN ('dismissed', 'fee', 'written_off', 'provider_payout') OR decided_at IS NOT NULL),
    ADD CONSTRAINT bank_entry_parts_provider_payout
        CHECK ((outcome = 'provider_payout') = (provider_payout_id IS NOT NULL));
CREATE UNIQUE INDEX bank_entry_parts_provider_payouts ON bank_entry_parts (provider_payout_id)
    WHERE provider_payout_id IS NOT NULL;
DROP TRIGGER decided_once ON bank_entry_parts;
CREATE TRIGGER decided_once BEFORE UPDATE ON bank_entry_parts FOR EACH ROW
    WHEN (OLD.amount_minor <> NEW.amount_minor OR OLD.entry_id <> NEW.entry_id
          OR (OLD.outcome <> 'unmatched'
              AND NOT (OLD.outcome IN ('dismissed', 'fee', 'written_off', 'provider_payout') AND NEW.outcome = 'unmatched')))
    EXECUTE FUNCTION bank_entry_parts_refuse_change();
CREATE INDEX provider_balance_transactions_payouts ON provider_balance_transactions (currency, amount_minor)
    WHERE kind = 'payout';

-- As before, column by column: a comparison of rows reads differently after a dump was restored, which the check reports.
DROP TRIGGER never_changed ON provider_balance_transactions;
CREATE TRIGGER never_changed BEFORE UPDATE ON provider_balance_transactions FOR EACH ROW
    WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.rail IS DISTINCT FROM NEW.rail OR OLD.mode IS DISTINCT FROM NEW.mode
          OR OLD.external_id IS DISTINCT FROM NEW.external_id OR OLD.kind IS DISTINCT FROM NEW.kind
          OR OLD.category IS DISTINCT FROM NEW.category OR OLD.source IS DISTINCT FROM NEW.source
          OR OLD.payment_intent IS DISTINCT FROM NEW.payment_intent OR OLD.object_id IS DISTINCT FROM NEW.object_id
          OR OLD.currency IS DISTINCT FROM NEW.currency OR OLD.amount_minor IS DISTINCT FROM NEW.amount_minor
          OR OLD.fee_minor IS DISTINCT FROM NEW.fee_minor OR OLD.created_at IS DISTINCT FROM NEW.created_at
          OR OLD.available_at IS DISTINCT FROM NEW.available_at OR OLD.settled_at IS NOT NULL)
    EXECUTE FUNCTION ledger_refuse_change();
DROP TRIGGER never_changed ON bitcoin_transactions;
CREATE TRIGGER never_changed BEFORE UPDATE ON bitcoin_transactions FOR EACH ROW
    WHEN (OLD.batch_id IS DISTINCT FROM NEW.batch_id OR OLD.number IS DISTINCT FROM NEW.number
          OR OLD.rail IS DISTINCT FROM NEW.rail OR OLD.mode IS DISTINCT FROM NEW.mode
          OR OLD.txid IS DISTINCT FROM NEW.txid OR OLD.psbt IS DISTINCT FROM NEW.psbt
          OR OLD.rate IS DISTINCT FROM NEW.rate OR OLD.fee_minor IS DISTINCT FROM NEW.fee_minor
          OR OLD.change_minor IS DISTINCT FROM NEW.change_minor OR OLD.drafted_at IS DISTINCT FROM NEW.drafted_at
          OR (OLD.raw IS NOT NULL AND OLD.raw IS DISTINCT FROM NEW.raw)
          OR (OLD.raw IS NOT NULL AND OLD.signed_at IS DISTINCT FROM NEW.signed_at))
    EXECUTE FUNCTION ledger_refuse_change();
DROP TRIGGER never_changed ON bitcoin_batch_payouts;
CREATE TRIGGER never_changed BEFORE UPDATE ON bitcoin_batch_payouts FOR EACH ROW
    WHEN (OLD.batch_id IS DISTINCT FROM NEW.batch_id OR OLD.payout_id IS DISTINCT FROM NEW.payout_id
          OR OLD.number IS DISTINCT FROM NEW.number
          OR (OLD.released_at IS NOT NULL AND OLD.released_at IS DISTINCT FROM NEW.released_at))
    EXECUTE FUNCTION ledger_refuse_change();
DROP TRIGGER never_changed ON bitcoin_batch_coins;
CREATE TRIGGER never_changed BEFORE UPDATE ON bitcoin_batch_coins FOR EACH ROW
    WHEN (OLD.batch_id IS DISTINCT FROM NEW.batch_id OR OLD.number IS DISTINCT FROM NEW.number
          OR OLD.rail IS DISTINCT FROM NEW.rail OR OLD.mode IS DISTINCT FROM NEW.mode
          OR OLD.txid IS DISTINCT FROM NEW.txid OR OLD.vout IS DISTINCT FROM NEW.vout
          OR OLD.amount_minor IS DISTINCT FROM NEW.amount_minor OR OLD.chain IS DISTINCT FROM NEW.chain
          OR OLD.derivation_index IS DISTINCT FROM NEW.derivation_index
          OR (OLD.released_at IS NOT NULL AND OLD.released_at IS DISTINCT FROM NEW.released_at))
    EXECUTE FUNCTION ledger_refuse_change();
