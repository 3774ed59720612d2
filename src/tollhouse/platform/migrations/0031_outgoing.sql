-- All money that leaves by a rail: a row for each withdrawal and refund, which says where it goes, in whose limits it counts,
-- who approved it, and when it was released. Nothing is posted to a rail's outgoing side, handed in or exported without it.

ALTER TABLE users ADD COLUMN password_reset_at timestamptz;  -- by a link that was mailed
UPDATE users u SET password_reset_at = l.reset_at
FROM (SELECT author, max(created_at) AS reset_at FROM audit_lines WHERE deed = 'password.set_by_mail' GROUP BY author) l
WHERE l.author = u.id::text;

-- Who paid, as far as the rail knows: that is where a refund goes.
ALTER TABLE rail_observations ADD COLUMN payer_account text, ADD COLUMN payer_name text;
UPDATE rail_observations SET payer_account = 'sandbox-payer' WHERE rail = 'sandbox' AND outcome = 'confirmed';
UPDATE rail_observations o
SET payer_account = upper(regexp_replace(p.other_iban, '[ \u00a0]', '', 'g')), payer_name = p.other_name
FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
WHERE o.rail = 'bank' AND o.outcome = 'confirmed' AND p.outcome = 'payment'
  AND o.external_ref = encode(e.identity, 'hex') || '/' || p.nth;

CREATE TABLE outgoing_transfers (
    id uuid PRIMARY KEY,  -- of the withdrawal or refund that it pays
    kind text NOT NULL CHECK (kind IN ('withdrawal', 'refund')),
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    rail text NOT NULL CHECK (mode = 'test' OR rail <> 'sandbox'),
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),  -- what leaves by the rail
    receiver text NOT NULL,  -- as the rail writes it
    receiver_name text,  -- the receiver's own; null: not known
    payer_account text,  -- of a refund: the account that paid; null: not known, or several
    method_id text,  -- the withdrawal method in whose limits it counts; null: in none
    limit_day date,  -- the day in whose limit it counts
    counted_minor bigint CHECK (counted_minor > 0),
    review text NOT NULL CHECK (review IN ('not_required', 'required', 'approved', 'rejected', 'before_reviews')),
    approvals_needed int NOT NULL CHECK (approvals_needed BETWEEN 0 AND 2),
    approvals text[] NOT NULL DEFAULT '{}',  -- the operators who approved, first to last
    approvals_by_command int NOT NULL DEFAULT 0 CHECK (approvals_by_command BETWEEN 0 AND cardinality(approvals)),
    reviewed_at timestamptz,
    review_note text,
    created_at timestamptz NOT NULL,
    released_at timestamptz,  -- from here on it may be on its way
    closed_at timestamptz,  -- it does not leave, or came back: it counts in no limit any more
    UNIQUE (id, kind, merchant_id, mode, currency, amount_minor),
    CHECK ((method_id IS NULL) = (limit_day IS NULL) AND (method_id IS NULL) = (counted_minor IS NULL)),
    CHECK (approvals_needed = 0 OR review <> 'not_required'),
    CHECK (approvals_needed > 0 OR review NOT IN ('required', 'approved')),
    CONSTRAINT outgoing_transfers_approved CHECK (review <> 'approved' OR cardinality(approvals) >= approvals_needed),
    CONSTRAINT outgoing_transfers_one_by_command CHECK (approvals_needed < 2 OR approvals_by_command <= 1),
    CONSTRAINT outgoing_transfers_released
        CHECK (released_at IS NULL OR review IN ('not_required', 'approved', 'before_reviews')),
    -- What leaves without a review goes back to the account that paid, or is no money.
    CONSTRAINT outgoing_transfers_reviewed CHECK (
        review <> 'not_required' OR (kind = 'refund' AND receiver = payer_account) IS TRUE
        OR (kind = 'withdrawal' AND mode = 'test'))
) WITH (fillfactor = 85);
CREATE INDEX outgoing_transfers_to_review ON outgoing_transfers (kind, created_at, id)
    WHERE review = 'required' AND closed_at IS NULL;
CREATE INDEX outgoing_transfers_of_day ON outgoing_transfers (merchant_id, mode, method_id, limit_day)
    WHERE method_id IS NOT NULL;

-- What there was before. Approvals that wait for a second one count as the local administrator's, where no e-mail gave them.
INSERT INTO outgoing_transfers (id, kind, merchant_id, mode, rail, currency, amount_minor, receiver, receiver_name, method_id,
                                limit_day, counted_minor, review, approvals_needed, approvals, approvals_by_command,
                                reviewed_at, review_note, created_at, released_at, closed_at)
SELECT w.id, 'withdrawal', w.merchant_id, w.mode, w.rail, w.currency, w.receive_minor,
       CASE w.rail WHEN 'bank' THEN upper(regexp_replace(w.receiver, '[ \u00a0]', '', 'g')) ELSE w.receiver END,
       w.provider_fields ->> 'account_holder_name', w.method_id, w.limit_day, w.amount_minor,
       CASE WHEN w.failure_code = 'review_rejected' THEN 'rejected'
            WHEN w.approvals_needed = 0 THEN 'not_required'
            WHEN cardinality(w.approvals) >= w.approvals_needed THEN 'approved'
            ELSE 'required' END,
       w.approvals_needed,
       CASE w.status
           WHEN 'pending_review' THEN ARRAY(SELECT CASE WHEN a LIKE '%@%' THEN a ELSE 'local administrator' END
                                            FROM unnest(w.approvals) AS a)
           ELSE w.approvals END,
       CASE WHEN EXISTS (SELECT FROM unnest(w.approvals) AS a WHERE a NOT LIKE '%@%') THEN 1 ELSE 0 END,
       w.reviewed_at, w.review_note, w.created_at, w.processing_at,
       CASE WHEN w.status IN ('failed', 'canceled') THEN w.updated_at END
FROM withdrawals w;

-- Of the refunds that have not left in live mode, those to another account than the one that paid are reviewed now.
ALTER TABLE refunds DROP CONSTRAINT refunds_check3;
ALTER TABLE refunds ADD CONSTRAINT refunds_looked_after CHECK (status = 'pending' OR next_look_at IS NULL);
INSERT INTO outgoing_transfers (id, kind, merchant_id, mode, rail, currency, amount_minor, receiver, receiver_name,
                                payer_account, review, approvals_needed, created_at, released_at, closed_at)
SELECT r.id, 'refund', r.merchant_id, r.mode, r.rail, r.currency, r.amount_minor, r.receiver,
       CASE WHEN r.receiver = r.payer_account THEN r.payer_name END, r.payer_account, r.review,
       CASE r.review WHEN 'required' THEN 1 ELSE 0 END, r.created_at,
       CASE WHEN r.review = 'required' THEN NULL
            WHEN r.status = 'succeeded' OR r.provider_reference IS NOT NULL OR r.failure_code = 'returned_by_bank'
            THEN r.updated_at END,
       CASE r.status WHEN 'failed' THEN r.updated_at END
FROM (SELECT d.*, CASE WHEN d.receiver = d.payer_account THEN 'not_required'
                       WHEN d.mode = 'live' AND d.status = 'pending'
                            AND NOT EXISTS (SELECT FROM bank_payouts b WHERE b.id = d.id AND b.status <> 'prepared')
                       THEN 'required'
                       ELSE 'before_reviews' END AS review
      FROM (SELECT f.id, f.merchant_id, f.mode, f.rail, f.currency, f.amount_minor, f.status, f.provider_reference,
                   f.failure_code, f.created_at, f.updated_at, k.payer_account, k.payer_name,
                   coalesce(CASE f.rail WHEN 'bank' THEN upper(regexp_replace(f.receiver, '[ \u00a0]', '', 'g'))
                                        ELSE f.receiver END, k.payer_account, '') AS receiver
            FROM refunds f
            LEFT JOIN (SELECT transaction_id, min(payer_account) AS payer_account, min(payer_name) AS payer_name
                       FROM rail_observations WHERE outcome = 'confirmed' GROUP BY transaction_id
                       HAVING count(*) = count(payer_account) AND count(DISTINCT payer_account) = 1) k
                   ON k.transaction_id = f.transaction_id) d) r;
UPDATE refunds r SET next_look_at = NULL FROM outgoing_transfers o WHERE o.id = r.id AND o.review = 'required';

-- What of what is changed below is as it was written: its digest is made anew, and no other one.
CREATE TEMPORARY TABLE sound ON COMMIT DROP AS
SELECT d.kind, d.id FROM row_digests d JOIN withdrawals w ON w.id = d.id
WHERE d.kind = 'withdrawal' AND d.digest = row_digest(w)
UNION ALL
SELECT d.kind, d.id FROM row_digests d JOIN bank_payouts b ON b.id = d.id
WHERE d.kind = 'payout' AND d.digest = row_digest(b);

-- What waits to leave does not carry the payer's name beside another's account any more.
ALTER TABLE bank_payouts DISABLE TRIGGER never_redirected;
UPDATE bank_payouts b SET receiver_name = coalesce(o.receiver_name, 'NOTPROVIDED')
FROM outgoing_transfers o WHERE o.id = b.id AND b.kind = 'refund' AND b.status = 'prepared';
ALTER TABLE bank_payouts ENABLE TRIGGER never_redirected;

ALTER TABLE withdrawals
    DROP COLUMN limit_day, DROP COLUMN approvals_needed, DROP COLUMN approvals, DROP COLUMN reviewed_at,
    DROP COLUMN review_note,
    ADD CONSTRAINT withdrawals_outgoing FOREIGN KEY (id) REFERENCES outgoing_transfers;
ALTER TABLE refunds ADD CONSTRAINT refunds_outgoing FOREIGN KEY (id) REFERENCES outgoing_transfers;
ALTER TABLE bank_payouts ADD CONSTRAINT bank_payouts_outgoing
    FOREIGN KEY (id, kind, merchant_id, mode, currency, amount_minor)
    REFERENCES outgoing_transfers (id, kind, merchant_id, mode, currency, amount_minor);

CREATE OR REPLACE FUNCTION row_digest(withdrawals) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.method_id, $1.rail, $1.currency, $1.amount_minor,
                                  $1.network_fee_mode, $1.system_fee_minor, $1.network_fee_minor, $1.debit_minor,
                                  $1.receive_minor, $1.receiver, $1.provider_fields, $1.hold_id, $1.created_at)))
$$;
CREATE FUNCTION row_digest(outgoing_transfers) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.kind, $1.merchant_id, $1.mode, $1.rail, $1.currency, $1.amount_minor, $1.receiver,
                                  $1.receiver_name, $1.payer_account, $1.method_id, $1.limit_day, $1.counted_minor,
                                  $1.created_at)))
$$;
ALTER TABLE row_digests DISABLE TRIGGER never_changed;
UPDATE row_digests d SET digest = row_digest(w) FROM withdrawals w, sound s
WHERE d.kind = 'withdrawal' AND w.id = d.id AND (s.kind, s.id) = (d.kind, d.id);
UPDATE row_digests d SET digest = row_digest(b) FROM bank_payouts b, sound s
WHERE d.kind = 'payout' AND b.id = d.id AND (s.kind, s.id) = (d.kind, d.id);
ALTER TABLE row_digests ENABLE TRIGGER never_changed;
INSERT INTO row_digests (kind, id, digest) SELECT 'outgoing_transfer', o.id, row_digest(o) FROM outgoing_transfers o;
CREATE TRIGGER digested AFTER INSERT ON outgoing_transfers
    FOR EACH ROW EXECUTE FUNCTION row_digests_write('outgoing_transfer');

-- Which change of a transfer there is; nothing else is ever written. A merchant that is suspended at this moment waits for
-- whoever holds its row: so nothing is approved or released once it is.
CREATE FUNCTION outgoing_transfers_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.review NOT IN ('not_required', 'required') OR NEW.approvals <> '{}' OR NEW.released_at IS NOT NULL
           OR NEW.closed_at IS NOT NULL THEN
            RAISE EXCEPTION 'an outgoing transfer begins unreviewed' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.id, OLD.kind, OLD.merchant_id, OLD.mode, OLD.rail, OLD.currency, OLD.amount_minor, OLD.receiver, OLD.receiver_name,
        OLD.payer_account, OLD.method_id, OLD.limit_day, OLD.counted_minor, OLD.created_at)
       IS DISTINCT FROM
       (NEW.id, NEW.kind, NEW.merchant_id, NEW.mode, NEW.rail, NEW.currency, NEW.amount_minor, NEW.receiver, NEW.receiver_name,
        NEW.payer_account, NEW.method_id, NEW.limit_day, NEW.counted_minor, NEW.created_at)
       OR NEW.approvals_needed < OLD.approvals_needed OR NEW.approvals_by_command < OLD.approvals_by_command
       OR NEW.approvals[:cardinality(OLD.approvals)] <> OLD.approvals
       OR (OLD.released_at IS NOT NULL AND NEW.released_at IS DISTINCT FROM OLD.released_at)
       OR (OLD.closed_at IS NOT NULL AND (NEW.closed_at, NEW.released_at) IS DISTINCT FROM (OLD.closed_at, OLD.released_at))
    THEN
        RAISE EXCEPTION 'an outgoing transfer stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.review <> NEW.review
       AND NOT (CASE OLD.review WHEN 'required' THEN NEW.review IN ('approved', 'rejected')
                                WHEN 'before_reviews' THEN false
                                ELSE NEW.review = 'rejected' END) THEN
        RAISE EXCEPTION 'a transfer whose review is % does not become %', OLD.review, NEW.review
            USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.review = 'approved' AND OLD.review <> 'approved') OR (NEW.released_at IS NOT NULL AND OLD.released_at IS NULL) THEN
        PERFORM FROM merchants WHERE id = NEW.merchant_id AND suspended_at IS NULL FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outgoing_transfers_step BEFORE INSERT OR UPDATE ON outgoing_transfers
    FOR EACH ROW EXECUTE FUNCTION outgoing_transfers_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON outgoing_transfers FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON outgoing_transfers FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- What was released is what may be sent, have been sent, or be at a rail.
CREATE FUNCTION outgoing_refuse_unreleased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM outgoing_transfers o
                   WHERE o.id = NEW.id AND o.review IN ('not_required', 'approved', 'before_reviews')
                     AND (o.released_at IS NOT NULL OR (o.kind = 'withdrawal' AND NEW.status = 'approved'))) THEN
        RAISE EXCEPTION 'money does not leave before it is released' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refunds_made_released BEFORE INSERT ON refunds FOR EACH ROW
    WHEN (NEW.status = 'succeeded' OR NEW.provider_reference IS NOT NULL) EXECUTE FUNCTION outgoing_refuse_unreleased();
CREATE TRIGGER refunds_released BEFORE UPDATE OF status, provider_reference ON refunds FOR EACH ROW
    WHEN ((NEW.status = 'succeeded' AND OLD.status <> 'succeeded')
          OR (NEW.provider_reference IS NOT NULL AND OLD.provider_reference IS NULL))
    EXECUTE FUNCTION outgoing_refuse_unreleased();
CREATE TRIGGER withdrawals_released BEFORE INSERT OR UPDATE OF status ON withdrawals FOR EACH ROW
    WHEN (NEW.status IN ('approved', 'processing', 'completed')) EXECUTE FUNCTION outgoing_refuse_unreleased();

-- A payout by bank is of a released transfer, to its receiver; and is exported while its merchant is not suspended.
CREATE FUNCTION bank_payouts_refuse_unreleased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM outgoing_transfers o
                   WHERE o.id = NEW.id AND o.receiver = NEW.receiver_iban AND o.released_at IS NOT NULL
                     AND o.closed_at IS NULL) THEN
        RAISE EXCEPTION 'a payout is of a released transfer' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'exported' THEN
        PERFORM FROM merchants WHERE id = NEW.merchant_id AND suspended_at IS NULL FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_payouts_prepared_of BEFORE INSERT ON bank_payouts FOR EACH ROW
    EXECUTE FUNCTION bank_payouts_refuse_unreleased();
CREATE TRIGGER bank_payouts_exported_of BEFORE UPDATE OF status ON bank_payouts FOR EACH ROW
    WHEN (NEW.status = 'exported') EXECUTE FUNCTION bank_payouts_refuse_unreleased();

-- No posting to a rail's outgoing side without a released transfer of that rail and amount. What a rail takes by itself is a
-- chargeback, and its network fee belongs to a withdrawal.
CREATE FUNCTION ledger_refuse_unreleased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_out record;
BEGIN
    FOR v_out IN
        SELECT n.transaction_id, n.mode, n.currency, n.type, a.code, sum(n.amount) AS amount
        FROM posted n JOIN ledger_accounts a ON a.id = n.credit_account_id AND NOT a.guarded AND a.code LIKE 'rail:%'
        GROUP BY n.transaction_id, n.mode, n.currency, n.type, a.code
    LOOP
        IF NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN outgoing_transfers o ON o.id = t.source_id AND o.kind = t.source_type
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode
              AND (o.mode, o.currency, 'rail:' || o.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND o.released_at IS NOT NULL AND o.closed_at IS NULL
              AND ((v_out.type = o.kind AND v_out.amount = o.amount_minor)
                   OR (v_out.type = 'network_fee' AND o.kind = 'withdrawal'))
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN chargebacks c ON c.id = t.source_id
            JOIN transactions p ON p.id = c.transaction_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'chargeback'
              AND v_out.type = 'chargeback'
              AND (c.mode, c.currency, 'rail:' || p.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND v_out.amount = c.amount_minor
        ) THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER outgoing_released AFTER INSERT ON ledger_postings REFERENCING NEW TABLE AS posted
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_unreleased();

-- A withdrawal with its review.
CREATE VIEW whole_withdrawals AS
SELECT w.*, o.approvals_needed, o.approvals, o.reviewed_at, o.review_note
FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id;

-- A transaction with its link's facts and all that belongs to it, as the interface shows it.
CREATE OR REPLACE VIEW whole_transactions AS
SELECT t.*, l.status AS link_status, l.expires_at AS link_expires_at, l.project_id, l.external_id, l.metadata, l.webhook_url,
       coalesce((SELECT c.ahead FROM test_clocks c WHERE c.merchant_id = t.merchant_id AND c.mode = t.mode), '0') AS ahead,
       coalesce((SELECT json_agg(json_build_object('status', s.status, 'at', s.at, 'detail', s.detail) ORDER BY s.version)
                 FROM transaction_steps s WHERE s.transaction_id = t.id), '[]') AS timeline,
       coalesce((SELECT json_agg(json_build_object(
                     'id', r.id, 'transaction_id', r.transaction_id, 'currency', r.currency, 'amount_minor', r.amount_minor,
                     'unapplied_minor', r.unapplied_minor, 'hold_id', r.hold_id, 'status', r.status, 'reason', r.reason,
                     'receiver', r.receiver, 'review', o.review, 'failure_code', r.failure_code,
                     'provider_reference', r.provider_reference, 'external_id', r.external_id, 'metadata', r.metadata,
                     'version', r.version, 'created_at', r.created_at, 'updated_at', r.updated_at)
                     ORDER BY r.created_at DESC, r.id DESC)
                 FROM refunds r JOIN outgoing_transfers o ON o.id = r.id WHERE r.transaction_id = t.id), '[]') AS refunds,
       (SELECT json_build_object('id', d.id, 'amount_minor', d.amount_minor, 'fee_minor', d.fee_minor, 'reason', d.reason,
                                 'status', d.status, 'opened_at', d.opened_at, 'closed_at', d.closed_at)
        FROM chargebacks d WHERE d.transaction_id = t.id ORDER BY d.opened_at DESC, d.id DESC LIMIT 1) AS chargeback
FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id);

-- Refunds are reviewed too, and a project may need a second operator.
ALTER TABLE operator_actions
    ADD COLUMN on_command_line boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT operator_actions_why,
    ADD CONSTRAINT operator_actions_why
        CHECK (reason IS NOT NULL OR action NOT IN ('project_rejected', 'balance_adjusted', 'withdrawal_rejected',
                                                    'refund_rejected', 'transfer_assigned', 'transfer_dismissed',
                                                    'payout_refused', 'second_factor_removed'));
-- Whatever was allowed before stays allowed.
DO $$
DECLARE
    v_before text;
BEGIN
    SELECT pg_get_expr(conbin, conrelid) INTO v_before FROM pg_constraint
    WHERE conrelid = 'operator_actions'::regclass AND conname = 'operator_actions_action_check';
    EXECUTE format('ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_check, '
                   'ADD CONSTRAINT operator_actions_action_check CHECK (%s OR action IN (%L, %L, %L, %L))',
                   v_before, 'project_approval_given', 'refund_approved', 'refund_rejected', 'payout_approved');
END $$;
