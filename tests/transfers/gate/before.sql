-- Something of everything that leaves, as it was before there was a gate.
INSERT INTO merchants (id, business_name, created_at) VALUES ('00000000-0000-0000-0000-000000000001', 'The Shop', now());
INSERT INTO projects (id, merchant_id, mode, name, status, created_at, updated_at)
VALUES ('00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000001', 'live', 'Shop', 'approved', now(), now());
INSERT INTO payment_links (id, merchant_id, mode, token, project_id, display_name, amount_minor, currency, metadata,
                           created_by_type, status, created_at, updated_at, expires_at)
VALUES ('00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000001', 'live', repeat('a', 26), '00000000-0000-0000-0000-000000000002', 'Coffee', 1000, 'EUR', '{}', 'api_key', 'active',
        now(), now(), now() + interval '1 d');
INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference, instructions,
                          currency, amount_minor, received_minor, unapplied_minor, status, refund_required_reason,
                          created_at, updated_at)
VALUES ('00000000-0000-0000-0000-000000000004', '00000000-0000-0000-0000-000000000001', 'live', '00000000-0000-0000-0000-000000000003', 'sepa:EUR', 'bank_transfer', 'bank', 'RF1', '{}', 'EUR', 1000, 1000,
        1000, 'refund_required', 'duplicate', now(), now());
INSERT INTO bank_statements (id, iban, statement_id, entries, digest, imported_by, imported_at)
VALUES ('00000000-0000-0000-0000-000000000001', 'DE', '1', 1, '\x01', 'olga', now());
INSERT INTO bank_entries (id, identity, first_statement_id, side, currency, amount_minor, booked_on, is_reversal)
VALUES ('00000000-0000-0000-0000-000000000003', sha256('entry'), '00000000-0000-0000-0000-000000000001', 'credit', 'EUR', 1000, '2026-01-01', false);
INSERT INTO bank_entry_parts (id, entry_id, nth, amount_minor, reference, other_name, other_iban, words, outcome)
VALUES ('00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000003', 0, 1000, 'RF1', 'Erika', 'fr14 2004 1010 0505 0001 3M02 606', '', 'payment');
INSERT INTO rail_observations (rail, mode, external_ref, outcome, merchant_id, transaction_id, currency, amount_minor, at)
VALUES ('bank', 'live', encode(sha256('entry'), 'hex') || '/0', 'confirmed', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000004', 'EUR', 1000, now());
INSERT INTO refunds (id, merchant_id, mode, transaction_id, rail, currency, amount_minor, unapplied_minor, status, reason,
                     receiver, provider_reference, metadata, next_look_at, created_at, updated_at)
SELECT x.id::uuid, '00000000-0000-0000-0000-000000000001', 'live', '00000000-0000-0000-0000-000000000004', 'bank', 'EUR', 100, 100, x.status, 'other', x.receiver, x.at_rail,
       '{}', CASE x.status WHEN 'pending' THEN now() END, now(), now()
FROM (VALUES ('00000000-0000-0000-0000-00000000000b', 'pending', 'FR14 2004 1010 0505 0001 3M02 606', 'r1'), ('00000000-0000-0000-0000-00000000000c', 'pending', 'NL91ABNA0417164300', NULL),
             ('00000000-0000-0000-0000-00000000000d', 'pending', 'NL91ABNA0417164300', 'r2'), ('00000000-0000-0000-0000-00000000000e', 'succeeded', 'NL91ABNA0417164300', 'r3')) x (id, status, receiver, at_rail);
INSERT INTO bank_payouts (id, kind, merchant_id, mode, currency, amount_minor, receiver_iban, receiver_name, words, status,
                          prepared_at, updated_at)
VALUES ('00000000-0000-0000-0000-00000000000d', 'refund', '00000000-0000-0000-0000-000000000001', 'live', 'EUR', 100, 'NL91ABNA0417164300', 'Erika', '', 'prepared', now(), now()),
       ('00000000-0000-0000-0000-00000000000b', 'refund', '00000000-0000-0000-0000-000000000001', 'live', 'EUR', 100, 'FR1420041010050500013M02606', 'Erika', '', 'prepared', now(), now());
INSERT INTO ledger_holds (id, merchant_id, mode, currency, source_type, source_id, amount, status, created_at)
VALUES ('00000000-0000-0000-0000-00000000000f', '00000000-0000-0000-0000-000000000001', 'live', 'EUR', 'withdrawal', '00000000-0000-0000-0000-00000000000f', 900, 'active', now());
INSERT INTO withdrawals (id, merchant_id, mode, method_id, rail, currency, amount_minor, network_fee_mode, system_fee_minor,
                         network_fee_minor, debit_minor, receive_minor, receiver, provider_fields, hold_id, limit_day, status,
                         approvals_needed, approvals, metadata, created_at, updated_at)
VALUES ('00000000-0000-0000-0000-00000000000f', '00000000-0000-0000-0000-000000000001', 'live', 'sepa:EUR', 'bank', 'EUR', 900, 'deduct', 0, 0, 900, 900, 'NL91ABNA0417164300',
        '{"account_holder_name": "Nina"}', '00000000-0000-0000-0000-00000000000f', '2026-01-01', 'pending_review', 2, ARRAY['root'], '{}', now(), now());
