-- Money that was sent before a link's deadline counts as on time. The bank may say when a transfer was sent.
ALTER TABLE bank_entry_parts ADD COLUMN sent_at timestamptz;

-- The digest of a transfer without that time is what it was.
CREATE OR REPLACE FUNCTION row_digest(bank_entry_parts) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.entry_id, $1.nth, $1.amount_minor, $1.end_to_end_id, $1.other_name,
                                  $1.other_iban, $1.words, $1.return_reason))
        || CASE WHEN $1.sent_at IS NULL THEN '' ELSE record_send(ROW($1.sent_at)) END)
$$;

-- Whether the link has all of its payments, whatever its status.
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
        FROM chargebacks d WHERE d.transaction_id = t.id ORDER BY d.opened_at DESC, d.id DESC LIMIT 1) AS chargeback,
       coalesce(l.payments_count >= l.max_payments, false) AS link_is_paid
FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id);
