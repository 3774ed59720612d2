-- The schema after all migrations. Made by `just records`, compared by a test.
CREATE FUNCTION public.address_changes_counting(p_merchant uuid, p_mode text, p_asked_at timestamp with time zone, p_now timestamp with time zone) RETURNS TABLE(since timestamp with time zone, until timestamp with time zone, undone_at timestamp with time zone)
    LANGUAGE sql STABLE
    AS $$
    SELECT c.requested_at, CASE WHEN c.undone_at IS NULL THEN c.undo_until ELSE 'infinity' END, c.undone_at
    FROM members m JOIN address_changes c ON c.user_id = m.user_id
    WHERE m.merchant_id = p_merchant AND coalesce(m.removed_at >= c.requested_at, true)
      AND CASE WHEN c.undone_at IS NULL THEN c.undo_until > time_of_environment(p_merchant, p_mode, p_now)
               ELSE c.requested_at <= p_asked_at END
$$;
CREATE FUNCTION public.adjustment_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_type = 'adjustment' AND p_code = 'rail:bank' AND EXISTS (
        SELECT FROM operator_actions o
        WHERE o.id = p_id AND o.action = 'balance_adjusted'
          AND (o.mode, o.currency, o.amount_minor) = (p_mode, p_currency, -p_amount));
END $$;
CREATE FUNCTION public.balance_payments_let_leave() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM value_let_leave('balance_payment', NEW.id, CASE TG_ARGV[0] WHEN 'payer' THEN NEW.merchant_id ELSE NEW.owner_id END,
                            NEW.mode, NEW.currency, true);
    RETURN NULL;
END $$;
CREATE FUNCTION public.balance_payments_wait() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF balance_payments_wait_until(NEW.merchant_id, NEW.mode, NEW.owner_id, NEW.created_at, NEW.resolved_at) IS NOT NULL THEN
        RAISE EXCEPTION 'after a change of an address, payments to new recipients wait'
            USING ERRCODE = 'serialization_failure', TABLE = TG_TABLE_NAME, CONSTRAINT = 'address_changes_wait';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.balance_payments_wait_until(p_merchant uuid, p_mode text, p_owner uuid, p_created_at timestamp with time zone, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT max(c.until)
    FROM address_changes_counting(p_merchant, p_mode, p_created_at, p_now) c
    WHERE (c.undone_at IS NULL OR p_created_at <= c.undone_at)
      AND NOT EXISTS (
          SELECT FROM balance_payments b
          WHERE (b.merchant_id, b.mode, b.owner_id) = (p_merchant, p_mode, p_owner)
            AND b.captured_minor > 0 AND b.resolved_at < c.since)
$$;
CREATE FUNCTION public.bank_entries_require_posting() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM ledger_transactions t
                   WHERE t.source_type = 'bank_entry' AND t.source_id = NEW.id AND t.kind = 'bank_entry' AND t.step = 0) THEN
        RAISE EXCEPTION 'an entry of a statement is posted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_entries_posted';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.bank_entry_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_type = 'bank_entry' AND p_code = 'rail:bank' AND EXISTS (
        SELECT FROM bank_entries e
        WHERE e.id = p_id AND e.side = 'credit' AND e.currency = p_currency AND p_amount <= e.amount_minor);
END $$;
CREATE FUNCTION public.bank_entry_part_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_code = 'rail:bank' AND EXISTS (
        SELECT FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id LEFT JOIN bank_payouts b ON b.id = p.payout_id
        WHERE p.id = p_id AND e.side = 'credit' AND e.currency = p_currency
          AND ((p_type = 'bank_assignment' AND p_amount = p.amount_minor)
               OR (p_type = 'bank_return_fee' AND p_amount = b.amount_minor - p.amount_minor)));
END $$;
CREATE FUNCTION public.bank_entry_parts_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'what was done with money of the bank is done' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE FUNCTION public.bank_entry_parts_require_operators() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (SELECT p.amount_minor FROM bank_payouts p WHERE p.id = NEW.payout_id) - NEW.amount_minor
       > coalesce(NEW.return_fee_max_minor, 0)
       AND NOT operator_approvals_suffice('payout_return', NEW.id) THEN
        RAISE EXCEPTION 'two operators approve a return for so much less'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_entry_parts_two_operators';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.bank_entry_parts_require_posting() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.decisions <= OLD.decisions
       OR NOT EXISTS (SELECT FROM ledger_transactions t
                      WHERE t.source_type = 'bank_transfer' AND t.source_id = NEW.id AND t.step = NEW.decisions) THEN
        RAISE EXCEPTION 'a decision on a transfer is posted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_entry_parts_posted';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.bank_imports_require_operators() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.confirmed_at IS NULL OR NOT operator_approvals_suffice('statements', NEW.id) THEN
        RAISE EXCEPTION 'two operators confirm a file with a statement that has no balances'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_imports_two_operators';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.bank_payouts_refuse_unreleased() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
        IF payouts_are_paused() THEN
            RAISE EXCEPTION 'nothing leaves while payouts are paused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'payouts_are_paused';
        END IF;
        IF EXISTS (SELECT FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id AND e.side = 'debit'
                   WHERE lower(p.end_to_end_id) = replace(NEW.id::text, '-', '')) THEN
            RAISE EXCEPTION 'the bank has debited this payout'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_payouts_debited';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.bitcoin_batch_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_type = 'network_fee' AND EXISTS (
        SELECT FROM bitcoin_batches b
        WHERE b.id = p_id AND b.status = 'confirmed'
          AND (b.mode, 'BTC', 'rail:' || b.rail, b.expensed_fee_minor) = (p_mode, p_currency, p_code, p_amount));
END $$;
CREATE FUNCTION public.bitcoin_batches_enforce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (OLD.id, OLD.rail, OLD.mode, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.rail, NEW.mode, NEW.created_at)
       OR (OLD.change_index IS NOT NULL AND OLD.change_index IS DISTINCT FROM NEW.change_index)
       OR (OLD.status = 'confirmed'
           AND (OLD.txid, OLD.expensed_fee_minor) IS DISTINCT FROM (NEW.txid, NEW.expensed_fee_minor))
    THEN
        RAISE EXCEPTION 'a batch stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.status <> NEW.status THEN
        PERFORM state_transitions_require('bitcoin_batches', OLD.status, NEW.status);
        IF NEW.status IN ('signed', 'broadcast')
           AND NOT EXISTS (SELECT FROM bitcoin_transactions t WHERE t.batch_id = NEW.id AND t.raw IS NOT NULL) THEN
            RAISE EXCEPTION 'the signed bytes are stored first' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.status = 'confirmed'
           AND NOT EXISTS (SELECT FROM bitcoin_transactions t WHERE (t.batch_id, t.txid) = (NEW.id, NEW.txid)) THEN
            RAISE EXCEPTION 'a batch is confirmed by one of its transactions' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.status = 'canceled' AND NEW.void_at IS NULL
           AND EXISTS (SELECT FROM bitcoin_transactions t WHERE t.batch_id = NEW.id AND t.raw IS NOT NULL) THEN
            RAISE EXCEPTION 'what is signed may be sent' USING ERRCODE = 'check_violation', CONSTRAINT = 'bitcoin_batches_canceled';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.bitcoin_payouts_enforce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.id, OLD.kind, OLD.rail, OLD.mode, OLD.currency, OLD.address, OLD.amount_minor, OLD.created_at)
           IS DISTINCT FROM (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.currency, NEW.address, NEW.amount_minor, NEW.created_at)
        THEN
            RAISE EXCEPTION 'a payout in bitcoin stays what it is' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF OLD.status <> NEW.status THEN
            PERFORM state_transitions_require('bitcoin_payouts', OLD.status, NEW.status);
        END IF;
    END IF;
    IF (TG_OP = 'INSERT' OR (OLD.status, NEW.status) = ('waiting', 'batched')) AND NOT EXISTS (
        SELECT FROM outgoing_transfers o
        WHERE (o.id, o.kind, o.rail, o.mode, o.currency, o.amount_minor)
              = (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.currency, NEW.amount_minor)
          AND NEW.address IN (o.receiver, lower(o.receiver)) AND o.released_at IS NOT NULL AND o.closed_at IS NULL)
    THEN
        RAISE EXCEPTION 'a payout is of a released transfer' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'batched' AND (TG_OP = 'INSERT' OR OLD.status <> 'batched') AND NEW.mode = 'live' THEN
        IF payouts_are_paused() THEN
            RAISE EXCEPTION 'nothing leaves while payouts are paused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'payouts_are_paused';
        END IF;
        PERFORM FROM outgoing_transfers o JOIN merchants m ON m.id = o.merchant_id
        WHERE o.id = NEW.id AND m.suspended_at IS NULL FOR SHARE OF m;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.card_payments_look() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE card_payments c SET next_poll_at = NEW.updated_at
    FROM transactions t
    WHERE (t.merchant_id, t.mode, t.payment_link_id) = (NEW.merchant_id, NEW.mode, NEW.id)
      AND (c.merchant_id, c.mode, c.transaction_id) = (t.merchant_id, t.mode, t.id) AND c.next_poll_at > NEW.updated_at;
    RETURN NULL;
END $$;
CREATE FUNCTION public.chain_payout_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_type = 'network_fee' AND EXISTS (
        SELECT FROM chain_payouts p
        WHERE p.id = p_id AND p.status IN ('completed', 'failed')
          AND (p.mode, p.fee_currency, 'rail:' || p.rail, p.fee_minor) = (p_mode, p_currency, p_code, p_amount));
END $$;
CREATE FUNCTION public.chain_payouts_enforce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.id, OLD.kind, OLD.rail, OLD.mode, OLD.chain_id, OLD.currency, OLD.contract, OLD.receiver, OLD.amount_units, OLD.created_at,
            OLD.deposit_index)
           IS DISTINCT FROM
           (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.chain_id, NEW.currency, NEW.contract, NEW.receiver, NEW.amount_units, NEW.created_at,
            NEW.deposit_index)
           OR ((OLD.wallet, OLD.nonce) IS DISTINCT FROM (NEW.wallet, NEW.nonce) AND OLD.nonce IS NOT NULL
               AND (OLD.status <> 'reserved' OR NEW.nonce IS NOT NULL
                    OR EXISTS (SELECT FROM chain_transactions c WHERE c.payout_id = OLD.id)))
        THEN
            RAISE EXCEPTION 'a payout on a chain stays what it is' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF OLD.status <> NEW.status THEN
            PERFORM state_transitions_require('chain_payouts', OLD.status, NEW.status);
        END IF;
        IF NEW.status = 'signed' AND NOT EXISTS (SELECT FROM chain_transactions c WHERE c.payout_id = NEW.id) THEN
            RAISE EXCEPTION 'the signed bytes are stored first' USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    IF NEW.status IN ('waiting', 'reserved') AND NEW.kind IN ('withdrawal', 'refund') AND NOT EXISTS (
        SELECT FROM outgoing_transfers o
        WHERE (o.id, o.kind, o.rail, o.mode, o.currency, lower(o.receiver))
              = (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.currency, NEW.receiver)
          AND o.released_at IS NOT NULL AND o.closed_at IS NULL)
    THEN
        RAISE EXCEPTION 'a payout is of a released transfer' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.kind IN ('sweep', 'gas') AND NEW.status IN ('waiting', 'reserved') AND NOT EXISTS (
        SELECT FROM deposit_addresses d
        WHERE (d.rail, d.mode, d.derivation_index) = (NEW.rail, NEW.mode, NEW.deposit_index)
          AND lower(d.address) = CASE NEW.kind WHEN 'gas' THEN NEW.receiver ELSE lower(coalesce(NEW.wallet, d.address)) END)
    THEN
        RAISE EXCEPTION 'a sweep is of a deposit address' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reserved' AND (TG_OP = 'INSERT' OR OLD.status <> 'reserved') AND NEW.mode = 'live' THEN
        IF payouts_are_paused() THEN
            RAISE EXCEPTION 'nothing leaves while payouts are paused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'payouts_are_paused';
        END IF;
        IF NEW.kind IN ('withdrawal', 'refund') THEN
            PERFORM FROM outgoing_transfers o JOIN merchants m ON m.id = o.merchant_id
            WHERE o.id = NEW.id AND m.suspended_at IS NULL FOR SHARE OF m;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                    USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
            END IF;
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.chain_payouts_keep_exported() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF OLD.exported_at IS DISTINCT FROM NEW.exported_at OR OLD.nonce IS DISTINCT FROM NEW.nonce OR OLD.gas IS DISTINCT FROM NEW.gas
       OR NEW.fee_per_gas < OLD.fee_per_gas OR NEW.tip_per_gas < OLD.tip_per_gas
    THEN
        RAISE EXCEPTION 'an exported payout keeps its nonce, and its fee only rises' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.chargeback_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_type = 'chargeback' AND EXISTS (
        SELECT FROM chargebacks c JOIN transactions p ON p.id = c.transaction_id
        WHERE c.id = p_id AND (c.mode, c.currency, 'rail:' || p.rail) = (p_mode, p_currency, p_code) AND p_amount = c.amount_minor);
END $$;
CREATE FUNCTION public.chargebacks_enforce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF OLD.status <> NEW.status THEN
        PERFORM state_transitions_require('chargebacks', OLD.status, NEW.status);
    END IF;
    IF OLD.status = 'lost' AND NEW.status = 'won' AND NOT EXISTS (
        SELECT FROM payment_reversals v
        WHERE v.transaction_id = NEW.transaction_id AND v.chargeback_id = NEW.id AND v.status = 'reinstated'
    ) THEN
        RAISE EXCEPTION 'a lost chargeback is won only if its money is there again' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.response <> NEW.response THEN
        PERFORM state_transitions_require('chargeback_responses', OLD.response, NEW.response);
    END IF;
    IF (OLD.response, OLD.evidence) IS DISTINCT FROM (NEW.response, NEW.evidence) AND OLD.status <> 'open'
       OR OLD.evidence <> NEW.evidence AND OLD.response <> 'needed' THEN
        RAISE EXCEPTION 'the response to a chargeback is final' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.chargebacks_let_leave() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM value_let_leave('chargeback', NEW.id, NEW.merchant_id, NEW.mode, NEW.currency, false);
    RETURN NULL;
END $$;
CREATE FUNCTION public.conversion_positions_follow() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    v record;
    v_position numeric;
    v_limit bigint;
BEGIN
    FOR v IN
        SELECT m.currency, m.change
        FROM (VALUES (NEW.from_currency, NEW.from_amount_minor::numeric - NEW.fee_minor),
                     (NEW.to_currency, -NEW.to_amount_minor::numeric)) AS m (currency, change)
        ORDER BY m.currency
    LOOP
        INSERT INTO conversion_positions AS p (currency, position_minor) VALUES (v.currency, v.change)
        ON CONFLICT (currency) DO UPDATE SET position_minor = p.position_minor + excluded.position_minor
        RETURNING p.position_minor, p.limit_minor INTO v_position, v_limit;
        IF abs(v_position) > v_limit AND abs(v_position) > abs(v_position - v.change) THEN
            RAISE EXCEPTION 'the position in % would exceed its limit', v.currency
                USING ERRCODE = 'check_violation', TABLE = 'conversion_positions', CONSTRAINT = 'conversion_positions_limit';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE FUNCTION public.conversions_at_fixed_rate() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_payment transactions%ROWTYPE;
BEGIN
    SELECT * INTO v_payment FROM transactions t
    WHERE t.id = NEW.transaction_id AND (t.rate, t.rate_as_of) = (NEW.rate, NEW.rate_as_of);
    IF FOUND AND (
        SELECT coalesce(sum(o.amount_minor), 0) FROM rail_observations o
        WHERE o.transaction_id = NEW.transaction_id AND o.outcome = 'confirmed' AND o.currency = v_payment.currency
          AND (o.seen_at IS NULL OR o.seen_at < v_payment.rate_expires_at)
    ) < (
        SELECT sum(c.from_amount_minor) FROM conversions c
        WHERE c.transaction_id = NEW.transaction_id AND c.reversal_id IS NULL
          AND (c.rate, c.rate_as_of) = (NEW.rate, NEW.rate_as_of)
    ) AND EXISTS (
        SELECT FROM unnest(ARRAY[NEW.from_currency, NEW.to_currency]) AS paid (currency)
        WHERE (SELECT p.per_euro FROM conversion_prices p WHERE p.currency = paid.currency AND p.at <= NEW.created_at
               ORDER BY p.at DESC, p.id DESC LIMIT 1)
           <> (SELECT p.per_euro FROM conversion_prices p WHERE p.currency = paid.currency AND p.at <= v_payment.created_at
               ORDER BY p.at DESC, p.id DESC LIMIT 1)
    ) THEN
        RAISE EXCEPTION 'payment % received less in time than was converted at its fixed rate', NEW.transaction_id
            USING ERRCODE = 'check_violation', TABLE = 'conversions', CONSTRAINT = 'conversions_at_fixed_rate';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.conversions_let_leave() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM value_let_leave('conversion', NEW.id, NEW.merchant_id, NEW.mode, NEW.from_currency, NEW.transaction_id IS NULL);
    RETURN NULL;
END $$;
CREATE FUNCTION public.counts_as_second_member(p_merchant uuid, p_user uuid, p_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (
        SELECT FROM members m
        WHERE (m.merchant_id, m.user_id) = (p_merchant, p_user) AND m.removed_at IS NULL
          AND m.decides_since <= greatest(p_at - interval '72 hours', (
              SELECT min(r.set_at) FROM second_member_rules r WHERE r.merchant_id = p_merchant AND r.above_minor IS NOT NULL)))
$$;
CREATE FUNCTION public.current_database_identity() RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT format('%s/%s', (SELECT system_identifier FROM pg_control_system()),
                  (SELECT oid FROM pg_database WHERE datname = current_database()))
$$;
CREATE FUNCTION public.customer_key(customer_email text, external_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN customer_email IS NOT NULL THEN 'email:' || lower(customer_email)
                WHEN external_id IS NOT NULL THEN 'external_id:' || external_id END
$$;
CREATE FUNCTION public.deflate_bits(p_data bytea, p_at integer, p_bits integer) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT coalesce(sum(get_bit(p_data, p_at + n) << n), 0)::int FROM generate_series(0, p_bits - 1) AS n
$$;
CREATE FUNCTION public.deflate_code(p_lengths integer[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT (SELECT array_agg((SELECT count(*)::int FROM unnest(p_lengths) AS l WHERE l = n) ORDER BY n)
            FROM generate_series(1, 15) AS n)
           || (SELECT array_agg(nth::int - 1 ORDER BY length, nth)
               FROM unnest(p_lengths) WITH ORDINALITY AS l (length, nth) WHERE length > 0)
$$;
CREATE FUNCTION public.deflate_lengths(p_data bytea, INOUT p_at integer, OUT lengths integer[], OUT literals integer) RETURNS record
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    c_order constant int[] := '{16,17,18,0,8,7,9,6,10,5,11,4,12,3,13,2,14,1,15}';
    v_all int := 258 + deflate_bits(p_data, p_at, 5) + deflate_bits(p_data, p_at + 5, 5);
    v_short int[] := array_fill(0, ARRAY[19]);
    v_count int := 4 + deflate_bits(p_data, p_at + 10, 4);
    v_symbol int;
    v_times int;
BEGIN
    literals := 257 + deflate_bits(p_data, p_at, 5);
    p_at := p_at + 14;
    FOR n IN 1..v_count LOOP
        v_short[c_order[n] + 1] := deflate_bits(p_data, p_at, 3);
        p_at := p_at + 3;
    END LOOP;
    v_short := deflate_code(v_short);
    lengths := '{}';
    WHILE cardinality(lengths) < v_all LOOP
        SELECT d.p_at, d.symbol INTO p_at, v_symbol FROM deflate_symbol(p_data, v_short, p_at) d;
        v_times := CASE v_symbol WHEN 16 THEN 3 + deflate_bits(p_data, p_at, 2)
                                 WHEN 17 THEN 3 + deflate_bits(p_data, p_at, 3)
                                 WHEN 18 THEN 11 + deflate_bits(p_data, p_at, 7) ELSE 1 END;
        p_at := p_at + CASE v_symbol WHEN 16 THEN 2 WHEN 17 THEN 3 WHEN 18 THEN 7 ELSE 0 END;
        v_symbol := CASE v_symbol WHEN 16 THEN lengths[cardinality(lengths)] WHEN 17 THEN 0 WHEN 18 THEN 0 ELSE v_symbol END;
        lengths := lengths || array_fill(v_symbol, ARRAY[v_times]);
    END LOOP;
END $$;
CREATE FUNCTION public.deflate_symbol(p_data bytea, p_code integer[], INOUT p_at integer, OUT symbol integer) RETURNS record
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    v_code int := 0;
    v_first int := 0;
    v_index int := 0;
BEGIN
    FOR v_length IN 1..15 LOOP
        v_code := v_code + get_bit(p_data, p_at);
        p_at := p_at + 1;
        IF v_code < v_first + p_code[v_length] THEN
            symbol := p_code[16 + v_index + v_code - v_first];
            RETURN;
        END IF;
        v_index := v_index + p_code[v_length];
        v_first := (v_first + p_code[v_length]) * 2;
        v_code := v_code * 2;
    END LOOP;
    RAISE EXCEPTION 'stored JSON is damaged' USING ERRCODE = 'data_corrupted';
END $$;
CREATE FUNCTION public.delivery_seconds(p_from timestamp with time zone, p_to timestamp with time zone) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT CASE WHEN s > 100 THEN ceil(s / 10 ^ (length(s::text) - 2)) * 10 ^ (length(s::text) - 2) ELSE s END::numeric(20, 0)
    FROM (SELECT greatest(ceil(extract(epoch FROM p_to - p_from)), 0)::numeric(20, 0) AS s) AS whole
$$;
CREATE FUNCTION public.deposit_addresses_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE'
       OR (OLD.rail, OLD.mode, OLD.derivation_index, OLD.address, OLD.created_at)
          IS DISTINCT FROM (NEW.rail, NEW.mode, NEW.derivation_index, NEW.address, NEW.created_at)
       OR (OLD.attempt_id IS DISTINCT FROM NEW.attempt_id
           AND EXISTS (SELECT FROM transactions t
                       WHERE (t.rail, t.mode, t.rail_reference) = (OLD.rail, OLD.mode, OLD.address))) THEN
        RAISE EXCEPTION 'a deposit address does not change';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.destinations_wait_until(p_merchant uuid, p_mode text, p_rail text, p_receiver text, p_asked_at timestamp with time zone, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT max(c.until)
    FROM address_changes_counting(p_merchant, p_mode, p_asked_at, p_now) c
    WHERE (c.undone_at IS NULL OR p_asked_at <= c.undone_at OR EXISTS (
          SELECT FROM withdrawal_recipients r
          WHERE (r.merchant_id, r.mode, r.rail, r.account) = (p_merchant, p_mode, p_rail, p_receiver)
            AND r.created_at BETWEEN c.since AND c.undone_at))
      AND NOT EXISTS (
          SELECT FROM outgoing_transfers o
          WHERE (o.merchant_id, o.mode, o.rail, o.receiver) = (p_merchant, p_mode, p_rail, p_receiver)
            AND o.released_at < c.since)
      AND NOT EXISTS (
          SELECT FROM withdrawal_recipients r
          WHERE (r.merchant_id, r.mode, r.rail, r.account) = (p_merchant, p_mode, p_rail, p_receiver)
            AND r.created_at < c.since)
$$;
CREATE FUNCTION public.dispute_status(p_status text, p_response text, p_respond_by timestamp with time zone, p_at timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN p_status = 'won' THEN 'won'
                WHEN p_response IN ('accepted', 'expired') THEN p_response
                WHEN p_status = 'lost' THEN 'lost'
                WHEN p_response IN ('submitted', 'none') THEN 'under_review'
                WHEN p_respond_by <= p_at THEN 'expired'
                ELSE 'needs_response' END
$$;
CREATE FUNCTION public.first_owner(p_merchant uuid) RETURNS uuid
    LANGUAGE sql STABLE
    AS $$
    SELECT m.user_id FROM members m WHERE m.merchant_id = p_merchant
    ORDER BY m.role = 'owner' DESC, m.created_at, m.user_id LIMIT 1
$$;
CREATE FUNCTION public.fulfillments_let_leave() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM value_let_leave('fulfillment', NEW.id, NEW.merchant_id, NEW.mode, NEW.currency, true);
    RETURN NULL;
END $$;
CREATE FUNCTION public.has_second_factor(p_holder uuid) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (SELECT FROM second_factors f WHERE f.holder_id = p_holder AND f.confirmed_at IS NOT NULL)
        OR EXISTS (SELECT FROM passkeys p WHERE p.holder_id = p_holder)
$$;
CREATE FUNCTION public.hash_chain_hash(p_previous bytea, p_number bigint, p_at timestamp with time zone, p_ledger uuid[], p_actions uuid[]) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT sha256(coalesce(p_previous, '') || int8send(p_number) || int8send((extract(epoch FROM p_at) * 1000000)::bigint)
        || int8send(cardinality(p_ledger)) || int8send(cardinality(p_actions))
        || coalesce((SELECT string_agg(uuid_send(r.id) || coalesce(d.digest, ''), '' ORDER BY r.n)
                     FROM unnest(p_ledger) WITH ORDINALITY AS r (id, n)
                     LEFT JOIN row_digests d ON d.kind = 'ledger' AND d.id = r.id), '')
        || coalesce((SELECT string_agg(uuid_send(r.id) || coalesce(d.digest, ''), '' ORDER BY r.n)
                     FROM unnest(p_actions) WITH ORDINALITY AS r (id, n)
                     LEFT JOIN row_digests d ON d.kind = 'operator_action' AND d.id = r.id), ''))
$$;
CREATE FUNCTION public.idempotency_keys_store(p_merchant uuid, p_mode text, p_caller text, p_key_hash bytea, p_fingerprint bytea, p_status integer, p_answer bytea, p_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '10ms'
    AS $$
BEGIN
    INSERT INTO idempotency_keys (merchant_id, mode, caller, key_hash, fingerprint, status, answer, created_at)
    VALUES (p_merchant, p_mode, p_caller, p_key_hash, p_fingerprint, p_status, p_answer, p_at);
EXCEPTION WHEN lock_not_available OR unique_violation THEN
    RAISE EXCEPTION 'the key is in use' USING ERRCODE = 'serialization_failure';
END $$;
CREATE FUNCTION public.incoming_transfers_end(p_merchant uuid, p_mode text, p_rail text, p_ref text, p_status text, p_at timestamp with time zone) RETURNS void
    LANGUAGE sql
    AS $$
    UPDATE incoming_transfers SET status = p_status, updated_at = p_at
    WHERE merchant_id = p_merchant AND mode = p_mode AND rail = p_rail AND transfer_ref = p_ref AND status <> 'confirmed'
$$;
CREATE FUNCTION public.inflate(p_data bytea, p_dictionary bytea) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    c_length constant int[] :=
        '{3,4,5,6,7,8,9,10,11,13,15,17,19,23,27,31,35,43,51,59,67,83,99,115,131,163,195,227,258}';
    c_length_bits constant int[] := '{0,0,0,0,0,0,0,0,1,1,1,1,2,2,2,2,3,3,3,3,4,4,4,4,5,5,5,5,0}';
    c_distance constant int[] := '{1,2,3,4,5,7,9,13,17,25,33,49,65,97,129,193,257,385,513,769,1025,1537,2049,3073}';
    c_distance_bits constant int[] := '{0,0,0,0,1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,9,9,10,10}';
    v_out bytea := p_dictionary;
    v_at int := 0;
    v_is_last boolean := false;
    v_kind int;
    v_lengths int[];
    v_literals int[];
    v_distances int[];
    v_symbol int;
    v_count int;
    v_back int;
BEGIN
    WHILE NOT v_is_last LOOP
        v_is_last := get_bit(p_data, v_at) = 1;
        v_kind := deflate_bits(p_data, v_at + 1, 2);
        v_at := v_at + 3;
        IF v_kind = 0 THEN  -- as it is
            v_at := (v_at + 7) / 8 * 8;
            v_count := deflate_bits(p_data, v_at, 16);
            v_out := v_out || substring(p_data FROM v_at / 8 + 5 FOR v_count);
            v_at := v_at + 32 + v_count * 8;
            CONTINUE;
        END IF;
        IF v_kind = 1 THEN
            v_lengths := array_fill(8, ARRAY[144]) || array_fill(9, ARRAY[112]) || array_fill(7, ARRAY[24])
                         || array_fill(8, ARRAY[8]) || array_fill(5, ARRAY[30]);
            v_count := 288;
        ELSE
            SELECT d.p_at, d.lengths, d.literals INTO v_at, v_lengths, v_count FROM deflate_lengths(p_data, v_at) d;
        END IF;
        v_literals := deflate_code(v_lengths[:v_count]);
        v_distances := deflate_code(v_lengths[v_count + 1:]);
        LOOP
            SELECT d.p_at, d.symbol INTO v_at, v_symbol FROM deflate_symbol(p_data, v_literals, v_at) d;
            EXIT WHEN v_symbol = 256;
            IF v_symbol < 256 THEN
                v_out := v_out || set_byte('\x00', 0, v_symbol);
                CONTINUE;
            END IF;
            v_count := c_length[v_symbol - 256] + deflate_bits(p_data, v_at, c_length_bits[v_symbol - 256]);
            v_at := v_at + c_length_bits[v_symbol - 256];
            SELECT d.p_at, d.symbol INTO v_at, v_symbol FROM deflate_symbol(p_data, v_distances, v_at) d;
            v_back := c_distance[v_symbol + 1] + deflate_bits(p_data, v_at, c_distance_bits[v_symbol + 1]);
            v_at := v_at + c_distance_bits[v_symbol + 1];
            WHILE v_count > 0 LOOP  -- what is repeated may overlap its copy
                v_out := v_out || substring(v_out FROM length(v_out) - v_back + 1 FOR least(v_count, v_back));
                v_count := v_count - least(v_count, v_back);
            END LOOP;
        END LOOP;
    END LOOP;
    RETURN substring(v_out FROM length(p_dictionary) + 1);
END $$;
CREATE FUNCTION public.json_dictionary(p_number integer) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT convert_to(CASE p_number WHEN 1 THEN
           '{"error":"invalid_request","error_description":"","request_id":"","errors":[{"field":"","message":""}]}{"objec'
        || 't":"list","page":1,"limit":20,"total":0,"has_more":false,"data":[]}{"id":"","object":"withdrawal","status":"pr'
        || 'ocessing","currency":"EUR","amount":"","amount_minor":,"network_fee":"0.00","network_fee_minor":0,"system_fee"'
        || ':"0.00","system_fee_minor":0,"receiver":"","failure_code":null,"failure_message":null,{"id":"","object":"refun'
        || 'd","transaction_id":"","reason":null,"refunds":[{{"id":"","object":"payment_link","project_id":"","status":"ac'
        || 'tive","display_name":"","description":null,"amount":"","amount_minor":,"currency":"EUR","external_id":"order-"'
        || ',"success_url":"https://","cancel_url":"https://","webhook_url":"https://","metadata":{"order":""},"expires_at'
        || '":"2026-","max_payments":1,"payments_count":0,"latest_transaction_id":null,"url":"https:///pay/","quantity":1,'
        || '"unit_price":"","product_id":null,"customer":null,{"outcome":"succeed","livemode":false,"mode":"live","livemod'
        || 'e":true},{"object":"balance","currency":"EUR","decimals":2,"available":"0.00","available_minor":0,"pending":"0'
        || '.00","pending_minor":0,"reserved":"0.00","reserved_minor":0,"debt":"0.00","debt_minor":0,"total":"0.00","total'
        || '_minor":0,"reserved_breakdown":{"withdrawals":"0.00","withdrawals_minor":0,"balance_payments":"0.00","balance_'
        || 'payments_minor":0,"refunds":"0.00","refunds_minor":0,"fulfillments":"0.00","fulfillments_minor":0},"version":,'
        || '"updated_at":"2026-","mode":"test"},"source":{"type":"transaction","id":"","status":"succeeded","version":3},"'
        || 'entries":[{"id":"","object":"ledger_entry","ledger_transaction_id":"","account":"available","direction":"credi'
        || 't","amount":"0.00","amount_minor":0,"signed_amount_minor":0,"balance_after":"0.00","balance_after_minor":0,"cu'
        || 'rrency":"EUR","type":"payment","source":{"type":"transaction","id":""},"oauth_client_id":null,"description":"P'
        || 'ayment","sequence":1,"created_at":"2026-"type":"balance.updated","created_at":"2026-","mode":"test","livemode"'
        || ':false,"api_version":"v2","sequence":1,"data":{"object":{"id":"","object":"transaction","type":"payment","paym'
        || 'ent_link_id":"","project_id":"","external_id":"","status":"succeeded","amount":"","amount_minor":0,"currency":'
        || '"EUR","amount_received":"","amount_received_minor":0,"fee":"0.00","fee_minor":0,"net":"","net_minor":0,"amount'
        || '_refunded":"0.00","amount_refunded_minor":0,"overpaid":"0.00","overpaid_minor":0,"refundable":true,"refundable'
        || '_amount":"","refundable_amount_minor":0,"refund_unavailable_reason":null,"method_id":"sandbox:EUR","method_typ'
        || 'e":"sandbox","payment_details":{"network":"sandbox","asset":"EUR","pay_amount":null,"pay_amount_onchain":null,'
        || '"address":null,"tx_hashes":[],"confirmations":null,"required_confirmations":null,"rate":null,"payer_hint":null'
        || '},"failure_code":null,"failure_message":null,"refund_required_reason":null,"refund_required_amount":"0.00","re'
        || 'fund_required_amount_minor":0,"late":false,"chargeback":null,"refunds":[],"timeline":[{"status":"pending","at"'
        || ':"2026-","detail":null},{"status":"confirming","at":"2026-","detail":null},{"status":"succeeded","at":"2026-",'
        || '"detail":null}],"metadata":{},"mode":"live","livemode":true,"created_at":"2026-","updated_at":"2026-","succeed'
        || 'ed_at":"2026-","version":1}}}'
    END, 'UTF8')
$$;
CREATE FUNCTION public.json_text(p_stored bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    v_end int;
    v_values bigint[];
    v_json bytea := p_stored;
    v_text text := '';
    v_place text;
    v_from int;
    v_value bigint;
BEGIN
    IF substring(p_stored FOR 1) = '\x02' THEN
        v_end := 3 + get_byte(p_stored, 1) * 256 + get_byte(p_stored, 2);
        v_json := substring(p_stored FROM 4 FOR v_end - 3);
        v_values := string_to_array(btrim(convert_from(substring(p_stored FROM v_end + 1), 'UTF8')), ' ')::bigint[];
    END IF;
    IF json_dictionary(get_byte(v_json, 0)) IS NOT NULL THEN
        v_json := inflate(substring(v_json FROM 2), json_dictionary(get_byte(v_json, 0)));
    END IF;
    LOOP  -- a place is a number and a kind between two bytes that no text has
        v_from := position('\xff'::bytea IN v_json);
        EXIT WHEN v_from = 0;
        v_text := v_text || convert_from(substring(v_json FOR v_from - 1), 'UTF8');
        v_json := substring(v_json FROM v_from + 1);
        v_end := position('\xff'::bytea IN v_json);
        v_place := convert_from(substring(v_json FOR v_end - 1), 'UTF8');
        v_json := substring(v_json FROM v_end + 1);
        v_value := v_values[left(v_place, -1)::int + 1];
        v_text := v_text || CASE right(v_place, 1)
            WHEN 'n' THEN v_value::text
            WHEN 't' THEN to_char((timestamptz 'epoch' + v_value * interval '1 ms') AT TIME ZONE 'UTC',
                                  'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
            ELSE round(v_value / power(10::numeric, right(v_place, 1)::int), right(v_place, 1)::int)::text END;
    END LOOP;
    RETURN v_text || convert_from(v_json, 'UTF8');
END $$;
CREATE FUNCTION public.ledger_account_id(p_merchant uuid, p_mode text, p_currency text, p_code text) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
    SELECT id FROM ledger_accounts
    WHERE owner = coalesce(p_merchant, '00000000-0000-0000-0000-000000000000')
      AND mode = p_mode AND currency = p_currency AND code = p_code
$$;
CREATE FUNCTION public.ledger_account_ids(p_mode text, p_currencies text[], p_merchants uuid[], p_codes text[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_ids bigint[] := '{}';
BEGIN
    FOR v_line IN 1..cardinality(p_codes) LOOP
        v_ids := array_append(v_ids, (
            SELECT a.id FROM ledger_accounts a
            WHERE a.owner = coalesce(p_merchants[v_line], '00000000-0000-0000-0000-000000000000')
              AND a.mode = p_mode AND a.currency = p_currencies[v_line] AND a.code = p_codes[v_line]));
    END LOOP;
    RETURN v_ids;
END $$;
CREATE FUNCTION public.ledger_daily_totals_add_late() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_added_until timestamptz;
BEGIN
    SELECT added_until INTO STRICT v_added_until FROM ledger_daily_totals_state FOR SHARE;
    IF NEW.created_at < v_added_until THEN
        INSERT INTO ledger_daily_totals AS t
            (mode, currency, day, type, debit_code, credit_code, amount_minor, postings)
        SELECT mode, currency, day, type, debit_code, credit_code, sum(amount), count(*)
        FROM ledger_daily_postings WHERE transaction_id = NEW.id
        GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
        ON CONFLICT (mode, currency, day, type, debit_code, credit_code)
            DO UPDATE SET amount_minor = t.amount_minor + excluded.amount_minor, postings = t.postings + excluded.postings;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.ledger_normal_side(p_merchants boolean, p_code text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $_$
BEGIN
    RETURN CASE
        WHEN p_merchants THEN
            CASE WHEN p_code IN ('available', 'pending', 'reserved') THEN 'credit' WHEN p_code = 'debt' THEN 'debit' END
        WHEN p_code = 'fx' OR p_code ~ '^(unapplied|unmatched|income|payable|equity):[a-z0-9_]+$' THEN 'credit'
        WHEN p_code ~ '^(rail|bank|transit|expense):[a-z0-9_]+$' THEN 'debit'
    END;
END $_$;
CREATE TABLE public.ledger_entries (
    account_id bigint NOT NULL,
    version bigint NOT NULL,
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    account text NOT NULL,
    type text NOT NULL,
    transaction_id uuid NOT NULL,
    line smallint NOT NULL,
    delta bigint NOT NULL,
    balance_after bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT ledger_entries_delta_check CHECK ((delta <> 0)),
    CONSTRAINT ledger_entries_version_check CHECK ((version > 0))
);
CREATE FUNCTION public.ledger_post(p_id uuid, p_mode text, p_kind text, p_source_type text, p_source_id uuid, p_step integer, p_at timestamp with time zone, p_types text[], p_currencies text[], p_amounts bigint[], p_debit_merchants uuid[], p_debit_codes text[], p_credit_merchants uuid[], p_credit_codes text[], p_entry_ids uuid[]) RETURNS SETOF public.ledger_entries
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    v_debits bigint[];
    v_credits bigint[];
    v_owes boolean := false;
    v_owing record;
    v_account ledger_accounts;
    v_accounts ledger_accounts[] := '{}';
    v_ids bigint[] := '{}';
    v_is_credit boolean;
    v_at integer;
    v_delta bigint;
    v_entries ledger_entries[] := '{}';
BEGIN
    IF coalesce(cardinality(p_types), 0) = 0 THEN
        RAISE EXCEPTION 'a transaction has at least one line' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    VALUES (p_id, p_mode, p_kind, p_source_type, p_source_id, p_step, p_at);
    v_debits := ledger_account_ids(p_mode, p_currencies, p_debit_merchants, p_debit_codes);
    v_credits := ledger_account_ids(p_mode, p_currencies, p_credit_merchants, p_credit_codes);
    -- Accounts are made on first use. Two that make the same one: the second waits here for the first, and finds it below,
    -- because each statement sees what was committed before it. The order keeps two that make several from a deadlock.
    IF array_position(v_debits || v_credits, NULL) IS NOT NULL THEN
        INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
        SELECT p_mode, w.currency, w.merchant_id, w.code,
               ledger_normal_side(w.merchant_id IS NOT NULL, w.code), w.merchant_id IS NOT NULL
        FROM (SELECT * FROM unnest(p_currencies, p_debit_merchants, p_debit_codes) AS d (currency, merchant_id, code)
              UNION
              SELECT * FROM unnest(p_currencies, p_credit_merchants, p_credit_codes) AS c (currency, merchant_id, code)) w
        WHERE ledger_account_id(w.merchant_id, p_mode, w.currency, w.code) IS NULL
        ORDER BY w.merchant_id, w.currency, w.code
        ON CONFLICT DO NOTHING;
        v_debits := ledger_account_ids(p_mode, p_currencies, p_debit_merchants, p_debit_codes);
        v_credits := ledger_account_ids(p_mode, p_currencies, p_credit_merchants, p_credit_codes);
    END IF;
    PERFORM FROM ledger_accounts a
    WHERE a.id = ANY (v_debits || v_credits) AND a.guarded
    ORDER BY a.id FOR NO KEY UPDATE;
    -- Looked for only now: a debt is made and repaid under the lock of the available balance beside it.
    FOR v_line IN 1..cardinality(p_credit_codes) LOOP
        IF p_credit_codes[v_line] = 'available' THEN
            v_owes := v_owes OR EXISTS (
                SELECT FROM ledger_accounts d
                WHERE d.owner = p_credit_merchants[v_line] AND d.mode = p_mode AND d.currency = p_currencies[v_line]
                  AND d.code = 'debt' AND d.balance > 0);
        END IF;
    END LOOP;
    IF v_owes THEN
        FOR v_owing IN
            SELECT a.id AS available_id, d.id AS debt_id, a.currency,
                   least(d.balance, a.balance + (
                       SELECT sum(CASE a.id WHEN l.credit_id THEN l.amount WHEN l.debit_id THEN -l.amount ELSE 0 END)
                       FROM unnest(p_amounts, v_debits, v_credits) AS l (amount, debit_id, credit_id)))::bigint AS repaid
            FROM ledger_accounts a
            JOIN ledger_accounts d ON (d.owner, d.mode, d.currency, d.code) = (a.owner, a.mode, a.currency, 'debt')
            WHERE a.id = ANY (v_credits) AND a.guarded AND a.code = 'available' AND d.balance > 0
            ORDER BY d.id FOR NO KEY UPDATE OF d
        LOOP
            IF v_owing.repaid > 0 THEN
                p_types := p_types || 'settlement'::text;
                p_currencies := p_currencies || v_owing.currency;
                p_amounts := p_amounts || v_owing.repaid;
                v_debits := v_debits || v_owing.available_id;
                v_credits := v_credits || v_owing.debt_id;
            END IF;
        END LOOP;
    END IF;
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p_id, l.line, l.type, p_mode, l.currency, l.debit_id, l.credit_id, l.amount
    FROM unnest(p_types, p_currencies, p_amounts, v_debits, v_credits)
         WITH ORDINALITY AS l (type, currency, amount, debit_id, credit_id, line);
    -- Read again: the accounts of debts are among them now. Each is written once, whatever it passes through in between.
    FOR v_account IN
        SELECT * FROM ledger_accounts a WHERE a.id = ANY (v_debits || v_credits) AND a.guarded
    LOOP
        v_account.updated_at := greatest(p_at, v_account.updated_at);
        v_ids := v_ids || v_account.id;
        v_accounts := v_accounts || v_account;
    END LOOP;
    FOR v_line IN 1..cardinality(p_types) LOOP
        FOREACH v_is_credit IN ARRAY ARRAY[true, false] LOOP
            v_at := array_position(v_ids, CASE WHEN v_is_credit THEN v_credits[v_line] ELSE v_debits[v_line] END);
            CONTINUE WHEN v_at IS NULL;
            v_account := v_accounts[v_at];
            v_delta := CASE WHEN v_is_credit = (v_account.normal_side = 'credit') THEN p_amounts[v_line]
                            ELSE -p_amounts[v_line] END;
            v_account.balance := v_account.balance + v_delta;
            v_account.version := v_account.version + 1;
            v_accounts[v_at] := v_account;
            v_entries := v_entries || ROW(
                v_account.id, v_account.version, p_entry_ids[cardinality(v_entries) + 1], v_account.merchant_id, p_mode,
                v_account.currency, v_account.code,
                -- What is paid out of one merchant's balance is paid in to another's: one line, an entry of another type each.
                CASE WHEN p_types[v_line] = 'balance_payment_out' AND v_is_credit THEN 'balance_payment_in'
                     ELSE p_types[v_line] END,
                p_id, v_line, v_delta, v_account.balance, v_account.updated_at)::ledger_entries;
        END LOOP;
    END LOOP;
    -- One statement: between two, what one account gives to another of the merchant would count in neither or both.
    UPDATE ledger_accounts a SET balance = n.balance, version = n.version, updated_at = n.updated_at
    FROM unnest(v_accounts) n
    WHERE a.id = n.id;
    RETURN QUERY INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type,
                                             transaction_id, line, delta, balance_after, created_at)
    SELECT e.account_id, e.version, e.id, e.merchant_id, e.mode, e.currency, e.account, e.type,
           e.transaction_id, e.line, e.delta, e.balance_after, e.created_at
    FROM unnest(v_entries) e
    RETURNING *;
END $$;
CREATE FUNCTION public.ledger_post_platform(p_mode text, p_at timestamp with time zone, p_ids uuid[], p_kinds text[], p_source_types text[], p_source_ids uuid[], p_steps integer[], p_entries integer[], p_lines integer[], p_types text[], p_currencies text[], p_amounts bigint[], p_debit_codes text[], p_credit_codes text[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    v_platform CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
    IF cardinality(p_ids) <> (SELECT count(DISTINCT entry) FROM unnest(p_entries) AS e (entry)) THEN
        RAISE EXCEPTION 'a transaction has at least one line' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    SELECT t.id, p_mode, t.kind, t.source_type, t.source_id, t.step, p_at
    FROM unnest(p_ids, p_kinds, p_source_types, p_source_ids, p_steps) AS t (id, kind, source_type, source_id, step);
    -- Made on first use, in one order: as in ledger_post.
    INSERT INTO ledger_accounts (mode, currency, code, normal_side, guarded)
    SELECT p_mode, w.currency, w.code, ledger_normal_side(false, w.code), false
    FROM (SELECT * FROM unnest(p_currencies, p_debit_codes) AS d (currency, code)
          UNION SELECT * FROM unnest(p_currencies, p_credit_codes) AS c (currency, code)) w
    WHERE NOT EXISTS (SELECT FROM ledger_accounts a
                      WHERE a.owner = v_platform AND a.mode = p_mode AND a.currency = w.currency AND a.code = w.code)
    ORDER BY w.currency, w.code
    ON CONFLICT DO NOTHING;
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p_ids[l.entry], l.line, l.type, p_mode, l.currency, d.id, c.id, l.amount
    FROM unnest(p_entries, p_lines, p_types, p_currencies, p_amounts, p_debit_codes, p_credit_codes)
         AS l (entry, line, type, currency, amount, debit_code, credit_code)
    LEFT JOIN ledger_accounts d
        ON d.owner = v_platform AND d.mode = p_mode AND d.currency = l.currency AND d.code = l.debit_code
    LEFT JOIN ledger_accounts c
        ON c.owner = v_platform AND c.mode = p_mode AND c.currency = l.currency AND c.code = l.credit_code;
END $$;
CREATE FUNCTION public.ledger_refuse_above_limit() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (SELECT sum(a.balance) FROM ledger_accounts a
        WHERE a.owner = NEW.owner AND a.mode = NEW.mode AND a.currency = NEW.currency AND a.code <> 'debt') > 9007199254740991
    THEN
        RAISE EXCEPTION 'a merchant''s balance never exceeds 2^53 - 1 minor units: % % of %', NEW.mode, NEW.currency, NEW.owner
            USING ERRCODE = 'check_violation', TABLE = 'ledger_accounts', CONSTRAINT = 'ledger_accounts_limit';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.ledger_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'what is posted is never changed: % on %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE FUNCTION public.ledger_refuse_unreleased() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
DECLARE
    v_out record;
    v_source record;
    v_is_released boolean;
BEGIN
    FOR v_out IN
        SELECT n.transaction_id, n.mode, n.currency, n.type, a.code, sum(n.amount) AS amount
        FROM posted n JOIN ledger_accounts a ON a.id = n.credit_account_id AND NOT a.guarded AND a.code LIKE 'rail:%'
        GROUP BY n.transaction_id, n.mode, n.currency, n.type, a.code
    LOOP
        v_is_released := false;
        SELECT t.source_type, t.source_id, k.released_by INTO v_source
        FROM ledger_transactions t JOIN ledger_release_kinds k ON k.source_type = t.source_type
        WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode;
        IF FOUND THEN
            EXECUTE format('SELECT %I($1, $2, $3, $4, $5, $6, $7)', v_source.released_by) INTO v_is_released
                USING v_source.source_type, v_source.source_id, v_out.type, v_out.mode, v_out.currency, v_out.code, v_out.amount;
        END IF;
        IF v_is_released IS NOT TRUE THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $_$;
CREATE FUNCTION public.ledger_refuse_unreleased_value() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (
        SELECT FROM ledger_accounts d JOIN ledger_accounts c ON c.id = NEW.credit_account_id AND c.owner <> d.owner
        WHERE d.id = NEW.debit_account_id AND d.merchant_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM ledger_transactions t
            JOIN value_releases r ON r.source_id = t.source_id AND r.source_type = t.source_type AND r.merchant_id = d.merchant_id
            WHERE t.id = NEW.transaction_id AND t.mode = NEW.mode AND (r.mode, r.currency) = (NEW.mode, NEW.currency))
    ) THEN
        RAISE EXCEPTION 'value does not leave a merchant past the gate'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_value';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.ledger_room(p_merchant uuid, p_mode text, p_currency text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
    SELECT p_mode, p_currency, p_merchant, 'available', ledger_normal_side(true, 'available'), true
    WHERE ledger_account_id(p_merchant, p_mode, p_currency, 'available') IS NULL
    ON CONFLICT DO NOTHING;
    PERFORM FROM ledger_accounts a
    WHERE a.owner = p_merchant AND a.mode = p_mode AND a.currency = p_currency AND a.code = 'available'
    FOR NO KEY UPDATE;
    RETURN (SELECT 9007199254740991 - sum(CASE a.code WHEN 'debt' THEN -a.balance ELSE a.balance END)
            FROM ledger_accounts a WHERE a.owner = p_merchant AND a.mode = p_mode AND a.currency = p_currency);
END $$;
CREATE FUNCTION public.limits_are_valid(p_limits jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT
    AS $_$
BEGIN
    RETURN (
        SELECT p_limits ?& '{limits,recipients,expires_at}'
           AND p_limits - '{limits,recipients,expires_at}'::text[] = '{}' AND jsonb_typeof(p_limits -> 'limits') = 'array'
           AND jsonb_typeof(p_limits -> 'recipients') IN ('array', 'null')
           AND jsonb_typeof(p_limits -> 'expires_at') IN ('string', 'null')
           AND p_limits <> '{"limits": [], "recipients": null, "expires_at": null}'
           AND (SELECT count(*) = count(DISTINCT (e -> 'kind', e -> 'currency')) FROM jsonb_array_elements(p_limits -> 'limits') e)
           AND NOT EXISTS (
               SELECT FROM jsonb_array_elements(p_limits -> 'limits') e
               WHERE NOT coalesce(
                   e ->> 'kind' IN ('withdrawals', 'refunds', 'balance_payments', 'conversions', 'fulfillments')
                   AND e ->> 'currency' ~ '^[A-Z0-9]{2,12}$'
                   AND coalesce((e ->> 'per_transaction_minor')::bigint, 1) BETWEEN 1 AND 9007199254740991
                   AND coalesce((e ->> 'per_day_minor')::bigint, 1) BETWEEN 1 AND 9007199254740991
                   AND coalesce((e ->> 'per_month_minor')::bigint, 1) BETWEEN 1 AND 9007199254740991, false))
    );
END $_$;
CREATE FUNCTION public.limits_give_back() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE limit_uses SET given_back_minor = amount_minor WHERE (merchant_id, source_id) = (NEW.merchant_id, NEW.id);
    RETURN NULL;
END $$;
CREATE FUNCTION public.limits_give_back_released() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE limit_uses SET given_back_minor = least(amount_minor, given_back_minor + NEW.released - OLD.released)
    WHERE (merchant_id, source_id) = (NEW.merchant_id, NEW.source_id);
    RETURN NULL;
END $$;
CREATE FUNCTION public.limits_lock(p_merchant uuid, p_mode text, p_spender text) RETURNS void
    LANGUAGE sql
    AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(format('limits %s %s %s', p_merchant, p_mode, p_spender), 0))
$$;
CREATE FUNCTION public.limits_of_credential(p_credential uuid) RETURNS TABLE(merchant_id uuid, mode text, spender text, limits jsonb, is_counted boolean)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT g.merchant_id, g.mode, g.client_id, g.limits, g.limits IS NOT NULL OR EXISTS (
               SELECT FROM oauth_grants o
               WHERE (o.merchant_id, o.mode, o.client_id) = (g.merchant_id, g.mode, g.client_id) AND o.limits IS NOT NULL)
    FROM oauth_grants g WHERE g.id = p_credential
    UNION ALL
    SELECT k.merchant_id, k.mode, k.id::text, k.limits, k.limits IS NOT NULL FROM api_keys k WHERE k.id = p_credential
$$;
CREATE FUNCTION public.limits_replace(p_credential uuid, p_limits jsonb) RETURNS void
    LANGUAGE sql
    AS $$
    UPDATE oauth_grants SET limits = p_limits WHERE id = p_credential;
    UPDATE api_keys SET limits = p_limits WHERE id = p_credential;
$$;
CREATE FUNCTION public.limits_require_use() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    c record;
    kinds text[] := ARRAY[TG_ARGV[0]];
    made jsonb;
    code text;
    amount bigint;
BEGIN
    SELECT * INTO c FROM limits_of_credential(NEW.credential_id);
    IF NOT FOUND OR (c.merchant_id, c.mode) <> (NEW.merchant_id, NEW.mode) THEN
        RAISE EXCEPTION 'a connection or key asks for what is of its merchant and mode'
            USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'limits_own_credential';
    END IF;
    IF NOT c.is_counted THEN
        RETURN NULL;
    END IF;
    made := to_jsonb(NEW);
    code := made ->> TG_ARGV[1];
    amount := (SELECT sum((made ->> name)::bigint) FROM unnest(string_to_array(TG_ARGV[2], ' ')) name);
    IF TG_ARGV[0] = 'refunds' AND EXISTS (
        SELECT FROM outgoing_transfers o WHERE o.id = NEW.id AND o.receiver IS DISTINCT FROM o.payer_account) THEN
        kinds := kinds || 'withdrawals'::text;
    END IF;
    IF c.limits IS NULL THEN
        INSERT INTO limit_uses (source_id, kind, merchant_id, mode, spender, credential_id, currency, amount_minor, used_at)
        SELECT NEW.id, k, c.merchant_id, c.mode, c.spender, NEW.credential_id, code, amount,
               time_of_environment(c.merchant_id, c.mode, NEW.created_at)
        FROM unnest(kinds) k ON CONFLICT (merchant_id, source_id, kind) DO NOTHING;
    ELSIF EXISTS (
        SELECT FROM unnest(kinds) k
        WHERE NOT EXISTS (SELECT FROM limit_uses u
                          WHERE (u.merchant_id, u.source_id, u.kind, u.spender, u.currency)
                                = (c.merchant_id, NEW.id, k, c.spender, code)
                            AND u.amount_minor >= amount)) THEN
        RAISE EXCEPTION 'what a limited connection or key asks for counts towards its limits'
            USING ERRCODE = 'serialization_failure', TABLE = TG_TABLE_NAME, CONSTRAINT = 'limits_used';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.limits_spend(p_credential uuid, p_kind text, p_source uuid, p_currency text, p_amount bigint, p_rail text, p_account text, p_now timestamp with time zone) RETURNS TABLE(reason text, period text, limit_minor bigint, remaining_minor bigint, resets_at timestamp with time zone)
    LANGUAGE plpgsql ROWS 1
    AS $$
DECLARE
    c record;
    bound record;
    entry jsonb;
    spent bigint;
    present timestamptz;
BEGIN
    SELECT * INTO STRICT c FROM limits_of_credential(p_credential);
    PERFORM limits_lock(c.merchant_id, c.mode, c.spender);
    SELECT * INTO STRICT c FROM limits_of_credential(p_credential);
    IF c.limits IS NULL THEN
        RETURN;
    END IF;
    present := time_of_environment(c.merchant_id, c.mode, p_now);
    SELECT e INTO entry FROM jsonb_array_elements(c.limits -> 'limits') e
    WHERE (e ->> 'kind', e ->> 'currency') = (p_kind, p_currency);
    reason := CASE
        WHEN (c.limits ->> 'expires_at')::timestamptz <= present THEN 'expired'
        WHEN p_kind = 'withdrawals' AND c.limits -> 'recipients' <> 'null' AND NOT EXISTS (
            SELECT FROM withdrawal_recipients r
            WHERE (r.merchant_id, r.mode, r.rail, r.account) = (c.merchant_id, c.mode, p_rail, p_account)
              AND c.limits -> 'recipients' ? r.id::text) THEN 'recipient'
        WHEN entry IS NULL AND c.limits @> jsonb_build_object('limits', jsonb_build_array(jsonb_build_object('kind', p_kind)))
            THEN 'currency'
    END;
    IF reason IS NOT NULL THEN
        RETURN QUERY SELECT reason, 'transaction', 0::bigint, 0::bigint, NULL::timestamptz;
        RETURN;
    END IF;
    IF p_amount > (entry ->> 'per_transaction_minor')::bigint THEN
        RETURN QUERY SELECT 'amount', 'transaction', (entry ->> 'per_transaction_minor')::bigint,
                            (entry ->> 'per_transaction_minor')::bigint, NULL::timestamptz;
        RETURN;
    END IF;
    FOR bound IN
        SELECT * FROM (VALUES ('day', (entry ->> 'per_day_minor')::bigint, interval '24 hours'),
                              ('month', (entry ->> 'per_month_minor')::bigint, interval '30 days')) b (period, most, span)
        WHERE b.most IS NOT NULL
    LOOP
        SELECT coalesce(sum(u.amount_minor - u.given_back_minor), 0) INTO spent FROM limit_uses u
        WHERE (u.merchant_id, u.mode, u.spender, u.kind, u.currency)
              = (c.merchant_id, c.mode, c.spender, p_kind, p_currency) AND u.used_at > present - bound.span;
        IF spent + p_amount > bound.most THEN
            -- When as much has left the window as this needs; never for more than the limit itself.
            RETURN QUERY SELECT 'amount', bound.period, bound.most, greatest(bound.most - spent, 0), (
                SELECT min(w.used_at) + bound.span FROM (
                    SELECT u.used_at, sum(u.amount_minor - u.given_back_minor) OVER (ORDER BY u.used_at) AS freed
                    FROM limit_uses u
                    WHERE (u.merchant_id, u.mode, u.spender, u.kind, u.currency)
                          = (c.merchant_id, c.mode, c.spender, p_kind, p_currency) AND u.used_at > present - bound.span) w
                WHERE spent - w.freed + p_amount <= bound.most);
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO limit_uses (source_id, kind, merchant_id, mode, spender, credential_id, currency, amount_minor, used_at)
    VALUES (p_source, p_kind, c.merchant_id, c.mode, c.spender, p_credential, p_currency, p_amount, present);
END $$;
CREATE FUNCTION public.line_items_total(items jsonb) RETURNS numeric
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
    RETURN (
        SELECT coalesce(sum((item ->> 'quantity')::numeric * (item ->> 'unit_amount_minor')::numeric), 0)
        FROM jsonb_array_elements(items) item
    );
END $$;
CREATE FUNCTION public.members_begin_to_decide() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.decides_since := now();
    RETURN NEW;
END $$;
CREATE FUNCTION public.members_keep_owner() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM merchants WHERE id = OLD.merchant_id AND closed_at IS NULL FOR NO KEY UPDATE;
    IF FOUND AND NOT EXISTS (
        SELECT FROM members WHERE merchant_id = OLD.merchant_id AND role = 'owner' AND removed_at IS NULL) THEN
        RAISE EXCEPTION 'a merchant has an owner' USING ERRCODE = 'check_violation', CONSTRAINT = 'members_owner';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.oauth_client_for_exchange(p_client_id text) RETURNS TABLE(id text, auth_epoch integer, grant_epoch integer, scope_mask integer)
    LANGUAGE plpgsql ROWS 1
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(p_client_id, 0));
    RETURN QUERY
        SELECT c.id, c.auth_epoch, c.grant_epoch, c.scope_mask
        FROM oauth_clients c LEFT JOIN merchants o ON o.id = c.merchant_id
        WHERE c.id = p_client_id AND c.status = 'enabled' AND c.suspended_at IS NULL AND o.suspended_at IS NULL;
END
$$;
CREATE FUNCTION public.oauth_refresh_retries_end(p_token_hash bytea, p_grant_id uuid, p_now timestamp with time zone, p_horizon interval) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE oauth_access_tokens SET retryable_until = NULL
    WHERE token_hash = p_token_hash AND expires_at > p_now AND expires_at <= p_now + p_horizon AND retryable_until IS NOT NULL;
    DELETE FROM oauth_refresh_retries WHERE grant_id = p_grant_id AND token_hash = p_token_hash;
END $$;
CREATE FUNCTION public.operator_actions_require_kind() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM operator_action_kinds k
        WHERE k.action = NEW.action AND coalesce(k.of_merchant = (NEW.merchant_id IS NOT NULL), true)
          AND (NEW.reason IS NOT NULL OR NOT k.needs_reason)
    ) THEN
        RAISE EXCEPTION 'an action of operators is of a known kind, with the merchant and the reason that it needs'
            USING ERRCODE = 'check_violation', TABLE = 'operator_actions', CONSTRAINT = 'operator_actions_allowed';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.operator_approvals_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF OLD.used_at IS NOT NULL OR NEW.used_at IS NULL
       OR (OLD.id, OLD.kind, OLD.subject_id, OLD.terms, OLD.operator, OLD.operator_key, OLD.reason, OLD.single_operator,
           OLD.given_at)
          IS DISTINCT FROM
          (NEW.id, NEW.kind, NEW.subject_id, NEW.terms, NEW.operator, NEW.operator_key, NEW.reason, NEW.single_operator,
           NEW.given_at) THEN
        RAISE EXCEPTION 'an approval is used once, and stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.operator_approvals_suffice(p_kind text, p_subject_id uuid) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(bool_or(a.single_operator), false) OR count(DISTINCT a.operator_key) >= 2
    FROM operator_approvals a
    WHERE a.kind = p_kind AND a.subject_id = p_subject_id AND a.used_at IS NOT NULL
$$;
CREATE FUNCTION public.outgoing_refuse_unreleased() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM outgoing_transfers o
                   WHERE o.id = NEW.id AND o.review IN ('not_required', 'approved', 'before_reviews')
                     AND (o.released_at IS NOT NULL OR (o.kind = 'withdrawal' AND NEW.status = 'approved'))) THEN
        RAISE EXCEPTION 'money does not leave before it is released' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.outgoing_refuse_unsaved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    present timestamptz;
    off_at timestamptz;
BEGIN
    SELECT coalesce(s.turns_off_at, 'infinity') INTO off_at FROM withdrawal_settings s
    WHERE s.merchant_id = NEW.merchant_id AND s.mode = NEW.mode AND s.saved_recipients_only;
    IF NOT FOUND OR NEW.receiver = NEW.payer_account THEN
        RETURN NEW;
    END IF;
    present := time_of_environment(NEW.merchant_id, NEW.mode, NEW.created_at);
    IF present < off_at AND NOT EXISTS (
        SELECT FROM withdrawal_recipients r
        WHERE (r.merchant_id, r.mode, r.rail, r.account) = (NEW.merchant_id, NEW.mode, NEW.rail, NEW.receiver)
          AND r.active_at <= present) THEN
        RAISE EXCEPTION 'money leaves only to saved recipients' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.outgoing_transfer_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM outgoing_transfers o
        WHERE o.id = p_id AND o.kind = p_kind AND (o.mode, o.currency, 'rail:' || o.rail) = (p_mode, p_currency, p_code)
          AND o.released_at IS NOT NULL AND o.closed_at IS NULL
          AND ((p_type = o.kind AND p_amount = o.amount_minor) OR (p_type = 'network_fee' AND o.kind = 'withdrawal')));
END $$;
CREATE FUNCTION public.outgoing_transfers_let_leave() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM value_let_leave(NEW.kind, NEW.id, NEW.merchant_id, NEW.mode, NEW.currency, true);
    RETURN NULL;
END $$;
CREATE TABLE public.outgoing_transfers (
    id uuid NOT NULL,
    kind text NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    rail text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    receiver text NOT NULL,
    receiver_name text,
    payer_account text,
    method_id text,
    limit_day date,
    counted_minor bigint,
    review text NOT NULL,
    approvals_needed integer NOT NULL,
    approvals text[] DEFAULT '{}'::text[] NOT NULL,
    approvals_by_command integer DEFAULT 0 NOT NULL,
    reviewed_at timestamp with time zone,
    review_note text,
    created_at timestamp with time zone NOT NULL,
    released_at timestamp with time zone,
    closed_at timestamp with time zone,
    second_operator_above_minor bigint,
    single_operator boolean DEFAULT false NOT NULL,
    asked_by uuid,
    second_member_required boolean DEFAULT false NOT NULL,
    second_member_id uuid,
    second_member_at timestamp with time zone,
    CONSTRAINT outgoing_transfers_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT outgoing_transfers_approvals_needed_check CHECK (((approvals_needed >= 0) AND (approvals_needed <= 2))),
    CONSTRAINT outgoing_transfers_approved CHECK (((review <> 'approved'::text) OR (cardinality(approvals) >=
CASE
    WHEN single_operator THEN LEAST(approvals_needed, 1)
    ELSE approvals_needed
END))),
    CONSTRAINT outgoing_transfers_check CHECK (((mode = 'test'::text) OR (rail <> 'sandbox'::text))),
    CONSTRAINT outgoing_transfers_check1 CHECK (((approvals_by_command >= 0) AND (approvals_by_command <= cardinality(approvals)))),
    CONSTRAINT outgoing_transfers_check2 CHECK ((((method_id IS NULL) = (limit_day IS NULL)) AND ((method_id IS NULL) = (counted_minor IS NULL)))),
    CONSTRAINT outgoing_transfers_check3 CHECK (((approvals_needed = 0) OR (review <> 'not_required'::text))),
    CONSTRAINT outgoing_transfers_check4 CHECK (((approvals_needed > 0) OR (review <> ALL (ARRAY['required'::text, 'approved'::text])))),
    CONSTRAINT outgoing_transfers_counted_minor_check CHECK ((counted_minor > 0)),
    CONSTRAINT outgoing_transfers_kind_check CHECK ((kind = ANY (ARRAY['withdrawal'::text, 'refund'::text]))),
    CONSTRAINT outgoing_transfers_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT outgoing_transfers_one_by_command CHECK (((approvals_needed < 2) OR (approvals_by_command <= 1))),
    CONSTRAINT outgoing_transfers_released CHECK (((released_at IS NULL) OR (review = ANY (ARRAY['not_required'::text, 'approved'::text, 'before_reviews'::text])))),
    CONSTRAINT outgoing_transfers_review_check CHECK ((review = ANY (ARRAY['not_required'::text, 'required'::text, 'approved'::text, 'rejected'::text, 'before_reviews'::text]))),
    CONSTRAINT outgoing_transfers_reviewed CHECK (((review <> 'not_required'::text) OR (((kind = 'refund'::text) AND (receiver = payer_account)) IS TRUE) OR ((kind = 'withdrawal'::text) AND (mode = 'test'::text)))),
    CONSTRAINT outgoing_transfers_second_member CHECK (((NOT second_member_required) OR (released_at IS NULL) OR (second_member_at IS NOT NULL))),
    CONSTRAINT outgoing_transfers_second_member_decided CHECK (((second_member_id IS NULL) = (second_member_at IS NULL))),
    CONSTRAINT outgoing_transfers_second_operator_above_minor_check CHECK ((second_operator_above_minor >= 0))
)
WITH (fillfactor='85');
COMMENT ON COLUMN public.outgoing_transfers.asked_by IS 'the user who asked, made the key, or gave the connection; null: nobody who is known';
CREATE FUNCTION public.outgoing_transfers_needed(p_transfer public.outgoing_transfers, p_above_minor bigint, p_at timestamp with time zone) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN p_transfer.mode = 'live' AND p_transfer.approvals_needed = 1
             AND least(p_transfer.second_operator_above_minor, p_above_minor) < (
                 SELECT coalesce(sum(coalesce(o.counted_minor, o.amount_minor)), 0) FROM outgoing_transfers o
                 WHERE o.merchant_id = p_transfer.merchant_id AND o.currency = p_transfer.currency AND o.mode = 'live'
                   AND o.review = 'required' AND o.closed_at IS NULL
             ) + (
                 SELECT coalesce(sum(coalesce(o.counted_minor, o.amount_minor)), 0) FROM outgoing_transfers o
                 WHERE o.merchant_id = p_transfer.merchant_id AND o.currency = p_transfer.currency AND o.mode = 'live'
                   AND o.review = 'approved' AND o.closed_at IS NULL AND o.id <> p_transfer.id
                   AND greatest(o.created_at, o.reviewed_at) > p_at - interval '24 hours'
             ) THEN 2
        ELSE p_transfer.approvals_needed
    END
$$;
CREATE FUNCTION public.outgoing_transfers_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
    IF OLD.review <> NEW.review THEN
        PERFORM state_transitions_require('outgoing_transfers', OLD.review, NEW.review);
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
CREATE FUNCTION public.outgoing_transfers_require_member() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_above bigint;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.asked_by, NEW.second_member_required) IS DISTINCT FROM (OLD.asked_by, OLD.second_member_required)
           OR (NEW.second_member_at IS DISTINCT FROM OLD.second_member_at AND (
               OLD.second_member_at IS NOT NULL OR OLD.closed_at IS NOT NULL OR NOT OLD.second_member_required
               OR NEW.second_member_id IS NOT DISTINCT FROM NEW.asked_by
               OR NOT counts_as_second_member(NEW.merchant_id, NEW.second_member_id, NEW.second_member_at))) THEN
            RAISE EXCEPTION 'another member approves a transfer, once' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    NEW.second_member_required := false;
    NEW.second_member_id := NULL;
    NEW.second_member_at := NULL;
    IF NEW.receiver IS NOT DISTINCT FROM NEW.payer_account THEN
        RETURN NEW;
    END IF;
    PERFORM FROM second_member_rules r WHERE r.merchant_id = NEW.merchant_id ORDER BY r.currency
    FOR NO KEY UPDATE;  -- of two at once, the second one counts the first
    SELECT coalesce(max(r.above_minor) FILTER (WHERE r.currency = NEW.currency), -1) INTO v_above
    FROM second_member_rules r WHERE r.merchant_id = NEW.merchant_id AND r.above_minor IS NOT NULL
    HAVING count(*) > 0;
    IF FOUND THEN
        NEW.second_member_required := v_above < coalesce(NEW.counted_minor, NEW.amount_minor) + (
            SELECT coalesce(sum(coalesce(o.counted_minor, o.amount_minor)), 0) FROM outgoing_transfers o
            WHERE o.merchant_id = NEW.merchant_id AND o.mode = NEW.mode AND o.currency = NEW.currency
              AND NOT o.second_member_required AND o.closed_at IS NULL AND o.receiver IS DISTINCT FROM o.payer_account
              AND o.created_at > NEW.created_at - interval '24 hours');
        NEW.asked_by := coalesce(NEW.asked_by, first_owner(NEW.merchant_id));
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.outgoing_transfers_require_operators() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.second_operator_above_minor IS DISTINCT FROM OLD.second_operator_above_minor
       OR (OLD.single_operator AND NOT NEW.single_operator) THEN
        RAISE EXCEPTION 'an outgoing transfer stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.mode = 'live' AND NEW.review = 'approved' AND OLD.review <> 'approved'
       AND outgoing_transfers_needed(NEW, NULL, coalesce(NEW.reviewed_at, now())) > 1
       AND NOT (NEW.single_operator AND cardinality(NEW.approvals) > NEW.approvals_by_command)
       AND ((SELECT count(DISTINCT lower(operator)) FROM unnest(NEW.approvals) operator) < 2
            OR cardinality(NEW.approvals) - NEW.approvals_by_command < 2) THEN
        RAISE EXCEPTION 'two operators approve this transfer on their pages'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_two_operators';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.outgoing_transfers_wait() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF outgoing_transfers_wait_until(NEW, NEW.released_at) IS NOT NULL THEN
        RAISE EXCEPTION 'after a change of an address, money to new destinations waits'
            USING ERRCODE = 'serialization_failure', TABLE = TG_TABLE_NAME, CONSTRAINT = 'address_changes_wait';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.outgoing_transfers_wait_until(p_transfer public.outgoing_transfers, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT destinations_wait_until(p_transfer.merchant_id, p_transfer.mode, p_transfer.rail, p_transfer.receiver,
                                   p_transfer.created_at, p_now)
    WHERE p_transfer.receiver IS DISTINCT FROM p_transfer.payer_account
$$;
CREATE FUNCTION public.partition_start(p_step interval, p_moment timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE STRICT
    AS $$
    SELECT CASE WHEN p_step = interval '1 month' THEN date_trunc('month', p_moment AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
                ELSE date_bin(p_step, p_moment, timestamptz '2000-01-01 00:00:00+00') END
$$;
CREATE FUNCTION public.partitions_drop(p_table text, p_ended_by timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '200ms'
    AS $_$
DECLARE
    v_table record;
    v_name text;
    v_dropped int := 0;
BEGIN
    SELECT * INTO STRICT v_table FROM partitioned_tables WHERE name = p_table;
    IF NOT pg_try_advisory_xact_lock(hashtextextended(p_table || ' are dropped', 0)) THEN
        RETURN 0;
    END IF;
    -- By name, so that one that an earlier version detached and did not come to drop is found as well.
    FOR v_name IN
        SELECT c.relname FROM pg_class c
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname ~ ('^' || p_table || '_[0-9]{6,10}$')
          AND to_timestamp(right(c.relname, -length(p_table) - 1), v_table.suffix) + v_table.step <= p_ended_by
        ORDER BY c.relname
    LOOP
        EXECUTE format('DROP TABLE %I', v_name);
        v_dropped := v_dropped + 1;
    END LOOP;
    RETURN v_dropped;
END $_$;
CREATE FUNCTION public.partitions_make(p_now timestamp with time zone, OUT covered_from timestamp with time zone, OUT covered_until timestamp with time zone) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
DECLARE
    v_table record;
    v_start timestamptz;
    v_end timestamptz;
    v_name text;
    v_open boolean;
BEGIN
    FOR v_table IN SELECT * FROM partitioned_tables LOOP
        v_end := partition_start(v_table.step, p_now);
        covered_from := greatest(covered_from, v_end);
        FOR v_slot IN 0..v_table.ahead LOOP
            v_start := v_end;
            v_end := v_start + v_table.step;
            v_name := v_table.name || '_' || to_char(v_start, v_table.suffix);
            CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(v_name));
            -- What ATTACH takes anyway. An advisory lock would not do: waiting for one, we do not learn of new tables.
            EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', v_table.name);
            CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(v_name));
            v_open := v_table.open_start AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = v_table.name::regclass);
            BEGIN
                IF to_regclass(v_name) IS NULL THEN
                    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (fillfactor = %s)', v_name, v_table.name,
                                   v_table.fill);
                END IF;
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)', v_table.name, v_name,
                               CASE WHEN v_open THEN 'MINVALUE' WHEN v_table.by_id THEN quote_literal(webhook_first_id(v_start))
                                    ELSE quote_literal(v_start) END,
                               CASE WHEN v_table.by_id THEN webhook_first_id(v_end)::text ELSE v_end::text END);
            EXCEPTION WHEN invalid_object_definition THEN
                NULL;  -- the partition with the open start takes these already
            END;
        END LOOP;
        covered_until := least(covered_until, v_end);
    END LOOP;
END $$;
CREATE FUNCTION public.payment_links_count_payment(p_merchant uuid, p_mode text, p_id uuid, p_transaction_id uuid, p_amount bigint, p_at timestamp with time zone, p_in_time boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE payment_links
    SET payments_count = least(payments_count + 1, max_payments), amount_paid_minor = amount_paid_minor + p_amount,
        latest_transaction_id = p_transaction_id, updated_at = p_at, version = version + 1,
        status = CASE WHEN p_in_time AND status IN ('active', 'expired') AND payments_count + 1 = max_payments
                      THEN 'completed' ELSE status END,
        completed_at = CASE WHEN p_in_time AND status IN ('active', 'expired') AND payments_count + 1 = max_payments
                            THEN p_at ELSE completed_at END
    WHERE merchant_id = p_merchant AND mode = p_mode AND id = p_id;
END $$;
CREATE FUNCTION public.payment_reversal_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_type = 'payment_reversal' AND EXISTS (
        SELECT FROM payment_reversals v
        WHERE v.id = p_id AND (v.mode, v.currency, 'rail:' || v.rail) = (p_mode, p_currency, p_code)
          AND p_amount = v.unapplied_minor + v.lost_minor);
END $$;
CREATE FUNCTION public.payment_status_at(p_status text, p_received bigint, p_link_status text, p_link_expires_at timestamp with time zone, p_at timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN p_status = 'pending' AND p_received = 0
                     AND status_at(p_link_status, 'active', p_link_expires_at, p_at) IN ('completed', 'expired')
                THEN 'expired' ELSE p_status END
$$;
CREATE FUNCTION public.payouts_are_paused() RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (SELECT FROM payout_pauses WHERE resumed_at IS NULL)
        OR NOT EXISTS (SELECT FROM database_identity WHERE identity = current_database_identity())
$$;
CREATE FUNCTION public.projects_keep_approved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.pending_changes IS NULL
       AND NEW.name = coalesce(OLD.pending_changes ->> 'name', OLD.name)
       AND NEW.website_url IS NOT DISTINCT FROM (CASE WHEN OLD.pending_changes ? 'website_url'
               THEN OLD.pending_changes ->> 'website_url' ELSE OLD.website_url END)
       AND NEW.description IS NOT DISTINCT FROM (CASE WHEN OLD.pending_changes ? 'description'
               THEN OLD.pending_changes ->> 'description' ELSE OLD.description END)
       OR EXISTS (SELECT FROM merchants WHERE id = OLD.merchant_id AND closed_at IS NOT NULL)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'an approved live project changes only by approval' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE FUNCTION public.proposals_cancel_of_grant() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE proposals SET status = 'canceled', ended_at = least(expires_at, now())
    WHERE grant_id = NEW.id AND status = 'waiting';
    RETURN NULL;
END $$;
CREATE FUNCTION public.proposals_cancel_of_suspended() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_merchant uuid := CASE TG_TABLE_NAME WHEN 'merchants' THEN NEW.id::text END;
    v_client text := CASE TG_TABLE_NAME WHEN 'oauth_clients' THEN NEW.id::text END;
BEGIN
    UPDATE proposals p SET status = 'canceled', ended_at = NEW.suspended_at
    WHERE p.status = 'waiting' AND (p.merchant_id = v_merchant OR p.grant_id IN (
        SELECT g.id FROM oauth_clients c JOIN oauth_grants g ON g.client_id = c.id
        WHERE c.merchant_id = v_merchant OR c.id = v_client));
    RETURN NULL;
END $$;
CREATE TABLE public.proposals (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    grant_id uuid,
    api_key_id uuid,
    operation text NOT NULL,
    body jsonb NOT NULL,
    amount_minor bigint,
    currency text NOT NULL,
    status text DEFAULT 'waiting'::text NOT NULL,
    result_id uuid,
    error jsonb,
    decided_by uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT proposals_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT proposals_decided CHECK (((status = ANY (ARRAY['approved'::text, 'rejected'::text, 'failed'::text])) = (decided_by IS NOT NULL))),
    CONSTRAINT proposals_ended CHECK (((status = 'waiting'::text) = (ended_at IS NULL))),
    CONSTRAINT proposals_error CHECK (((status = 'failed'::text) = (error IS NOT NULL))),
    CONSTRAINT proposals_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT proposals_operation_check CHECK ((operation = ANY (ARRAY['withdrawals'::text, 'refunds'::text, 'balance_payments'::text, 'conversions'::text, 'fulfillments'::text]))),
    CONSTRAINT proposals_proposer CHECK ((num_nonnulls(grant_id, api_key_id) = 1)),
    CONSTRAINT proposals_result CHECK (((status = 'approved'::text) = (result_id IS NOT NULL))),
    CONSTRAINT proposals_span CHECK ((expires_at > created_at)),
    CONSTRAINT proposals_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'approved'::text, 'rejected'::text, 'canceled'::text, 'expired'::text, 'failed'::text])))
);
COMMENT ON COLUMN public.proposals.amount_minor IS 'null: all that is left of a payment';
COMMENT ON COLUMN public.proposals.result_id IS 'the object that the operation created';
CREATE FUNCTION public.proposals_decider(p public.proposals) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT u.email FROM users u WHERE u.id = p.decided_by
$$;
CREATE FUNCTION public.proposals_enforce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (NEW.id, NEW.merchant_id, NEW.mode, NEW.operation, NEW.body, NEW.currency, NEW.created_at, NEW.expires_at)
        IS DISTINCT FROM
       (OLD.id, OLD.merchant_id, OLD.mode, OLD.operation, OLD.body, OLD.currency, OLD.created_at, OLD.expires_at)
       OR (NEW.grant_id, NEW.api_key_id, NEW.amount_minor) IS DISTINCT FROM (OLD.grant_id, OLD.api_key_id, OLD.amount_minor)
       OR OLD.status <> 'waiting' THEN
        RAISE EXCEPTION 'a proposal is decided once, as it was proposed' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'approved' AND proposals_status_at(OLD, NEW.ended_at) <> 'waiting' THEN
        RAISE EXCEPTION 'the proposal has ended' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.proposals_proposer_name(p public.proposals) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce((SELECT k.name FROM api_keys k WHERE k.id = p.api_key_id),
                    (SELECT c.name FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id WHERE g.id = p.grant_id))
$$;
CREATE FUNCTION public.proposals_require_approval() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT FROM oauth_grants g WHERE g.id = NEW.credential_id AND g.proposals_only)
       OR EXISTS (SELECT FROM api_keys k WHERE k.id = NEW.credential_id AND k.proposals_only) THEN
        RAISE EXCEPTION 'this connection or key may only propose'
            USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'proposals_approved';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.proposals_require_proposer() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM oauth_grants g WHERE (g.id, g.merchant_id, g.mode) = (NEW.grant_id, NEW.merchant_id, NEW.mode)
        UNION ALL
        SELECT FROM api_keys k WHERE (k.id, k.merchant_id, k.mode) = (NEW.api_key_id, NEW.merchant_id, NEW.mode)
    ) OR proposals_status_at(NEW, NEW.created_at) <> 'waiting' THEN
        RAISE EXCEPTION 'a connection or key of the merchant proposes what it may do' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.proposals_scope_bit(p_operation text) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT 1 << bit FROM scope_bits WHERE scope = CASE p_operation
        WHEN 'refunds' THEN 'payments:write' ELSE replace(p_operation, '_', '-') || ':write' END
$$;
CREATE FUNCTION public.proposals_scopes(p_grant uuid, p_api_key uuid, p_at timestamp with time zone) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN p_grant IS NULL
        THEN (SELECT k.scope_mask FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
              WHERE k.id = p_api_key AND k.revoked_at IS NULL AND m.suspended_at IS NULL)
        ELSE (SELECT g.scope_mask & c.scope_mask
              FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id JOIN merchants m ON m.id = g.merchant_id
              LEFT JOIN merchants o ON o.id = c.merchant_id
              WHERE g.id = p_grant AND g.revoked_at IS NULL AND g.expires_at > p_at AND g.grant_epoch = c.grant_epoch
                AND c.status = 'enabled' AND c.suspended_at IS NULL AND o.suspended_at IS NULL AND m.suspended_at IS NULL)
        END
$$;
CREATE FUNCTION public.proposals_status_at(p public.proposals, p_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN p.status <> 'waiting' THEN p.status
        WHEN p.expires_at <= p_at THEN 'expired'
        WHEN coalesce(proposals_scopes(p.grant_id, p.api_key_id, p_at), 0) & proposals_scope_bit(p.operation) = 0 THEN 'canceled'
        ELSE 'waiting' END
$$;
CREATE FUNCTION public.provider_balance_transaction_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM provider_balance_transactions b
        WHERE b.id = p_id AND b.settled_at IS NOT NULL AND (b.mode, b.currency, 'rail:' || b.rail) = (p_mode, p_currency, p_code)
          AND p_amount = CASE
              WHEN p_type = 'provider_fee' THEN b.fee_minor - CASE WHEN b.kind = 'fee' THEN b.amount_minor ELSE 0 END
              WHEN p_type = 'provider_payout' AND b.kind = 'payout' THEN -b.amount_minor END);
END $$;
CREATE FUNCTION public.quarter_hour(p_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT date_bin('15 minutes', p_at, '2000-01-01Z'::timestamptz) $$;
CREATE FUNCTION public.rail_float_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text, p_amount numeric) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN p_type = 'rail_float' AND EXISTS (
        SELECT FROM rail_floats f
        WHERE f.id = p_id AND (f.mode, f.currency, 'rail:' || f.rail, -f.amount_minor) = (p_mode, p_currency, p_code, p_amount));
END $$;
CREATE TABLE public.refunds (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    transaction_id uuid NOT NULL,
    rail text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    unapplied_minor bigint NOT NULL,
    hold_id uuid,
    status text NOT NULL,
    reason text NOT NULL,
    receiver text,
    failure_code text,
    provider_reference text,
    external_id text,
    metadata jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    next_look_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    network_fee_minor bigint DEFAULT 0 NOT NULL,
    credential_id uuid,
    CONSTRAINT refunds_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT refunds_check CHECK (((unapplied_minor >= 0) AND (unapplied_minor <= amount_minor))),
    CONSTRAINT refunds_check1 CHECK (((hold_id IS NULL) = (unapplied_minor = amount_minor))),
    CONSTRAINT refunds_check2 CHECK (((status = 'failed'::text) = (failure_code IS NOT NULL))),
    CONSTRAINT refunds_looked_after CHECK (((status = 'pending'::text) OR (next_look_at IS NULL))),
    CONSTRAINT refunds_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT refunds_reason_check CHECK ((reason = ANY (ARRAY['duplicate'::text, 'fraudulent'::text, 'customer_request'::text, 'service_issue'::text, 'other'::text]))),
    CONSTRAINT refunds_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text])))
)
WITH (fillfactor='85');
CREATE FUNCTION public.refund_exchange(r public.refunds) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT json_build_object('from_currency', c.from_currency, 'from_amount_minor', c.from_amount_minor,
                             'to_currency', c.to_currency, 'to_amount_minor', c.to_amount_minor,
                             'rate', trim_scale(c.rate)::text, 'rate_as_of', c.rate_as_of, 'fee_minor', c.fee_minor)
    FROM conversions c
    WHERE c.transaction_id = r.transaction_id AND c.reversal_id = r.id AND c.to_currency = r.currency LIMIT 1
$$;
CREATE FUNCTION public.refunds_refuse_too_many() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (SELECT count(*) FROM refunds WHERE transaction_id = NEW.transaction_id AND status <> 'failed') >= 20
       AND NEW.amount_minor IS DISTINCT FROM (
           SELECT received_minor - refunded_minor - returning_minor - charged_back_minor FROM transactions
           WHERE id = NEW.transaction_id) THEN
        RAISE EXCEPTION 'the payment % has 20 refunds', NEW.transaction_id
            USING ERRCODE = 'check_violation', TABLE = 'refunds', CONSTRAINT = 'refunds_limit';
    END IF;
    RETURN NEW;
END $$;
CREATE TABLE public.balance_payments (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    client_id text NOT NULL,
    owner_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    captured_minor bigint DEFAULT 0 NOT NULL,
    released_minor bigint DEFAULT 0 NOT NULL,
    refunded_minor bigint DEFAULT 0 NOT NULL,
    refunds integer DEFAULT 0 NOT NULL,
    hold_id uuid,
    status text NOT NULL,
    description text,
    external_id text,
    metadata jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    resolved_at timestamp with time zone,
    credential_id uuid,
    CONSTRAINT balance_payments_amount_minor_check CHECK (((amount_minor >= 1) AND (amount_minor <= '9007199254740991'::bigint))),
    CONSTRAINT balance_payments_captured_minor_check CHECK ((captured_minor >= 0)),
    CONSTRAINT balance_payments_check CHECK (((hold_id IS NULL) = (expires_at IS NULL))),
    CONSTRAINT balance_payments_check1 CHECK ((expires_at > created_at)),
    CONSTRAINT balance_payments_check2 CHECK (((hold_id IS NOT NULL) OR (captured_minor = amount_minor))),
    CONSTRAINT balance_payments_check3 CHECK (((status = 'reserved'::text) = (resolved_at IS NULL))),
    CONSTRAINT balance_payments_check4 CHECK (((captured_minor + released_minor) =
CASE status
    WHEN 'reserved'::text THEN (0)::bigint
    ELSE amount_minor
END)),
    CONSTRAINT balance_payments_check5 CHECK (((status = ANY (ARRAY['captured'::text, 'partially_refunded'::text, 'refunded'::text])) = (captured_minor > 0))),
    CONSTRAINT balance_payments_check6 CHECK (((status = 'partially_refunded'::text) = ((refunded_minor > 0) AND (refunded_minor < captured_minor)))),
    CONSTRAINT balance_payments_check7 CHECK (((status = 'refunded'::text) = ((refunded_minor > 0) AND (refunded_minor = captured_minor)))),
    CONSTRAINT balance_payments_check8 CHECK (((refunds = 0) = (refunded_minor = 0))),
    CONSTRAINT balance_payments_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT balance_payments_refunded_minor_check CHECK ((refunded_minor >= 0)),
    CONSTRAINT balance_payments_refunded_once CHECK ((refunded_minor <= captured_minor)),
    CONSTRAINT balance_payments_refunds_check CHECK ((refunds >= 0)),
    CONSTRAINT balance_payments_released_minor_check CHECK ((released_minor >= 0)),
    CONSTRAINT balance_payments_status_check CHECK ((status = ANY (ARRAY['reserved'::text, 'captured'::text, 'released'::text, 'expired'::text, 'partially_refunded'::text, 'refunded'::text]))),
    CONSTRAINT balance_payments_two_merchants CHECK ((owner_id <> merchant_id))
)
WITH (fillfactor='85');
CREATE FUNCTION public.row_digest(public.balance_payments) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.client_id, $1.owner_id, $1.currency, $1.amount_minor,
                                  $1.hold_id, $1.created_at)))
$_$;
CREATE TABLE public.bank_batches (
    id uuid NOT NULL,
    iban text NOT NULL,
    bic text,
    holder text NOT NULL,
    exported_by text NOT NULL,
    exported_at timestamp with time zone NOT NULL,
    address text,
    CONSTRAINT bank_batches_exported_by_check CHECK ((exported_by <> ''::text))
);
CREATE FUNCTION public.row_digest(public.bank_batches) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.iban, $1.bic, $1.holder, $1.exported_by, $1.exported_at)))
$_$;
CREATE TABLE public.bank_entries (
    id uuid NOT NULL,
    identity bytea NOT NULL,
    first_statement_id uuid NOT NULL,
    side text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    booked_on date NOT NULL,
    is_reversal boolean NOT NULL,
    batch_reference text,
    bank_reference text,
    CONSTRAINT bank_entries_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT bank_entries_identity_check CHECK ((length(identity) = 32)),
    CONSTRAINT bank_entries_side_check CHECK ((side = ANY (ARRAY['credit'::text, 'debit'::text])))
);
CREATE FUNCTION public.row_digest(public.bank_entries) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.identity, $1.first_statement_id, $1.side, $1.currency, $1.amount_minor,
                                  $1.booked_on, $1.is_reversal, $1.batch_reference, $1.bank_reference)))
$_$;
CREATE TABLE public.bank_entry_parts (
    id uuid NOT NULL,
    entry_id uuid NOT NULL,
    nth integer NOT NULL,
    amount_minor bigint NOT NULL,
    reference text,
    end_to_end_id text,
    other_name text,
    other_iban text,
    words text NOT NULL,
    return_reason text,
    outcome text NOT NULL,
    payout_id uuid,
    because text,
    decided_by text,
    decided_because text,
    decided_at timestamp with time zone,
    sent_at timestamp with time zone,
    decisions integer DEFAULT 0 NOT NULL,
    other_bic text,
    other_address jsonb,
    provider_payout_id uuid,
    return_fee_max_minor bigint,
    CONSTRAINT bank_entry_parts_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT bank_entry_parts_check CHECK (((outcome <> ALL (ARRAY['payment'::text, 'payment_return'::text])) OR (reference IS NOT NULL))),
    CONSTRAINT bank_entry_parts_check1 CHECK (((outcome <> 'unmatched'::text) OR ((because IS NOT NULL) AND (decided_at IS NULL)))),
    CONSTRAINT bank_entry_parts_check2 CHECK (((outcome <> 'dismissed'::text) OR (decided_at IS NOT NULL))),
    CONSTRAINT bank_entry_parts_check3 CHECK ((((decided_at IS NULL) = (decided_by IS NULL)) AND ((decided_at IS NULL) = (decided_because IS NULL)))),
    CONSTRAINT bank_entry_parts_decided CHECK (((outcome <> ALL (ARRAY['dismissed'::text, 'fee'::text, 'written_off'::text, 'provider_payout'::text])) OR (decided_at IS NOT NULL))),
    CONSTRAINT bank_entry_parts_outcome_check CHECK ((outcome = ANY (ARRAY['payment'::text, 'payment_return'::text, 'payout'::text, 'payout_return'::text, 'unmatched'::text, 'dismissed'::text, 'fee'::text, 'written_off'::text, 'provider_payout'::text]))),
    CONSTRAINT bank_entry_parts_provider_payout CHECK (((outcome = 'provider_payout'::text) = (provider_payout_id IS NOT NULL))),
    CONSTRAINT bank_entry_parts_return_fee_max_minor_check CHECK ((return_fee_max_minor >= 0))
);
CREATE FUNCTION public.row_digest(public.bank_entry_parts) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.entry_id, $1.nth, $1.amount_minor, $1.end_to_end_id, $1.other_name,
                                  $1.other_iban, $1.words, $1.return_reason))
        || CASE WHEN $1.sent_at IS NULL THEN '' ELSE record_send(ROW($1.sent_at)) END
        || CASE WHEN $1.other_bic IS NULL AND $1.other_address IS NULL THEN ''
                ELSE record_send(ROW($1.other_bic, $1.other_address)) END)
$_$;
CREATE TABLE public.bank_payouts (
    id uuid NOT NULL,
    kind text NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    receiver_iban text NOT NULL,
    receiver_name text NOT NULL,
    words text NOT NULL,
    status text NOT NULL,
    batch_id uuid,
    prepared_at timestamp with time zone NOT NULL,
    debited_at timestamp with time zone,
    ended_because text,
    ended_by text,
    updated_at timestamp with time zone NOT NULL,
    is_export_lost boolean DEFAULT false NOT NULL,
    receiver_bic text,
    receiver_address jsonb,
    CONSTRAINT bank_payouts_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT bank_payouts_check CHECK (((status <> ALL (ARRAY['exported'::text, 'confirmed'::text, 'returned'::text])) OR (batch_id IS NOT NULL) OR (is_export_lost AND (status <> 'exported'::text)))),
    CONSTRAINT bank_payouts_check1 CHECK (((status <> 'prepared'::text) OR (batch_id IS NULL))),
    CONSTRAINT bank_payouts_check2 CHECK (((status <> 'confirmed'::text) OR (debited_at IS NOT NULL))),
    CONSTRAINT bank_payouts_check3 CHECK (((status = ANY (ARRAY['confirmed'::text, 'returned'::text])) OR (debited_at IS NULL))),
    CONSTRAINT bank_payouts_check4 CHECK (((status = ANY (ARRAY['returned'::text, 'refused'::text])) = (ended_because IS NOT NULL))),
    CONSTRAINT bank_payouts_check5 CHECK (((status = 'refused'::text) = (ended_by IS NOT NULL))),
    CONSTRAINT bank_payouts_currency_check CHECK ((currency = 'EUR'::text)),
    CONSTRAINT bank_payouts_kind_check CHECK ((kind = ANY (ARRAY['refund'::text, 'withdrawal'::text]))),
    CONSTRAINT bank_payouts_lost CHECK (((NOT is_export_lost) OR ((batch_id IS NULL) AND (debited_at IS NOT NULL)))),
    CONSTRAINT bank_payouts_mode_check CHECK ((mode = 'live'::text)),
    CONSTRAINT bank_payouts_status_check CHECK ((status = ANY (ARRAY['prepared'::text, 'exported'::text, 'confirmed'::text, 'returned'::text, 'refused'::text])))
);
CREATE FUNCTION public.row_digest(public.bank_payouts) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.kind, $1.merchant_id, $1.mode, $1.currency, $1.amount_minor, $1.receiver_iban,
                                  $1.receiver_name, $1.words, $1.prepared_at))
        || CASE WHEN $1.receiver_bic IS NULL AND $1.receiver_address IS NULL THEN ''
                ELSE record_send(ROW($1.receiver_bic, $1.receiver_address)) END)
$_$;
CREATE TABLE public.bank_statements (
    id uuid NOT NULL,
    iban text NOT NULL,
    statement_id text NOT NULL,
    currency text,
    opening_minor bigint,
    closing_minor bigint,
    first_on date,
    last_on date,
    entries integer NOT NULL,
    digest bytea NOT NULL,
    imported_by text NOT NULL,
    imported_at timestamp with time zone NOT NULL,
    closing_on date,
    CONSTRAINT bank_statements_entries_check CHECK ((entries >= 0)),
    CONSTRAINT bank_statements_imported_by_check CHECK ((imported_by <> ''::text))
);
CREATE FUNCTION public.row_digest(public.bank_statements) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.iban, $1.statement_id, $1.currency, $1.opening_minor, $1.closing_minor,
                                  $1.first_on, $1.last_on, $1.entries, $1.digest, $1.imported_by, $1.imported_at)))
$_$;
CREATE TABLE public.chargebacks (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    fee_minor bigint NOT NULL,
    reason text NOT NULL,
    status text NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    respond_by timestamp with time zone,
    response text DEFAULT 'needed'::text NOT NULL,
    responded_at timestamp with time zone,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL,
    evidence_saved_at timestamp with time zone,
    next_delivery_at timestamp with time zone,
    provider_reference text,
    CONSTRAINT chargebacks_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT chargebacks_check CHECK (((status = 'open'::text) = (closed_at IS NULL))),
    CONSTRAINT chargebacks_check1 CHECK (((response = ANY (ARRAY['submitted'::text, 'accepted'::text])) = (responded_at IS NOT NULL))),
    CONSTRAINT chargebacks_check2 CHECK (((response <> 'submitted'::text) OR (evidence <> '{}'::jsonb))),
    CONSTRAINT chargebacks_check3 CHECK (((next_delivery_at IS NULL) OR ((status = 'open'::text) AND (responded_at IS NOT NULL)))),
    CONSTRAINT chargebacks_evidence CHECK (((jsonb_typeof(evidence) = 'object'::text) AND (octet_length((evidence)::text) <= 300000))),
    CONSTRAINT chargebacks_fee_minor_check CHECK ((fee_minor >= 0)),
    CONSTRAINT chargebacks_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT chargebacks_response_check CHECK ((response = ANY (ARRAY['needed'::text, 'submitted'::text, 'accepted'::text, 'expired'::text, 'none'::text]))),
    CONSTRAINT chargebacks_status_check CHECK ((status = ANY (ARRAY['open'::text, 'won'::text, 'lost'::text])))
);
CREATE FUNCTION public.row_digest(public.chargebacks) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.transaction_id, $1.currency, $1.amount_minor,
                                  $1.fee_minor, $1.reason, $1.opened_at)))
$_$;
CREATE TABLE public.conversions (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    status text NOT NULL,
    from_currency text NOT NULL,
    to_currency text NOT NULL,
    rate numeric(38,18) NOT NULL,
    rate_as_of timestamp with time zone NOT NULL,
    from_amount_minor bigint NOT NULL,
    fee_minor bigint NOT NULL,
    to_amount_minor bigint NOT NULL,
    quote_id uuid,
    rule_id uuid,
    rule_step integer,
    webhook_url text,
    external_id text,
    metadata jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    transaction_id uuid,
    reversal_id uuid,
    credential_id uuid,
    CONSTRAINT conversions_check CHECK ((to_currency <> from_currency)),
    CONSTRAINT conversions_check1 CHECK (((fee_minor >= 0) AND (fee_minor <= (from_amount_minor - 1)))),
    CONSTRAINT conversions_check2 CHECK (((rule_id IS NULL) = (rule_step IS NULL))),
    CONSTRAINT conversions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT conversions_rate_check CHECK ((rate > (0)::numeric)),
    CONSTRAINT conversions_status_check CHECK ((status = 'completed'::text)),
    CONSTRAINT conversions_to_amount_minor_check CHECK ((to_amount_minor > 0))
);
CREATE FUNCTION public.row_digest(public.conversions) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT CASE WHEN $1.transaction_id IS NULL
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.from_currency, $1.to_currency, $1.rate,
                                    $1.from_amount_minor, $1.fee_minor, $1.to_amount_minor, $1.quote_id, $1.rule_id,
                                    $1.rule_step, $1.created_at)))
        ELSE sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.from_currency, $1.to_currency, $1.rate,
                                    $1.from_amount_minor, $1.fee_minor, $1.to_amount_minor, $1.transaction_id, $1.reversal_id,
                                    $1.created_at)))
    END
$_$;
CREATE TABLE public.fulfillments (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    project_id uuid,
    product_id text NOT NULL,
    server text NOT NULL,
    quantity integer NOT NULL,
    delivered_quantity integer DEFAULT 0 NOT NULL,
    currency text NOT NULL,
    unit_price_minor bigint NOT NULL,
    unit_wholesale_minor bigint NOT NULL,
    cost_minor bigint NOT NULL,
    recipient jsonb NOT NULL,
    hold_id uuid NOT NULL,
    status text NOT NULL,
    provider_reference text,
    failure_code text,
    attempts integer DEFAULT 0 NOT NULL,
    next_look_at timestamp with time zone,
    webhook_url text,
    external_id text,
    metadata jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    processing_at timestamp with time zone,
    completed_at timestamp with time zone,
    credential_id uuid,
    CONSTRAINT fulfillments_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT fulfillments_check CHECK (((mode = 'test'::text) = (server = 'sandbox'::text))),
    CONSTRAINT fulfillments_check1 CHECK (((delivered_quantity >= 0) AND (delivered_quantity <= quantity))),
    CONSTRAINT fulfillments_check10 CHECK (((status = 'completed'::text) = (delivered_quantity = quantity))),
    CONSTRAINT fulfillments_check11 CHECK (((status = 'failed'::text) = (failure_code IS NOT NULL))),
    CONSTRAINT fulfillments_check2 CHECK (((unit_wholesale_minor >= 0) AND (unit_wholesale_minor <= unit_price_minor))),
    CONSTRAINT fulfillments_check3 CHECK (((cost_minor = (unit_price_minor * quantity)) AND (cost_minor <= '9007199254740991'::bigint))),
    CONSTRAINT fulfillments_check4 CHECK (((status = ANY (ARRAY['pending'::text, 'processing'::text])) = (next_look_at IS NOT NULL))),
    CONSTRAINT fulfillments_check5 CHECK (((status = ANY (ARRAY['pending'::text, 'canceled'::text])) = (processing_at IS NULL))),
    CONSTRAINT fulfillments_check6 CHECK (((attempts = 0) = (processing_at IS NULL))),
    CONSTRAINT fulfillments_check7 CHECK (((status = ANY (ARRAY['completed'::text, 'partially_completed'::text])) = (delivered_quantity > 0))),
    CONSTRAINT fulfillments_check8 CHECK (((status = ANY (ARRAY['completed'::text, 'partially_completed'::text])) = (completed_at IS NOT NULL))),
    CONSTRAINT fulfillments_check9 CHECK (((status = ANY (ARRAY['completed'::text, 'partially_completed'::text])) = (provider_reference IS NOT NULL))),
    CONSTRAINT fulfillments_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT fulfillments_quantity_check CHECK ((quantity > 0)),
    CONSTRAINT fulfillments_recipient_check CHECK ((jsonb_typeof(recipient) = 'object'::text)),
    CONSTRAINT fulfillments_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'completed'::text, 'partially_completed'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT fulfillments_unit_price_minor_check CHECK ((unit_price_minor > 0))
)
WITH (fillfactor='85');
CREATE FUNCTION public.row_digest(public.fulfillments) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.product_id, $1.server, $1.quantity, $1.currency,
                                  $1.unit_price_minor, $1.unit_wholesale_minor, $1.cost_minor, $1.recipient, $1.hold_id,
                                  $1.created_at)))
$_$;
CREATE TABLE public.ledger_holds (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    amount bigint NOT NULL,
    captured bigint DEFAULT 0 NOT NULL,
    released bigint DEFAULT 0 NOT NULL,
    moves integer DEFAULT 0 NOT NULL,
    status text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    resolved_at timestamp with time zone,
    CONSTRAINT ledger_holds_amount_check CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT ledger_holds_captured_check CHECK ((captured >= 0)),
    CONSTRAINT ledger_holds_check CHECK (((captured + released) <= amount)),
    CONSTRAINT ledger_holds_check1 CHECK (((status = 'resolved'::text) = ((captured + released) = amount))),
    CONSTRAINT ledger_holds_check2 CHECK (((status = 'resolved'::text) = (resolved_at IS NOT NULL))),
    CONSTRAINT ledger_holds_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ledger_holds_released_check CHECK ((released >= 0)),
    CONSTRAINT ledger_holds_status_check CHECK ((status = ANY (ARRAY['active'::text, 'resolved'::text])))
);
CREATE FUNCTION public.row_digest(public.ledger_holds) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.currency, $1.source_type, $1.source_id, $1.amount,
                                  $1.created_at)))
$_$;
CREATE TABLE public.ledger_transactions (
    id uuid NOT NULL,
    mode text NOT NULL,
    kind text NOT NULL,
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    step integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT ledger_transactions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE FUNCTION public.row_digest(public.ledger_transactions) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.mode, $1.kind, $1.source_type, $1.source_id, $1.step, $1.created_at))
        || coalesce((SELECT string_agg(record_send(ROW(p.line, p.type, p.mode, p.currency, p.debit_account_id,
                                                       p.credit_account_id, p.amount)), '' ORDER BY p.line)
                     FROM ledger_postings p WHERE p.transaction_id = $1.id), '')
        || coalesce((SELECT string_agg(record_send(ROW(e.account_id, e.version, e.id, e.merchant_id, e.mode, e.currency,
                                                       e.account, e.type, e.line, e.delta, e.balance_after, e.created_at)),
                                       '' ORDER BY e.account_id, e.version)
                     FROM ledger_entries e WHERE e.transaction_id = $1.id), ''))
$_$;
CREATE TABLE public.operator_actions (
    id uuid NOT NULL,
    operator text NOT NULL,
    action text NOT NULL,
    merchant_id uuid,
    mode text,
    subject_id uuid NOT NULL,
    reason text,
    currency text,
    amount_minor bigint,
    at timestamp with time zone NOT NULL,
    client_id text,
    on_command_line boolean DEFAULT false NOT NULL,
    single_operator boolean DEFAULT false NOT NULL,
    CONSTRAINT operator_actions_amount CHECK (
CASE action
    WHEN 'position_limit_changed'::text THEN ((currency IS NOT NULL) AND COALESCE((amount_minor > 0), true))
    ELSE (((currency IS NOT NULL) AND (amount_minor IS NOT NULL)) = (action = ANY (ARRAY['balance_adjusted'::text, 'adjustment_approved'::text, 'rail_float_changed'::text])))
END),
    CONSTRAINT operator_actions_amount_minor_check CHECK ((amount_minor <> 0)),
    CONSTRAINT operator_actions_application CHECK ((((client_id IS NOT NULL) = (action ~~ 'application%'::text)) AND ((action <> 'application_suspended'::text) OR (reason IS NOT NULL)))),
    CONSTRAINT operator_actions_check1 CHECK (((merchant_id IS NOT NULL) OR (mode IS NULL))),
    CONSTRAINT operator_actions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT operator_actions_operator_check CHECK ((operator <> ''::text)),
    CONSTRAINT operator_actions_reason_check CHECK ((reason <> ''::text))
);
CREATE FUNCTION public.row_digest(public.operator_actions) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.operator, $1.action, $1.merchant_id, $1.mode, $1.subject_id, $1.reason,
                                  $1.currency, $1.amount_minor, $1.at)) || coalesce(convert_to($1.client_id, 'UTF8'), ''))
$_$;
CREATE FUNCTION public.row_digest(public.outgoing_transfers) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.kind, $1.merchant_id, $1.mode, $1.rail, $1.currency, $1.amount_minor, $1.receiver,
                                  $1.receiver_name, $1.payer_account, $1.method_id, $1.limit_day, $1.counted_minor,
                                  $1.created_at)))
$_$;
CREATE TABLE public.payment_links (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    token text NOT NULL,
    project_id uuid NOT NULL,
    display_name text NOT NULL,
    description text,
    amount_minor bigint NOT NULL,
    currency text NOT NULL,
    webhook_url text,
    external_id text,
    metadata jsonb NOT NULL,
    payment_method_ids text[],
    success_url text,
    cancel_url text,
    customer_email text,
    max_payments integer,
    payments_count integer DEFAULT 0 NOT NULL,
    amount_paid_minor bigint DEFAULT 0 NOT NULL,
    latest_transaction_id uuid,
    created_by_type text NOT NULL,
    created_by_client_id text,
    status text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    canceled_at timestamp with time zone,
    tax_lines jsonb DEFAULT '[]'::jsonb NOT NULL,
    line_items jsonb DEFAULT '[]'::jsonb NOT NULL,
    quantity_min integer,
    quantity_max integer,
    customer_amount_min bigint,
    customer_amount_max bigint,
    customer_amount_preset bigint,
    CONSTRAINT payment_links_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT payment_links_amount_paid_minor_check CHECK ((amount_paid_minor >= 0)),
    CONSTRAINT payment_links_check CHECK (((max_payments IS NULL) OR (payments_count <= max_payments))),
    CONSTRAINT payment_links_check1 CHECK (((status = 'completed'::text) = (completed_at IS NOT NULL))),
    CONSTRAINT payment_links_check2 CHECK (((status = 'canceled'::text) = (canceled_at IS NOT NULL))),
    CONSTRAINT payment_links_check3 CHECK ((expires_at > created_at)),
    CONSTRAINT payment_links_created_by_type_check CHECK ((created_by_type = ANY (ARRAY['api_key'::text, 'oauth'::text, 'dashboard'::text]))),
    CONSTRAINT payment_links_max_payments_check CHECK (((max_payments >= 1) AND (max_payments <= 10000))),
    CONSTRAINT payment_links_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT payment_links_payments_count_check CHECK ((payments_count >= 0)),
    CONSTRAINT payment_links_status_check CHECK ((status = ANY (ARRAY['active'::text, 'completed'::text, 'expired'::text, 'canceled'::text]))),
    CONSTRAINT payment_links_token_check CHECK ((token ~ '^[a-z2-7]{26}$'::text))
)
WITH (fillfactor='85');
CREATE FUNCTION public.row_digest(public.payment_links) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT CASE WHEN num_nonnulls($1.quantity_min, $1.customer_amount_min) = 0
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.token, $1.project_id, $1.amount_minor, $1.currency,
                                    $1.created_by_type, $1.created_by_client_id, $1.created_at)))
        ELSE sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.token, $1.project_id, $1.amount_minor, $1.currency,
                                    $1.created_by_type, $1.created_by_client_id, $1.created_at, $1.quantity_min,
                                    $1.quantity_max, $1.customer_amount_min, $1.customer_amount_max,
                                    $1.customer_amount_preset)))
    END
$_$;
CREATE FUNCTION public.row_digest(public.refunds) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.transaction_id, $1.rail, $1.currency, $1.amount_minor,
                                  $1.unapplied_minor, $1.hold_id, $1.reason, $1.receiver, $1.created_at)))
$_$;
CREATE TABLE public.transactions (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    payment_link_id uuid NOT NULL,
    method_id text NOT NULL,
    method_type text NOT NULL,
    rail text NOT NULL,
    rail_reference text NOT NULL,
    instructions jsonb NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    received_minor bigint DEFAULT 0 NOT NULL,
    credited_minor bigint DEFAULT 0 NOT NULL,
    unapplied_minor bigint DEFAULT 0 NOT NULL,
    fee_minor bigint DEFAULT 0 NOT NULL,
    refunded_minor bigint DEFAULT 0 NOT NULL,
    returning_minor bigint DEFAULT 0 NOT NULL,
    returning_unapplied_minor bigint DEFAULT 0 NOT NULL,
    charged_back_minor bigint DEFAULT 0 NOT NULL,
    confirmations integer,
    required_confirmations integer,
    status text NOT NULL,
    failure_code text,
    refund_required_reason text,
    late boolean DEFAULT false NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    succeeded_at timestamp with time zone,
    payer_language text,
    price_currency text,
    price_minor bigint,
    rate numeric(38,18),
    rate_as_of timestamp with time zone,
    rate_source text,
    rate_margin_bps integer,
    rate_expires_at timestamp with time zone,
    settlement text,
    quantity integer,
    CONSTRAINT transactions_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT transactions_charged_back_minor_check CHECK ((charged_back_minor >= 0)),
    CONSTRAINT transactions_check CHECK (((mode = 'test'::text) OR (rail <> 'sandbox'::text))),
    CONSTRAINT transactions_check1 CHECK ((required_confirmations >= confirmations)),
    CONSTRAINT transactions_check10 CHECK (((status = ANY (ARRAY['succeeded'::text, 'partially_refunded'::text, 'refunded'::text, 'chargeback'::text])) OR (credited_minor = 0))),
    CONSTRAINT transactions_check11 CHECK (((status = 'chargeback'::text) = (charged_back_minor > 0))),
    CONSTRAINT transactions_check2 CHECK ((fee_minor <= credited_minor)),
    CONSTRAINT transactions_check3 CHECK (((credited_minor + unapplied_minor) <= received_minor)),
    CONSTRAINT transactions_check4 CHECK ((((received_minor - credited_minor) - unapplied_minor) <= refunded_minor)),
    CONSTRAINT transactions_check5 CHECK ((returning_unapplied_minor <= LEAST(unapplied_minor, returning_minor))),
    CONSTRAINT transactions_check6 CHECK (((status <> 'failed'::text) OR ((failure_code IS NOT NULL) AND (received_minor = 0)))),
    CONSTRAINT transactions_check7 CHECK (((status <> 'expired'::text) OR (received_minor = 0))),
    CONSTRAINT transactions_check8 CHECK (((status <> 'refund_required'::text) OR ((refund_required_reason IS NOT NULL) AND (unapplied_minor > 0)))),
    CONSTRAINT transactions_confirmations_check CHECK ((confirmations >= 0)),
    CONSTRAINT transactions_credited_minor_check CHECK ((credited_minor >= 0)),
    CONSTRAINT transactions_credited_to_succeed CHECK (((status <> ALL (ARRAY['succeeded'::text, 'partially_refunded'::text])) OR ((succeeded_at IS NOT NULL) AND (credited_minor > 0)))),
    CONSTRAINT transactions_disputed_once CHECK ((charged_back_minor <= received_minor)),
    CONSTRAINT transactions_fee_minor_check CHECK ((fee_minor >= 0)),
    CONSTRAINT transactions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT transactions_received_minor_check CHECK ((received_minor >= 0)),
    CONSTRAINT transactions_refunded_minor_check CHECK ((refunded_minor >= 0)),
    CONSTRAINT transactions_refunded_once CHECK (((refunded_minor + returning_minor) <= (received_minor - (unapplied_minor - returning_unapplied_minor)))),
    CONSTRAINT transactions_returning_minor_check CHECK ((returning_minor >= 0)),
    CONSTRAINT transactions_returning_unapplied_minor_check CHECK ((returning_unapplied_minor >= 0)),
    CONSTRAINT transactions_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'succeeded'::text, 'failed'::text, 'expired'::text, 'refund_required'::text, 'partially_refunded'::text, 'refunded'::text, 'chargeback'::text]))),
    CONSTRAINT transactions_unapplied_minor_check CHECK ((unapplied_minor >= 0))
)
WITH (fillfactor='85');
CREATE FUNCTION public.row_digest(public.transactions) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT CASE
        WHEN $1.quantity IS NOT NULL
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.payment_link_id, $1.method_id, $1.rail,
                                    $1.rail_reference, $1.currency, $1.amount_minor, $1.created_at, $1.price_currency,
                                    $1.price_minor, $1.rate, $1.rate_as_of, $1.rate_source, $1.rate_margin_bps,
                                    $1.rate_expires_at, $1.settlement, $1.quantity)))
        WHEN $1.price_currency IS NULL
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.payment_link_id, $1.method_id, $1.rail,
                                    $1.rail_reference, $1.currency, $1.amount_minor, $1.created_at)))
        ELSE sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.payment_link_id, $1.method_id, $1.rail,
                                    $1.rail_reference, $1.currency, $1.amount_minor, $1.created_at, $1.price_currency,
                                    $1.price_minor, $1.rate, $1.rate_as_of, $1.rate_source, $1.rate_margin_bps,
                                    $1.rate_expires_at, $1.settlement)))
    END
$_$;
CREATE TABLE public.webhook_events (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    type text NOT NULL,
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    sequence bigint NOT NULL,
    body bytea NOT NULL,
    destination_url text,
    destination_source text NOT NULL,
    status text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    delivered_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    request_id uuid,
    "position" bigint,
    CONSTRAINT webhook_events_check CHECK (((destination_url IS NULL) = (destination_source = 'none'::text))),
    CONSTRAINT webhook_events_check1 CHECK (((status = 'delivered'::text) = (delivered_at IS NOT NULL))),
    CONSTRAINT webhook_events_destination_source_check CHECK ((destination_source = ANY (ARRAY['request'::text, 'saved'::text, 'test'::text, 'none'::text]))),
    CONSTRAINT webhook_events_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_events_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'retrying'::text, 'delivered'::text, 'failed'::text, 'skipped'::text, 'canceled'::text, 'held'::text])))
)
PARTITION BY RANGE (id);
COMMENT ON COLUMN public.webhook_events.merchant_id IS 'a merchant, or the webhook_sender_id of an application';
CREATE FUNCTION public.row_digest(public.webhook_events) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.type, $1.source_type, $1.source_id, $1.sequence,
                                  $1.body, $1.created_at)))
$_$;
CREATE TABLE public.withdrawals (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    method_id text NOT NULL,
    rail text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    network_fee_mode text NOT NULL,
    system_fee_minor bigint NOT NULL,
    network_fee_minor bigint NOT NULL,
    debit_minor bigint NOT NULL,
    receive_minor bigint NOT NULL,
    receiver text NOT NULL,
    provider_fields jsonb NOT NULL,
    quote_id uuid,
    hold_id uuid NOT NULL,
    status text NOT NULL,
    submission text,
    provider_reference text,
    tx_hash text,
    network_paid_minor bigint,
    failure_code text,
    webhook_url text,
    external_id text,
    description text,
    metadata jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    next_look_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    processing_at timestamp with time zone,
    completed_at timestamp with time zone,
    recipient_id uuid,
    batch_id uuid,
    batch_row integer,
    credential_id uuid,
    CONSTRAINT withdrawals_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT withdrawals_batch_row CHECK (((batch_id IS NULL) = (batch_row IS NULL))),
    CONSTRAINT withdrawals_check CHECK (((mode = 'test'::text) OR (rail <> 'sandbox'::text))),
    CONSTRAINT withdrawals_check1 CHECK (((processing_at IS NOT NULL) = (submission IS NOT NULL))),
    CONSTRAINT withdrawals_check2 CHECK (((status <> ALL (ARRAY['processing'::text, 'completed'::text])) OR (processing_at IS NOT NULL))),
    CONSTRAINT withdrawals_check3 CHECK (((status <> ALL (ARRAY['pending_review'::text, 'approved'::text, 'canceled'::text])) OR (processing_at IS NULL))),
    CONSTRAINT withdrawals_check4 CHECK (((status <> 'completed'::text) OR (completed_at IS NOT NULL))),
    CONSTRAINT withdrawals_check5 CHECK (((completed_at IS NOT NULL) = (network_paid_minor IS NOT NULL))),
    CONSTRAINT withdrawals_check6 CHECK (((status = 'failed'::text) = (failure_code IS NOT NULL))),
    CONSTRAINT withdrawals_check7 CHECK (((next_look_at IS NULL) OR (status = ANY (ARRAY['approved'::text, 'processing'::text])))),
    CONSTRAINT withdrawals_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT withdrawals_network_fee_minor_check CHECK ((network_fee_minor >= 0)),
    CONSTRAINT withdrawals_network_fee_mode_check CHECK ((network_fee_mode = ANY (ARRAY['deduct'::text, 'add'::text]))),
    CONSTRAINT withdrawals_network_paid_minor_check CHECK ((network_paid_minor >= 0)),
    CONSTRAINT withdrawals_provider_fields_check CHECK ((jsonb_typeof(provider_fields) = 'object'::text)),
    CONSTRAINT withdrawals_receive_minor_check CHECK ((receive_minor > 0)),
    CONSTRAINT withdrawals_status_check CHECK ((status = ANY (ARRAY['pending_review'::text, 'approved'::text, 'processing'::text, 'completed'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT withdrawals_submission_check CHECK ((submission = ANY (ARRAY['prepared'::text, 'accepted'::text, 'unknown'::text]))),
    CONSTRAINT withdrawals_system_fee_minor_check CHECK ((system_fee_minor >= 0)),
    CONSTRAINT withdrawals_terms CHECK (((debit_minor = (amount_minor +
CASE network_fee_mode
    WHEN 'add'::text THEN (system_fee_minor + network_fee_minor)
    ELSE (0)::bigint
END)) AND (receive_minor = ((debit_minor - system_fee_minor) - network_fee_minor))))
)
WITH (fillfactor='85');
COMMENT ON COLUMN public.withdrawals.recipient_id IS 'the saved recipient it was created for, which may be deleted since';
CREATE FUNCTION public.row_digest(public.withdrawals) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.method_id, $1.rail, $1.currency, $1.amount_minor,
                                  $1.network_fee_mode, $1.system_fee_minor, $1.network_fee_minor, $1.debit_minor,
                                  $1.receive_minor, $1.receiver, $1.provider_fields, $1.hold_id, $1.created_at)))
$_$;
CREATE FUNCTION public.row_digests_write() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO row_digests (kind, id, digest) VALUES (TG_ARGV[0], NEW.id, row_digest(NEW));
    RETURN NULL;
END $$;
CREATE FUNCTION public.running_totals_add(p_merchant uuid, p_mode text, p_measure text, p_currency text, p_type text, p_raised boolean, p_method text, p_project uuid, p_at timestamp with time zone, p_amount numeric, p_count bigint, p_latest timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_starts_at timestamptz := quarter_hour(p_at);
    v record;
BEGIN
    LOOP
        UPDATE running_series s SET amount = s.amount + p_amount, count = s.count + p_count,
            starts_at = greatest(s.starts_at, v_starts_at),
            latest_at = CASE WHEN s.starts_at < v_starts_at THEN p_latest
                             WHEN s.starts_at = v_starts_at THEN greatest(s.latest_at, p_latest) ELSE s.latest_at END
        WHERE s.merchant_id = p_merchant AND s.mode = p_mode AND s.measure = p_measure AND s.currency = p_currency
          AND s.type = p_type AND s.raised = p_raised AND s.method_id = p_method AND s.project_id = p_project
        RETURNING s.id, old.starts_at, old.amount, old.count, old.latest_at INTO v;
        EXIT WHEN FOUND;
        INSERT INTO running_series (merchant_id, mode, measure, currency, type, raised, method_id, project_id, starts_at,
                                    amount, count, latest_at)
        VALUES (p_merchant, p_mode, p_measure, p_currency, p_type, p_raised, p_method, p_project, v_starts_at, p_amount,
                p_count, p_latest)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
    IF v.starts_at < v_starts_at THEN
        INSERT INTO running_totals (series_id, starts_at, amount, count, latest_at)
        VALUES (v.id, v.starts_at, v.amount, v.count, v.latest_at)
        ON CONFLICT (series_id, starts_at)
            DO UPDATE SET amount = excluded.amount, count = excluded.count, latest_at = excluded.latest_at;
    ELSIF v.starts_at > v_starts_at THEN
        -- Added late: the totals of later quarter hours include it too.
        UPDATE running_totals r SET amount = r.amount + p_amount, count = r.count + p_count,
            latest_at = CASE WHEN r.starts_at = v_starts_at THEN greatest(r.latest_at, p_latest) ELSE r.latest_at END
        WHERE r.series_id = v.id AND r.starts_at >= v_starts_at;
        INSERT INTO running_totals (series_id, starts_at, amount, count, latest_at)
        SELECT v.id, v_starts_at, p_amount + coalesce(b.amount, 0), p_count + coalesce(b.count, 0), p_latest
        FROM (SELECT) AS one
        LEFT JOIN LATERAL (SELECT r.amount, r.count FROM running_totals r
                           WHERE r.series_id = v.id AND r.starts_at < v_starts_at ORDER BY r.starts_at DESC LIMIT 1) b ON true
        ON CONFLICT DO NOTHING;
    END IF;
END $$;
CREATE FUNCTION public.running_totals_add_fulfillment(p public.fulfillments, p_count integer) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    v_project uuid := coalesce(p.project_id, '00000000-0000-0000-0000-000000000000');
BEGIN
    PERFORM running_totals_add(p.merchant_id, p.mode, 'fulfilled', p.currency, p.status, false, p.product_id, v_project,
                               p.created_at, p_count * p.unit_price_minor::numeric * p.delivered_quantity, p_count,
                               p.created_at);
    IF p.completed_at IS NOT NULL THEN
        PERFORM running_totals_add(p.merchant_id, p.mode, 'delivered', '',
                                   p.status || ' ' || delivery_seconds(p.created_at, p.completed_at), true, p.product_id,
                                   v_project, p.created_at, p_count * p.delivered_quantity::numeric, p_count, p.created_at);
    END IF;
END $$;
CREATE FUNCTION public.running_totals_follow_entries() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    v record;
    v_source running_sources%ROWTYPE;
BEGIN
    -- In one order, so that two that add to the same series do not wait for each other. A transaction counts once in a series.
    FOR v IN
        SELECT e.transaction_id, e.merchant_id, e.mode, e.currency, e.type, (e.account = 'debt') <> (e.delta > 0) AS raised,
               sum(CASE e.account WHEN 'debt' THEN -e.delta ELSE e.delta END) AS amount, max(e.created_at) AS latest_at
        FROM posted e WHERE e.type NOT IN ('hold', 'release', 'settlement')
        GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    LOOP
        IF v_source.id IS DISTINCT FROM v.transaction_id THEN
            SELECT * INTO v_source FROM running_sources t WHERE t.id = v.transaction_id;
        END IF;
        PERFORM running_totals_add(v.merchant_id, v.mode, 'entries', v.currency, v.type, v.raised, v_source.method_id,
                                   v_source.project_id, v_source.at, v.amount, 1, v.latest_at);
    END LOOP;
    RETURN NULL;
END $$;
CREATE FUNCTION public.running_totals_follow_failure() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.status = 'failed' THEN
        PERFORM running_totals_add(OLD.merchant_id, OLD.mode, 'failed', OLD.currency, '', true, '',
                                   '00000000-0000-0000-0000-000000000000', OLD.updated_at, 0, -1, OLD.updated_at);
    END IF;
    IF NEW.status = 'failed' THEN
        PERFORM running_totals_add(NEW.merchant_id, NEW.mode, 'failed', NEW.currency, '', true, '',
                                   '00000000-0000-0000-0000-000000000000', NEW.updated_at, 0, 1, NEW.updated_at);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.running_totals_follow_fulfillment() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF OLD.status NOT IN ('pending', 'processing') THEN
        PERFORM running_totals_add_fulfillment(OLD, -1);
    END IF;
    IF NEW.status NOT IN ('pending', 'processing') THEN
        PERFORM running_totals_add_fulfillment(NEW, 1);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.running_totals_follow_payment() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.succeeded_at IS NOT NULL THEN
        PERFORM running_totals_add(OLD.merchant_id, OLD.mode, 'succeeded', OLD.currency, '', true, OLD.method_id,
                                   '00000000-0000-0000-0000-000000000000', OLD.succeeded_at, -OLD.credited_minor, -1,
                                   OLD.succeeded_at);
    END IF;
    IF NEW.succeeded_at IS NOT NULL THEN
        PERFORM running_totals_add(NEW.merchant_id, NEW.mode, 'succeeded', NEW.currency, '', true, NEW.method_id,
                                   '00000000-0000-0000-0000-000000000000', NEW.succeeded_at, NEW.credited_minor, 1,
                                   NEW.succeeded_at);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.running_totals_follow_refund() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.status = 'succeeded' AND OLD.unapplied_minor < OLD.amount_minor THEN
        PERFORM running_totals_add(OLD.merchant_id, OLD.mode, 'refunded', OLD.currency, '', false, '',
                                   '00000000-0000-0000-0000-000000000000', OLD.created_at,
                                   OLD.unapplied_minor - OLD.amount_minor, -1, OLD.created_at);
    END IF;
    IF NEW.status = 'succeeded' AND NEW.unapplied_minor < NEW.amount_minor THEN
        PERFORM running_totals_add(NEW.merchant_id, NEW.mode, 'refunded', NEW.currency, '', false, '',
                                   '00000000-0000-0000-0000-000000000000', NEW.created_at,
                                   NEW.amount_minor - NEW.unapplied_minor, 1, NEW.created_at);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.running_totals_rebuild(p_merchant uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM ledger_accounts a WHERE a.owner = p_merchant ORDER BY a.id FOR NO KEY UPDATE;
    DELETE FROM running_totals r USING running_series s WHERE r.series_id = s.id AND s.merchant_id = p_merchant;
    DELETE FROM running_series WHERE merchant_id = p_merchant;
    CREATE TEMP TABLE running_parts ON COMMIT DROP AS
        SELECT mode, measure, currency, type, raised, method_id, project_id, starts_at, latest_at,
               sum(amount) OVER series AS amount, (sum(count) OVER series)::bigint AS count,
               lead(starts_at) OVER series IS NULL AS is_last
        FROM running_sums WHERE merchant_id = p_merchant
        WINDOW series AS (PARTITION BY mode, measure, currency, type, raised, method_id, project_id ORDER BY starts_at);
    INSERT INTO running_series (merchant_id, mode, measure, currency, type, raised, method_id, project_id, starts_at, amount,
                                count, latest_at)
    SELECT p_merchant, mode, measure, currency, type, raised, method_id, project_id, starts_at, amount, count, latest_at
    FROM running_parts WHERE is_last;
    INSERT INTO running_totals (series_id, starts_at, amount, count, latest_at)
    SELECT s.id, p.starts_at, p.amount, p.count, p.latest_at
    FROM running_parts p
    JOIN running_series s ON (s.merchant_id, s.mode, s.measure, s.currency, s.type, s.raised, s.method_id, s.project_id)
        = (p_merchant, p.mode, p.measure, p.currency, p.type, p.raised, p.method_id, p.project_id)
    WHERE NOT p.is_last;
    DROP TABLE running_parts;
END $$;
CREATE FUNCTION public.second_member_rules_require_confirmation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.above_minor IS NOT DISTINCT FROM OLD.above_minor  -- null, when it is inserted
       OR NOT EXISTS (SELECT FROM second_member_rules r
                      WHERE r.merchant_id = NEW.merchant_id AND r.above_minor IS NOT NULL
                        AND (r.set_at < NEW.set_at OR r.currency = NEW.currency)) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' OR OLD.change_by IS NULL OR NEW.above_minor IS DISTINCT FROM OLD.change_above_minor
       OR coalesce(NEW.confirmed_by = OLD.change_by OR NEW.confirmed_at >= OLD.change_at + interval '7 days', true)
       OR NOT counts_as_second_member(NEW.merchant_id, NEW.confirmed_by, NEW.confirmed_at) THEN
        RAISE EXCEPTION 'a second member confirms the change of this rule' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.sessions_name_merchant() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.merchant_id := (
        SELECT m.merchant_id FROM users u JOIN members m ON (m.merchant_id, m.user_id) = (u.merchant_id, u.id)
        WHERE u.id = NEW.user_id AND m.removed_at IS NULL);
    RETURN NEW;
END $$;
CREATE FUNCTION public.state_transitions_enforce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM state_transitions_require(TG_TABLE_NAME, OLD.status, NEW.status);
    RETURN NEW;
END $$;
CREATE FUNCTION public.state_transitions_require(p_record text, p_from text, p_to text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM state_transitions t WHERE t.record = p_record AND t.from_status = p_from AND t.to_status = p_to) THEN
        RAISE EXCEPTION '%: % cannot become %', p_record, p_from, p_to USING ERRCODE = 'check_violation';
    END IF;
END $$;
CREATE FUNCTION public.status_at(p_status text, p_open text, p_expires_at timestamp with time zone, p_at timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN p_status = p_open AND p_expires_at <= p_at THEN 'expired' ELSE p_status END
$$;
CREATE FUNCTION public.stored_statuses(p_statuses text[], p_open text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN 'expired' = ANY (p_statuses) THEN p_statuses || p_open ELSE p_statuses END
$$;
CREATE FUNCTION public.tax_total(lines jsonb) RETURNS numeric
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
    RETURN (SELECT coalesce(sum((line ->> 'amount_minor')::numeric), 0) FROM jsonb_array_elements(lines) line);
END $$;
CREATE FUNCTION public.time_of_environment(p_merchant uuid, p_mode text, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT p_now + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = (p_merchant, p_mode)), '0')
$$;
CREATE FUNCTION public.transactions_change(p_merchant uuid, p_mode text, p_id uuid, p_version integer, p_status text, p_received bigint, p_credited bigint, p_unapplied bigint, p_fee bigint, p_refunded bigint, p_returning bigint, p_returning_unapplied bigint, p_charged_back bigint, p_confirmations integer, p_required_confirmations integer, p_failure_code text, p_reason text, p_late boolean, p_succeeded_at timestamp with time zone, p_at timestamp with time zone, p_detail text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE transactions
    SET status = p_status, received_minor = p_received, credited_minor = p_credited, unapplied_minor = p_unapplied,
        fee_minor = p_fee, refunded_minor = p_refunded, returning_minor = p_returning,
        returning_unapplied_minor = p_returning_unapplied, charged_back_minor = p_charged_back,
        confirmations = p_confirmations, required_confirmations = p_required_confirmations, failure_code = p_failure_code,
        refund_required_reason = p_reason, late = p_late, succeeded_at = p_succeeded_at, updated_at = p_at,
        version = version + 1
    WHERE merchant_id = p_merchant AND mode = p_mode AND id = p_id AND version = p_version;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'payment % has changed', p_id USING ERRCODE = 'serialization_failure';
    END IF;
    INSERT INTO transaction_steps (transaction_id, version, status, detail, at)
    VALUES (p_id, p_version + 1, p_status, p_detail, p_at);
END $$;
CREATE FUNCTION public.transactions_follow_link() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_price bigint := coalesce(NEW.price_minor, NEW.amount_minor);
BEGIN
    IF NOT EXISTS (
        SELECT FROM payment_links l
        WHERE (l.id, l.merchant_id, l.mode) = (NEW.payment_link_id, NEW.merchant_id, NEW.mode)
          AND (NEW.quantity IS NULL) = (l.quantity_min IS NULL)
          AND CASE WHEN l.quantity_min IS NOT NULL
                   THEN NEW.quantity BETWEEN l.quantity_min AND l.quantity_max AND v_price = l.amount_minor * NEW.quantity
                   WHEN l.customer_amount_min IS NOT NULL
                   THEN v_price BETWEEN l.customer_amount_min AND l.customer_amount_max
                   ELSE v_price = l.amount_minor END
    ) THEN
        RAISE EXCEPTION 'payment % is not for an amount of its link', NEW.id
            USING ERRCODE = 'check_violation', TABLE = 'transactions', CONSTRAINT = 'transactions_follow_link';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.transactions_refuse_refund() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'a refund gives back what the merchant keeps, or what awaits a decision'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'transactions_given_back_once';
END $$;
CREATE FUNCTION public.transactions_require(p_merchant uuid, p_mode text, p_id uuid, p_version integer, p_link_id uuid, p_link_version integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM payment_links l
    WHERE l.merchant_id = p_merchant AND l.mode = p_mode AND l.id = p_link_id AND l.version = p_link_version
    FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM FROM transactions t
        WHERE t.merchant_id = p_merchant AND t.mode = p_mode AND t.id = p_id AND t.version = p_version;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'payment % has changed', p_id USING ERRCODE = 'serialization_failure';
    END IF;
END $$;
CREATE FUNCTION public.users_open_merchant() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO members (merchant_id, user_id, role, created_at) VALUES (NEW.merchant_id, NEW.id, 'owner', NEW.created_at);
    RETURN NULL;
END $$;
CREATE FUNCTION public.value_let_leave(p_source_type text, p_source_id uuid, p_merchant uuid, p_mode text, p_currency text, p_asked boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_asked THEN
        PERFORM FROM merchants WHERE id = p_merchant AND suspended_at IS NULL FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'value_releases_suspended';
        END IF;
    END IF;
    INSERT INTO value_releases (source_type, source_id, merchant_id, mode, currency, released_at)
    VALUES (p_source_type, p_source_id, p_merchant, p_mode, p_currency, clock_timestamp()) ON CONFLICT DO NOTHING;
END $$;
CREATE FUNCTION public.webhook_event_statuses_follow() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.status IN ('retrying', 'failed', 'canceled', 'held') THEN
        INSERT INTO webhook_event_statuses (event_id, merchant_id, mode, status, created_at)
        VALUES (NEW.id, NEW.merchant_id, NEW.mode, NEW.status, NEW.created_at)
        ON CONFLICT (event_id) DO UPDATE SET status = excluded.status;
    ELSE
        DELETE FROM webhook_event_statuses WHERE event_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.webhook_events_number(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_numbered int;
BEGIN
    IF NOT EXISTS (SELECT FROM webhook_unnumbered) THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('webhook_events_number'));
    WITH taken AS MATERIALIZED (
        DELETE FROM webhook_unnumbered
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM webhook_unnumbered ORDER BY nth LIMIT p_most))
        RETURNING nth, event_id, merchant_id, mode
    ), counted AS (
        INSERT INTO webhook_feeds AS f (merchant_id, mode, last_position)
        SELECT merchant_id, mode, count(*) FROM taken GROUP BY merchant_id, mode
        ON CONFLICT (merchant_id, mode) DO UPDATE SET last_position = f.last_position + excluded.last_position
        RETURNING number, merchant_id, mode, last_position
    ), placed AS MATERIALIZED (
        SELECT t.event_id, c.number, row_number() OVER (PARTITION BY c.number ORDER BY t.nth) AS place,
               c.last_position - count(*) OVER (PARTITION BY c.number) AS before
        FROM taken t JOIN counted c ON c.merchant_id = t.merchant_id AND c.mode = t.mode
    ), stored AS (
        INSERT INTO webhook_positions (number, last_position, event_ids)
        SELECT number, max(before + place), array_agg(event_id ORDER BY place) FROM placed GROUP BY number, (place - 1) / 100
    )
    UPDATE webhook_events e SET position = p.before + p.place FROM placed p WHERE e.id = p.event_id;
    GET DIAGNOSTICS v_numbered = ROW_COUNT;
    RETURN v_numbered;
END $$;
CREATE FUNCTION public.webhook_events_queue() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO webhook_unnumbered (event_id, merchant_id, mode) VALUES (NEW.id, NEW.merchant_id, NEW.mode);
    RETURN NULL;
END $$;
CREATE FUNCTION public.webhook_events_record(p_id uuid, p_merchant uuid, p_mode text, p_type text, p_source_type text, p_source_id uuid, p_sequence bigint, p_body bytea, p_url text, p_destination_key bigint, p_source text, p_saved_applies boolean, p_at timestamp with time zone, p_held_for interval, p_request_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_saved record;
    v_source text := p_source;
    v_url text := p_url;
    v_destination_key bigint := p_destination_key;
    v_trigger text := CASE p_source WHEN 'test' THEN 'test' ELSE 'automatic' END;
    v_status text := 'pending';
BEGIN
    SELECT n.delivery_disabled_at, n.url, n.destination_key, n.event_types INTO v_saved
    FROM webhook_environments n WHERE n.merchant_id = p_merchant AND n.mode = p_mode;
    IF p_url IS NULL THEN
        v_trigger := 'automatic';
        IF p_saved_applies AND p_type = ANY (v_saved.event_types) THEN
            v_source := 'saved';
            v_url := v_saved.url;
            v_destination_key := v_saved.destination_key;
        ELSE
            v_source := 'none';
        END IF;
    END IF;
    IF v_source = 'none' OR v_saved.delivery_disabled_at IS NOT NULL THEN
        v_status := 'skipped';
    ELSIF NOT EXISTS (SELECT FROM webhook_secrets s
                      WHERE s.merchant_id = p_merchant AND s.mode = p_mode AND s.state = 'active') THEN
        v_status := 'held';
    END IF;
    INSERT INTO webhook_event_keys (source_id, source_type, type, sequence)
    VALUES (p_source_id, p_source_type, p_type, p_sequence);
    INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_url,
                                destination_source, status, next_attempt_at, created_at, request_id)
    VALUES (p_id, p_merchant, p_mode, p_type, p_source_type, p_source_id, p_sequence, p_body, v_url,
            v_source, v_status, CASE v_status WHEN 'pending' THEN now() END, p_at, p_request_id);
    IF v_status = 'pending' THEN
        INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at, trigger)
        VALUES (p_id, p_merchant, p_mode, v_destination_key, now(), now(), v_trigger);
    ELSIF v_status = 'held' THEN
        INSERT INTO webhook_deliveries_later (event_id, merchant_id, mode, destination_key, run_at, trigger, held)
        VALUES (p_id, p_merchant, p_mode, v_destination_key, now() + p_held_for, v_trigger, true);
    END IF;
END $$;
CREATE FUNCTION public.webhook_events_record_balance(p_id uuid, p_merchant uuid, p_mode text, p_currency text, p_transaction_id uuid, p_entry_ids uuid[], p_template bytea, p_url text, p_destination_key bigint, p_saved_applies boolean, p_at timestamp with time zone, p_held_for interval, p_request_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_values bigint[];
    v_version bigint;
    v_entry record;
    v_entries int := 0;
BEGIN
    SELECT ARRAY[a.available, a.pending, a.reserved, a.debt, a.available + a.pending + a.reserved - a.debt,
                 h.withdrawals, h.balance_payments, h.refunds, h.fulfillments, a.version,
                 floor(extract(epoch FROM a.updated_at) * 1000)::bigint], a.version
    INTO v_values, v_version
    FROM (SELECT coalesce(max(balance) FILTER (WHERE code = 'available'), 0) AS available,
                 coalesce(max(balance) FILTER (WHERE code = 'pending'), 0) AS pending,
                 coalesce(max(balance) FILTER (WHERE code = 'reserved'), 0) AS reserved,
                 coalesce(max(balance) FILTER (WHERE code = 'debt'), 0) AS debt,
                 sum(version)::bigint AS version, max(updated_at) AS updated_at
          FROM ledger_accounts WHERE owner = p_merchant AND mode = p_mode AND currency = p_currency) a
    CROSS JOIN (SELECT coalesce(sum(left_over) FILTER (WHERE source_type = 'withdrawal'), 0)::bigint AS withdrawals,
                       coalesce(sum(left_over) FILTER (WHERE source_type = 'balance_payment'), 0)::bigint
                           AS balance_payments,
                       coalesce(sum(left_over) FILTER (WHERE source_type = 'refund'), 0)::bigint AS refunds,
                       coalesce(sum(left_over) FILTER (WHERE source_type = 'fulfillment'), 0)::bigint AS fulfillments
                FROM (SELECT source_type, amount - captured - released AS left_over FROM ledger_holds
                      WHERE merchant_id = p_merchant AND mode = p_mode AND currency = p_currency
                        AND status = 'active') held) h;
    FOR v_entry IN
        SELECT e.balance_after, e.version, floor(extract(epoch FROM e.created_at) * 1000)::bigint AS created_ms
        FROM ledger_entries e
        WHERE e.transaction_id = p_transaction_id AND e.merchant_id = p_merchant AND e.currency = p_currency
        ORDER BY array_position(p_entry_ids, e.id)
    LOOP
        v_entries := v_entries + 1;
        v_values := v_values || ARRAY[v_entry.balance_after, v_entry.version, v_entry.created_ms];
    END LOOP;
    IF v_entries <> cardinality(p_entry_ids) THEN
        RAISE EXCEPTION 'ledger transaction % has other entries', p_transaction_id USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM webhook_events_record(
        p_id, p_merchant, p_mode, 'balance.updated', 'ledger_entry', p_entry_ids[1], v_version,
        p_template || convert_to(' ' || array_to_string(v_values, ' '), 'UTF8'), p_url, p_destination_key, 'request',
        p_saved_applies, p_at, p_held_for, p_request_id);
END $$;
CREATE FUNCTION public.webhook_failures_follow() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.status = 'failed' THEN
        INSERT INTO webhook_failures (event_id, merchant_id, mode, failed_at)
        VALUES (NEW.id, NEW.merchant_id, NEW.mode, now()) ON CONFLICT (event_id) DO NOTHING;
    ELSE
        DELETE FROM webhook_failures WHERE event_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.webhook_feed_id() RETURNS uuid
    LANGUAGE sql STABLE
    AS $$
    SELECT md5(i.identity || coalesce((SELECT p.id::text FROM payout_pauses p WHERE p.cause = 'restored'
                                       ORDER BY p.paused_at DESC, p.id DESC LIMIT 1), ''))::uuid
    FROM database_identity i
$$;
CREATE FUNCTION public.webhook_first_id(p_moment timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT
    AS $$
    SELECT rpad(lpad(to_hex(floor(extract(epoch FROM p_moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;
CREATE FUNCTION public.withdrawal_days_add(p_merchant uuid, p_mode text, p_method_id text, p_day date, p_amount bigint, p_limit bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO withdrawal_days AS d (merchant_id, mode, method_id, day, amount_minor)
    SELECT p_merchant, p_mode, p_method_id, p_day, p_amount WHERE p_limit IS NULL OR p_amount <= p_limit
    ON CONFLICT (merchant_id, mode, method_id, day) DO UPDATE SET amount_minor = d.amount_minor + excluded.amount_minor
    WHERE p_limit IS NULL OR d.amount_minor + excluded.amount_minor <= p_limit;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the limit of the day is exceeded' USING ERRCODE = 'serialization_failure';
    END IF;
END $$;
CREATE FUNCTION public.withdrawals_refuse_inactive_recipient() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM withdrawal_recipients r
        WHERE r.id = NEW.recipient_id AND (r.merchant_id, r.mode, r.method_id, r.receiver)
                                          = (NEW.merchant_id, NEW.mode, NEW.method_id, NEW.receiver)
          AND r.active_at <= time_of_environment(NEW.merchant_id, NEW.mode, NEW.created_at)) THEN
        RAISE EXCEPTION 'this recipient cannot be paid' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NEW;
END $$;
CREATE TABLE public.address_changes (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    old_email text NOT NULL,
    old_key text NOT NULL,
    old_verified_at timestamp with time zone,
    new_email text NOT NULL,
    new_key text NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    withdrawn_at timestamp with time zone,
    confirmed_at timestamp with time zone,
    undo_until timestamp with time zone,
    undone_at timestamp with time zone,
    CONSTRAINT address_changes_confirmed CHECK (((expires_at > requested_at) AND COALESCE((confirmed_at < expires_at), true) AND ((confirmed_at IS NULL) = (undo_until IS NULL)) AND COALESCE((undo_until > confirmed_at), true))),
    CONSTRAINT address_changes_differ CHECK ((old_key <> new_key)),
    CONSTRAINT address_changes_one_end CHECK ((num_nonnulls(withdrawn_at, confirmed_at) <= 1)),
    CONSTRAINT address_changes_undone CHECK (((undone_at IS NULL) OR ((confirmed_at IS NOT NULL) AND (undone_at >= confirmed_at) AND (undone_at < undo_until))))
);
COMMENT ON COLUMN public.address_changes.withdrawn_at IS 'by the person, by a later request, or by a new password';
CREATE TABLE public.api_key_activity (
    api_key_id uuid NOT NULL,
    last_used_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    scope_mask integer NOT NULL,
    hint text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    proposals_only boolean DEFAULT false NOT NULL,
    limits jsonb,
    allowed_networks cidr[],
    created_by uuid,
    CONSTRAINT api_keys_allowed_networks CHECK (((cardinality(allowed_networks) >= 1) AND (cardinality(allowed_networks) <= 20))),
    CONSTRAINT api_keys_key_hash_check CHECK ((octet_length(key_hash) = 32)),
    CONSTRAINT api_keys_limits CHECK (public.limits_are_valid(limits)),
    CONSTRAINT api_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT api_keys_scope_mask_check CHECK (((scope_mask > 0) AND ((scope_mask & (1 << 18)) = 0)))
);
COMMENT ON COLUMN public.api_keys.allowed_networks IS 'where requests may come from; null: from anywhere';
CREATE TABLE public.api_requests (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    request_id uuid NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    query text NOT NULL,
    status integer NOT NULL,
    error text,
    duration_us integer NOT NULL,
    credential text NOT NULL,
    grant_id uuid,
    key_hash bytea,
    replayed boolean NOT NULL,
    asked text,
    answered text,
    request_body bytea,
    response_body bytea,
    CONSTRAINT api_requests_key_hash_check CHECK ((octet_length(key_hash) = 32)),
    CONSTRAINT api_requests_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
)
PARTITION BY RANGE (id);
COMMENT ON COLUMN public.api_requests.asked IS 'the request body, as earlier versions stored it';
COMMENT ON COLUMN public.api_requests.answered IS 'the response body, as earlier versions stored it';
CREATE TABLE public.application_reports (
    id uuid NOT NULL,
    client_id text NOT NULL,
    merchant_id uuid NOT NULL,
    day date NOT NULL,
    reason text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT application_reports_reason_check CHECK (((char_length(reason) >= 1) AND (char_length(reason) <= 1000)))
);
COMMENT ON COLUMN public.application_reports.day IS 'of the report, in UTC';
CREATE TABLE public.audit_lines (
    merchant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    mode text,
    deed text NOT NULL,
    author_kind text NOT NULL,
    author text NOT NULL,
    address text,
    request_id uuid,
    subject text,
    name text,
    changed json,
    CONSTRAINT audit_lines_author CHECK (((author = ''::text) = (author_kind = ANY (ARRAY['operator'::text, 'system'::text])))),
    CONSTRAINT audit_lines_author_kind_check CHECK ((author_kind = ANY (ARRAY['person'::text, 'api_key'::text, 'application'::text, 'operator'::text, 'system'::text]))),
    CONSTRAINT audit_lines_changed_check CHECK ((json_typeof(changed) = 'object'::text)),
    CONSTRAINT audit_lines_deed_check CHECK ((deed ~ '^[a-z_]+\.[a-z_]+$'::text)),
    CONSTRAINT audit_lines_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.backup_codes (
    holder_id uuid NOT NULL,
    code_hash bytea NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT backup_codes_code_hash_check CHECK ((octet_length(code_hash) = 32))
);
CREATE TABLE public.bank_accounts (
    iban text NOT NULL,
    currency text NOT NULL,
    first_opening_minor bigint,
    first_on date NOT NULL,
    balance_minor bigint NOT NULL,
    last_on date NOT NULL,
    last_statement_id uuid,
    importing_id uuid,
    next_balance_minor bigint,
    CONSTRAINT bank_accounts_importing CHECK (((importing_id IS NULL) = (next_balance_minor IS NULL)))
);
CREATE TABLE public.bank_announcements (
    identity bytea NOT NULL,
    nth integer NOT NULL,
    iban text NOT NULL,
    side text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    booked_on date NOT NULL,
    other_name text,
    other_iban text,
    words text NOT NULL,
    announced_at timestamp with time zone NOT NULL,
    CONSTRAINT bank_announcements_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT bank_announcements_side_check CHECK ((side = ANY (ARRAY['credit'::text, 'debit'::text])))
);
CREATE TABLE public.bank_fetches (
    id boolean DEFAULT true NOT NULL,
    leased_until timestamp with time zone,
    next_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    fetched_at timestamp with time zone,
    error text,
    failed_since timestamp with time zone,
    CONSTRAINT bank_fetches_check CHECK (((error IS NULL) = (failed_since IS NULL))),
    CONSTRAINT bank_fetches_error_check CHECK ((error <> ''::text)),
    CONSTRAINT bank_fetches_id_check CHECK (id)
);
CREATE TABLE public.bank_import_entries (
    import_id uuid NOT NULL,
    statement integer NOT NULL,
    place bigint NOT NULL,
    content bytea NOT NULL
);
CREATE TABLE public.bank_import_pieces (
    import_id uuid NOT NULL,
    nth integer NOT NULL,
    content bytea NOT NULL
);
CREATE TABLE public.bank_import_statements (
    import_id uuid NOT NULL,
    "position" integer NOT NULL,
    number integer NOT NULL,
    iban text NOT NULL,
    currency text,
    name text NOT NULL,
    content bytea NOT NULL
);
CREATE TABLE public.bank_imports (
    id uuid NOT NULL,
    size_bytes bigint NOT NULL,
    status text DEFAULT 'uploaded'::text NOT NULL,
    because text,
    entries integer DEFAULT 0 NOT NULL,
    statement integer DEFAULT 0 NOT NULL,
    statement_id uuid,
    next_entry bigint DEFAULT 0 NOT NULL,
    statements integer DEFAULT 0 NOT NULL,
    new_entries integer DEFAULT 0 NOT NULL,
    known_entries integer DEFAULT 0 NOT NULL,
    matched integer DEFAULT 0 NOT NULL,
    unmatched integer DEFAULT 0 NOT NULL,
    uploaded_by text NOT NULL,
    uploaded_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    kind text,
    on_command_line boolean DEFAULT true NOT NULL,
    confirmed_at timestamp with time zone,
    CONSTRAINT bank_imports_because CHECK (((because IS NULL) = (status <> ALL (ARRAY['unconfirmed'::text, 'refused'::text, 'stopped'::text])))),
    CONSTRAINT bank_imports_ended CHECK (((ended_at IS NULL) = (status = ANY (ARRAY['uploaded'::text, 'importing'::text])))),
    CONSTRAINT bank_imports_kind_check CHECK ((kind = ANY (ARRAY['statement'::text, 'notification'::text, 'report'::text]))),
    CONSTRAINT bank_imports_size_bytes_check CHECK ((size_bytes > 0)),
    CONSTRAINT bank_imports_status_check CHECK ((status = ANY (ARRAY['uploaded'::text, 'unconfirmed'::text, 'importing'::text, 'imported'::text, 'refused'::text, 'stopped'::text])))
);
CREATE TABLE public.bank_reports (
    id uuid NOT NULL,
    batch_id uuid NOT NULL,
    message_id text NOT NULL,
    status text,
    rejected integer NOT NULL,
    unchanged integer NOT NULL,
    reason text,
    imported_by text NOT NULL,
    imported_at timestamp with time zone NOT NULL
);
CREATE TABLE public.bank_sendings (
    batch_id uuid NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    leased_until timestamp with time zone,
    next_try_at timestamp with time zone,
    error text,
    sent_at timestamp with time zone,
    CONSTRAINT bank_sendings_check CHECK (((next_try_at IS NULL) OR (sent_at IS NULL))),
    CONSTRAINT bank_sendings_check1 CHECK (((leased_until IS NULL) OR (next_try_at IS NOT NULL))),
    CONSTRAINT bank_sendings_error_check CHECK ((error <> ''::text)),
    CONSTRAINT bank_sendings_tries_check CHECK ((tries >= 0))
);
CREATE TABLE public.bitcoin_batch_coins (
    batch_id uuid NOT NULL,
    number integer NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    txid text NOT NULL,
    vout integer NOT NULL,
    amount_minor bigint NOT NULL,
    chain smallint NOT NULL,
    derivation_index bigint NOT NULL,
    released_at timestamp with time zone,
    CONSTRAINT bitcoin_batch_coins_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT bitcoin_batch_coins_chain_check CHECK ((chain = ANY (ARRAY[0, 1]))),
    CONSTRAINT bitcoin_batch_coins_derivation_index_check CHECK ((derivation_index >= 0)),
    CONSTRAINT bitcoin_batch_coins_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT bitcoin_batch_coins_number_check CHECK ((number > 0)),
    CONSTRAINT bitcoin_batch_coins_txid_check CHECK ((txid ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT bitcoin_batch_coins_vout_check CHECK ((vout >= 0))
);
CREATE TABLE public.bitcoin_batch_payouts (
    batch_id uuid NOT NULL,
    payout_id uuid NOT NULL,
    number integer NOT NULL,
    released_at timestamp with time zone,
    CONSTRAINT bitcoin_batch_payouts_number_check CHECK ((number > 0))
);
CREATE TABLE public.bitcoin_batches (
    id uuid NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    status text NOT NULL,
    is_draft_due boolean NOT NULL,
    wanted_rate bigint,
    change_index bigint,
    txid text,
    confirmations integer DEFAULT 0 NOT NULL,
    expensed_fee_minor bigint,
    conflict_height bigint,
    void_at timestamp with time zone,
    reason text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    check_at timestamp with time zone,
    CONSTRAINT bitcoin_batches_change_index_check CHECK (((change_index >= 0) AND (change_index < '2147483648'::bigint))),
    CONSTRAINT bitcoin_batches_confirmations_check CHECK ((confirmations >= 0)),
    CONSTRAINT bitcoin_batches_confirmed CHECK ((((txid IS NOT NULL) = (status = 'confirmed'::text)) AND ((txid IS NULL) = (expensed_fee_minor IS NULL)))),
    CONSTRAINT bitcoin_batches_conflict_height_check CHECK ((conflict_height >= 0)),
    CONSTRAINT bitcoin_batches_drafted CHECK (((change_index IS NOT NULL) OR (status = ANY (ARRAY['requested'::text, 'canceled'::text])))),
    CONSTRAINT bitcoin_batches_expensed_fee_minor_check CHECK ((expensed_fee_minor >= 0)),
    CONSTRAINT bitcoin_batches_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT bitcoin_batches_status_check CHECK ((status = ANY (ARRAY['requested'::text, 'drafted'::text, 'signed'::text, 'broadcast'::text, 'confirmed'::text, 'canceled'::text]))),
    CONSTRAINT bitcoin_batches_txid_check CHECK ((txid ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT bitcoin_batches_wanted_rate_check CHECK ((wanted_rate > 0))
);
CREATE TABLE public.bitcoin_outputs (
    rail text NOT NULL,
    mode text NOT NULL,
    txid text NOT NULL,
    vout integer NOT NULL,
    address text NOT NULL,
    amount_minor bigint NOT NULL,
    status text NOT NULL,
    confirmations integer NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT bitcoin_outputs_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT bitcoin_outputs_confirmations_check CHECK ((confirmations >= 0)),
    CONSTRAINT bitcoin_outputs_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT bitcoin_outputs_status_check CHECK ((status = ANY (ARRAY['seen'::text, 'vanished'::text, 'confirmed'::text, 'reversed'::text]))),
    CONSTRAINT bitcoin_outputs_txid_check CHECK ((txid ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT bitcoin_outputs_version_check CHECK ((version > 0)),
    CONSTRAINT bitcoin_outputs_vout_check CHECK ((vout >= 0))
);
CREATE TABLE public.bitcoin_payouts (
    id uuid NOT NULL,
    kind text NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    address text NOT NULL,
    amount_minor bigint NOT NULL,
    status text NOT NULL,
    txid text,
    fee_minor bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT bitcoin_payouts_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT bitcoin_payouts_fee_minor_check CHECK ((fee_minor >= 0)),
    CONSTRAINT bitcoin_payouts_kind_check CHECK ((kind = ANY (ARRAY['withdrawal'::text, 'refund'::text]))),
    CONSTRAINT bitcoin_payouts_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT bitcoin_payouts_paid CHECK ((((txid IS NOT NULL) = (status = 'completed'::text)) AND ((txid IS NULL) = (fee_minor IS NULL)))),
    CONSTRAINT bitcoin_payouts_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'batched'::text, 'completed'::text, 'failed'::text]))),
    CONSTRAINT bitcoin_payouts_txid_check CHECK ((txid ~ '^[0-9a-f]{64}$'::text))
);
CREATE TABLE public.bitcoin_transactions (
    batch_id uuid NOT NULL,
    number integer NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    txid text NOT NULL,
    psbt text NOT NULL,
    rate bigint NOT NULL,
    fee_minor bigint NOT NULL,
    change_minor bigint NOT NULL,
    drafted_at timestamp with time zone NOT NULL,
    raw bytea,
    signed_at timestamp with time zone,
    sent_at timestamp with time zone,
    CONSTRAINT bitcoin_transactions_change_minor_check CHECK ((change_minor >= 0)),
    CONSTRAINT bitcoin_transactions_fee_minor_check CHECK ((fee_minor > 0)),
    CONSTRAINT bitcoin_transactions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT bitcoin_transactions_number_check CHECK ((number > 0)),
    CONSTRAINT bitcoin_transactions_rate_check CHECK ((rate > 0)),
    CONSTRAINT bitcoin_transactions_signed CHECK ((((raw IS NULL) = (signed_at IS NULL)) AND ((raw IS NOT NULL) OR (sent_at IS NULL)))),
    CONSTRAINT bitcoin_transactions_txid_check CHECK ((txid ~ '^[0-9a-f]{64}$'::text))
);
CREATE TABLE public.card_payments (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    transaction_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_poll_at timestamp with time zone,
    CONSTRAINT card_payments_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.chain_deposits (
    rail text NOT NULL,
    mode text NOT NULL,
    tx_hash text NOT NULL,
    address text NOT NULL,
    currency text NOT NULL,
    sender text,
    units numeric(78,0) NOT NULL,
    amount_minor bigint NOT NULL,
    block_number bigint NOT NULL,
    block_hash text NOT NULL,
    block_at timestamp with time zone NOT NULL,
    status text NOT NULL,
    reported_block_hash text,
    reported_confirmations integer DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    sweep_id uuid,
    reversal_ref text,
    reversals integer DEFAULT 0 NOT NULL,
    CONSTRAINT chain_deposits_amount_minor_check CHECK ((amount_minor >= 0)),
    CONSTRAINT chain_deposits_block_number_check CHECK ((block_number >= 0)),
    CONSTRAINT chain_deposits_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT chain_deposits_reversals_check CHECK ((reversals >= 0)),
    CONSTRAINT chain_deposits_reversed CHECK ((((reversal_ref IS NULL) = (reversals = 0)) AND ((reversals > 0) OR (status <> ALL (ARRAY['reversed'::text, 'reinstated'::text]))))),
    CONSTRAINT chain_deposits_status_check CHECK ((status = ANY (ARRAY['seen'::text, 'vanished'::text, 'final'::text, 'confirmed'::text, 'ignored'::text, 'lost'::text, 'reversed'::text, 'reinstated'::text]))),
    CONSTRAINT chain_deposits_units_check CHECK ((units >= (0)::numeric))
);
CREATE TABLE public.chain_payout_health (
    rail text NOT NULL,
    mode text NOT NULL,
    reason text,
    currencies_down text[] NOT NULL,
    facts jsonb NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    CONSTRAINT chain_payout_health_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.chain_payouts (
    id uuid NOT NULL,
    kind text NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    chain_id bigint NOT NULL,
    currency text NOT NULL,
    contract text,
    receiver text NOT NULL,
    amount_units numeric(78,0) NOT NULL,
    status text NOT NULL,
    reason text,
    wallet text,
    nonce bigint,
    gas bigint,
    fee_per_gas bigint,
    tip_per_gas bigint,
    tx_hash text,
    block_number bigint,
    block_hash text,
    fee_wei numeric(78,0),
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    check_at timestamp with time zone,
    waits_for text,
    fee_currency text,
    fee_minor bigint,
    deposit_index bigint,
    transfer_id uuid GENERATED ALWAYS AS (
CASE
    WHEN (kind = ANY (ARRAY['withdrawal'::text, 'refund'::text])) THEN id
    ELSE NULL::uuid
END) STORED,
    refused_by_action_id uuid,
    exported_at timestamp with time zone,
    CONSTRAINT chain_payouts_amount_units_check CHECK ((amount_units > (0)::numeric)),
    CONSTRAINT chain_payouts_chain_id_check CHECK ((chain_id > 0)),
    CONSTRAINT chain_payouts_check CHECK (((tip_per_gas >= 0) AND (tip_per_gas <= fee_per_gas))),
    CONSTRAINT chain_payouts_contract_check CHECK ((contract ~ '^0x[0-9a-f]{40}$'::text)),
    CONSTRAINT chain_payouts_deposit CHECK (((deposit_index IS NOT NULL) = (kind = ANY (ARRAY['sweep'::text, 'gas'::text])))),
    CONSTRAINT chain_payouts_exported CHECK (((exported_at IS NULL) OR ((nonce IS NOT NULL) AND (status <> 'waiting'::text)))),
    CONSTRAINT chain_payouts_fee CHECK (((fee_currency IS NULL) = (fee_minor IS NULL))),
    CONSTRAINT chain_payouts_fee_minor_check CHECK ((fee_minor >= 0)),
    CONSTRAINT chain_payouts_fee_per_gas_check CHECK ((fee_per_gas > 0)),
    CONSTRAINT chain_payouts_gas_check CHECK ((gas > 0)),
    CONSTRAINT chain_payouts_kind_check CHECK ((kind = ANY (ARRAY['withdrawal'::text, 'refund'::text, 'sweep'::text, 'gas'::text]))),
    CONSTRAINT chain_payouts_mined CHECK ((((tx_hash IS NULL) = (block_number IS NULL)) AND ((tx_hash IS NULL) = (block_hash IS NULL)) AND ((tx_hash IS NULL) = (fee_wei IS NULL)) AND ((tx_hash IS NOT NULL) = ((status = ANY (ARRAY['mined'::text, 'completed'::text])) OR ((status = 'failed'::text) AND (nonce IS NOT NULL)))))),
    CONSTRAINT chain_payouts_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT chain_payouts_nonce_check CHECK ((nonce >= 0)),
    CONSTRAINT chain_payouts_receiver_check CHECK ((receiver ~ '^0x[0-9a-f]{40}$'::text)),
    CONSTRAINT chain_payouts_refused CHECK (((refused_by_action_id IS NULL) OR (status = ANY (ARRAY['waiting'::text, 'failed'::text])))),
    CONSTRAINT chain_payouts_reserved CHECK ((((wallet IS NULL) = (nonce IS NULL)) AND ((gas IS NULL) = (nonce IS NULL)) AND ((fee_per_gas IS NULL) = (nonce IS NULL)) AND ((tip_per_gas IS NULL) = (nonce IS NULL)) AND ((nonce IS NOT NULL) OR (status = ANY (ARRAY['waiting'::text, 'failed'::text]))) AND ((nonce IS NULL) OR (status <> 'waiting'::text)))),
    CONSTRAINT chain_payouts_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'reserved'::text, 'signed'::text, 'mined'::text, 'completed'::text, 'failed'::text]))),
    CONSTRAINT chain_payouts_waits CHECK (((waits_for IS NULL) OR (status = 'waiting'::text))),
    CONSTRAINT chain_payouts_waits_for_check CHECK ((waits_for = ANY (ARRAY['float'::text, 'gas_price'::text, 'turn'::text, 'share'::text, 'operator'::text])))
);
CREATE TABLE public.chain_transactions (
    payout_id uuid NOT NULL,
    number integer NOT NULL,
    tx_hash text NOT NULL,
    raw text NOT NULL,
    gas bigint NOT NULL,
    fee_per_gas bigint NOT NULL,
    tip_per_gas bigint NOT NULL,
    signed_at timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    CONSTRAINT chain_transactions_check CHECK (((tip_per_gas >= 0) AND (tip_per_gas <= fee_per_gas))),
    CONSTRAINT chain_transactions_fee_per_gas_check CHECK ((fee_per_gas > 0)),
    CONSTRAINT chain_transactions_gas_check CHECK ((gas > 0)),
    CONSTRAINT chain_transactions_number_check CHECK ((number > 0)),
    CONSTRAINT chain_transactions_raw_check CHECK ((raw ~ '^0x([0-9a-f]{2})+$'::text)),
    CONSTRAINT chain_transactions_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))
);
CREATE TABLE public.chain_wallets (
    rail text NOT NULL,
    mode text NOT NULL,
    address text NOT NULL,
    next_nonce bigint NOT NULL,
    CONSTRAINT chain_wallets_address_check CHECK ((address ~ '^0x[0-9a-fA-F]{40}$'::text)),
    CONSTRAINT chain_wallets_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT chain_wallets_next_nonce_check CHECK ((next_nonce >= 0))
);
CREATE TABLE public.chargeback_notes (
    id uuid NOT NULL,
    chargeback_id uuid NOT NULL,
    author text NOT NULL,
    note text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT chargeback_notes_note_check CHECK (((char_length(note) >= 1) AND (char_length(note) <= 2000)))
);
CREATE TABLE public.check_state (
    the_only boolean DEFAULT true NOT NULL,
    cluster bigint NOT NULL,
    verified pg_snapshot NOT NULL,
    verified_at timestamp with time zone NOT NULL,
    again_kind text,
    again_id uuid,
    full_at timestamp with time zone NOT NULL,
    CONSTRAINT check_state_check CHECK (((again_kind IS NULL) = (again_id IS NULL))),
    CONSTRAINT check_state_the_only_check CHECK (the_only)
);
CREATE TABLE public.conversion_positions (
    currency text NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    position_minor numeric DEFAULT 0 NOT NULL,
    limit_minor bigint,
    CONSTRAINT conversion_positions_currency_check CHECK ((currency ~ '^[A-Z0-9]{2,12}$'::text)),
    CONSTRAINT conversion_positions_limit_minor_check CHECK ((limit_minor > 0))
);
COMMENT ON COLUMN public.conversion_positions.id IS 'the subject of operators'' actions';
CREATE TABLE public.conversion_prices (
    id uuid NOT NULL,
    currency text NOT NULL,
    per_euro numeric(38,18) NOT NULL,
    operator text NOT NULL,
    at timestamp with time zone NOT NULL,
    source text DEFAULT 'operator'::text NOT NULL,
    CONSTRAINT conversion_prices_currency_check CHECK ((currency ~ '^[A-Z0-9]{2,12}$'::text)),
    CONSTRAINT conversion_prices_operator_check CHECK ((operator <> ''::text)),
    CONSTRAINT conversion_prices_per_euro_check CHECK ((per_euro > (0)::numeric)),
    CONSTRAINT conversion_prices_source_check CHECK ((source = ANY (ARRAY['operator'::text, 'feed'::text])))
);
CREATE TABLE public.conversion_quotes (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    from_currency text NOT NULL,
    to_currency text NOT NULL,
    rate numeric(38,18) NOT NULL,
    rate_as_of timestamp with time zone NOT NULL,
    from_amount_minor bigint NOT NULL,
    fee_minor bigint NOT NULL,
    to_amount_minor bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT conversion_quotes_check CHECK ((to_currency <> from_currency)),
    CONSTRAINT conversion_quotes_check1 CHECK (((fee_minor >= 0) AND (fee_minor <= (from_amount_minor - 1)))),
    CONSTRAINT conversion_quotes_check2 CHECK ((expires_at > created_at)),
    CONSTRAINT conversion_quotes_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT conversion_quotes_rate_check CHECK ((rate > (0)::numeric)),
    CONSTRAINT conversion_quotes_to_amount_minor_check CHECK ((to_amount_minor > 0))
);
CREATE TABLE public.conversion_rules (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    from_currency text NOT NULL,
    to_currency text NOT NULL,
    trigger text NOT NULL,
    threshold_minor bigint,
    percent integer NOT NULL,
    enabled boolean NOT NULL,
    webhook_url text,
    created_by_type text NOT NULL,
    created_by_client_id text,
    version integer DEFAULT 1 NOT NULL,
    seen_version bigint NOT NULL,
    waiting_minor bigint DEFAULT 0 NOT NULL,
    retry_at timestamp with time zone,
    runs integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT conversion_rules_check CHECK ((to_currency <> from_currency)),
    CONSTRAINT conversion_rules_check1 CHECK (((trigger = 'on_threshold'::text) = (threshold_minor IS NOT NULL))),
    CONSTRAINT conversion_rules_check2 CHECK (((created_by_type = 'oauth'::text) = (created_by_client_id IS NOT NULL))),
    CONSTRAINT conversion_rules_created_by_type_check CHECK ((created_by_type = ANY (ARRAY['api_key'::text, 'oauth'::text, 'dashboard'::text]))),
    CONSTRAINT conversion_rules_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT conversion_rules_percent_check CHECK (((percent >= 1) AND (percent <= 100))),
    CONSTRAINT conversion_rules_threshold_minor_check CHECK ((threshold_minor > 0)),
    CONSTRAINT conversion_rules_trigger_check CHECK ((trigger = ANY (ARRAY['on_payment'::text, 'on_threshold'::text]))),
    CONSTRAINT conversion_rules_waiting_minor_check CHECK ((waiting_minor >= 0))
);
CREATE TABLE public.currency_scales (
    code text NOT NULL,
    decimals integer NOT NULL,
    CONSTRAINT currency_scales_code_check CHECK ((code ~ '^[A-Z0-9]{2,12}$'::text)),
    CONSTRAINT currency_scales_decimals_check CHECK (((decimals >= 0) AND (decimals <= 8)))
);
CREATE TABLE public.customer_notes (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    customer_key text NOT NULL,
    author_id uuid NOT NULL,
    note text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT customer_notes_customer_key_check CHECK ((customer_key ~ '^(email|external_id):'::text)),
    CONSTRAINT customer_notes_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT customer_notes_note_check CHECK (((char_length(note) >= 1) AND (char_length(note) <= 2000)))
);
CREATE TABLE public.data_subject_requests (
    id uuid NOT NULL,
    kind text NOT NULL,
    email_mac bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT data_subject_requests_email_mac_check CHECK ((octet_length(email_mac) = 32)),
    CONSTRAINT data_subject_requests_kind_check CHECK ((kind = ANY (ARRAY['export'::text, 'erasure'::text])))
);
COMMENT ON COLUMN public.data_subject_requests.id IS 'the subject of the operator''s action';
CREATE TABLE public.database_identity (
    the_only boolean DEFAULT true NOT NULL,
    identity text NOT NULL,
    CONSTRAINT database_identity_the_only_check CHECK (the_only)
);
CREATE TABLE public.deposit_addresses (
    rail text NOT NULL,
    mode text NOT NULL,
    derivation_index bigint NOT NULL,
    address text NOT NULL,
    attempt_id uuid,
    given_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT deposit_addresses_derivation_index_check CHECK (((derivation_index >= 0) AND (derivation_index < '2147483648'::bigint))),
    CONSTRAINT deposit_addresses_given CHECK (((attempt_id IS NULL) = (given_at IS NULL))),
    CONSTRAINT deposit_addresses_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE UNLOGGED TABLE public.failed_attempts (
    name_hash bytea NOT NULL,
    failed_at timestamp with time zone[] NOT NULL,
    forget_at timestamp with time zone NOT NULL,
    CONSTRAINT failed_attempts_failed_at_check CHECK ((cardinality(failed_at) > 0)),
    CONSTRAINT failed_attempts_name_hash_check CHECK ((octet_length(name_hash) = 32))
);
CREATE TABLE public.hash_chain_blocks (
    number bigint NOT NULL,
    ledger_transactions uuid[] NOT NULL,
    operator_actions uuid[] NOT NULL,
    hash bytea NOT NULL,
    public_key bytea NOT NULL,
    signature bytea NOT NULL,
    cluster bigint NOT NULL,
    visible pg_snapshot NOT NULL,
    has_foreign_rows boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT hash_chain_blocks_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT hash_chain_blocks_number_check CHECK ((number > 0)),
    CONSTRAINT hash_chain_blocks_public_key_check CHECK ((octet_length(public_key) = 32)),
    CONSTRAINT hash_chain_blocks_signature_check CHECK ((octet_length(signature) = 64))
);
CREATE TABLE public.idempotency_keys (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    caller text NOT NULL,
    key_hash bytea NOT NULL,
    fingerprint bytea NOT NULL,
    status integer,
    answer bytea,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_fingerprint_check CHECK ((octet_length(fingerprint) = 32)),
    CONSTRAINT idempotency_keys_key_hash_check CHECK ((octet_length(key_hash) = 32)),
    CONSTRAINT idempotency_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.incoming_transfers (
    rail text NOT NULL,
    mode text NOT NULL,
    transfer_ref text NOT NULL,
    merchant_id uuid NOT NULL,
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    block_at timestamp with time zone,
    status text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT incoming_transfers_amount_minor_check CHECK ((amount_minor >= 0)),
    CONSTRAINT incoming_transfers_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT incoming_transfers_status_check CHECK ((status = ANY (ARRAY['seen'::text, 'vanished'::text, 'confirmed'::text])))
);
CREATE TABLE public.invariant_watch (
    the_last boolean DEFAULT true NOT NULL,
    looked_at timestamp with time zone,
    broken text[] NOT NULL,
    failed_at timestamp with time zone,
    failure text,
    CONSTRAINT invariant_watch_check CHECK (((failed_at IS NULL) = (failure IS NULL))),
    CONSTRAINT invariant_watch_check1 CHECK (((looked_at IS NOT NULL) OR (failed_at IS NOT NULL))),
    CONSTRAINT invariant_watch_the_last_check CHECK (the_last)
);
CREATE TABLE public.invitations (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    role text NOT NULL,
    invited_by uuid NOT NULL,
    mail_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    accepted_by uuid,
    CONSTRAINT invitations_check CHECK ((expires_at > created_at)),
    CONSTRAINT invitations_check1 CHECK (((accepted_by IS NULL) OR (ended_at IS NOT NULL))),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'administrator'::text, 'finance'::text, 'support'::text, 'developer'::text, 'read_only'::text])))
);
COMMENT ON COLUMN public.invitations.mail_id IS 'the email whose link accepts it: nothing else at rest does';
CREATE TABLE public.known_devices (
    user_id uuid NOT NULL,
    device_hash bytea NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT known_devices_device_hash_check CHECK ((octet_length(device_hash) = 32))
);
CREATE TABLE public.ledger_accounts (
    id bigint NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    merchant_id uuid,
    owner uuid GENERATED ALWAYS AS (COALESCE(merchant_id, '00000000-0000-0000-0000-000000000000'::uuid)) STORED NOT NULL,
    code text NOT NULL,
    normal_side text NOT NULL,
    guarded boolean NOT NULL,
    balance bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone,
    CONSTRAINT ledger_accounts_chart CHECK (((normal_side = public.ledger_normal_side((merchant_id IS NOT NULL), code)) IS TRUE)),
    CONSTRAINT ledger_accounts_currency_check CHECK ((currency ~ '^[A-Z0-9]{2,12}$'::text)),
    CONSTRAINT ledger_accounts_floor CHECK (((NOT guarded) OR (balance >= 0))),
    CONSTRAINT ledger_accounts_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ledger_accounts_owner CHECK ((guarded = (merchant_id IS NOT NULL))),
    CONSTRAINT ledger_accounts_platform CHECK ((guarded OR ((balance = 0) AND (version = 0))))
)
WITH (fillfactor='70');
ALTER TABLE public.ledger_accounts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ledger_accounts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ledger_postings (
    transaction_id uuid NOT NULL,
    line smallint NOT NULL,
    type text NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    debit_account_id bigint NOT NULL,
    credit_account_id bigint NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT ledger_postings_amount CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT ledger_postings_two_accounts CHECK ((debit_account_id <> credit_account_id))
);
CREATE VIEW public.ledger_daily_postings AS
 SELECT p.transaction_id,
    p.line,
    t.created_at,
    ((t.created_at AT TIME ZONE 'UTC'::text))::date AS day,
    p.mode,
    p.currency,
    p.type,
    d.code AS debit_code,
    d.merchant_id AS debit_merchant_id,
    c.code AS credit_code,
    c.merchant_id AS credit_merchant_id,
    p.amount,
    t.source_type,
    t.source_id
   FROM (((public.ledger_transactions t
     JOIN public.ledger_postings p ON ((p.transaction_id = t.id)))
     JOIN public.ledger_accounts d ON ((d.id = p.debit_account_id)))
     JOIN public.ledger_accounts c ON ((c.id = p.credit_account_id)));
CREATE TABLE public.ledger_daily_totals (
    mode text NOT NULL,
    currency text NOT NULL,
    day date NOT NULL,
    type text NOT NULL,
    debit_code text NOT NULL,
    credit_code text NOT NULL,
    amount_minor numeric NOT NULL,
    postings bigint NOT NULL,
    CONSTRAINT ledger_daily_totals_amount_minor_check CHECK ((amount_minor > (0)::numeric)),
    CONSTRAINT ledger_daily_totals_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ledger_daily_totals_postings_check CHECK ((postings > 0))
);
CREATE TABLE public.ledger_daily_totals_state (
    the_only boolean DEFAULT true NOT NULL,
    added_until timestamp with time zone NOT NULL,
    CONSTRAINT ledger_daily_totals_state_the_only_check CHECK (the_only)
);
CREATE TABLE public.ledger_release_kinds (
    source_type text NOT NULL,
    released_by text NOT NULL
);
CREATE TABLE public.ledger_transaction_applications (
    transaction_id uuid NOT NULL,
    mode text NOT NULL,
    oauth_client_id text NOT NULL
);
CREATE TABLE public.limit_uses (
    source_id uuid NOT NULL,
    kind text NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    spender text NOT NULL,
    credential_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    given_back_minor bigint DEFAULT 0 NOT NULL,
    used_at timestamp with time zone NOT NULL,
    CONSTRAINT limit_uses_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT limit_uses_check CHECK (((given_back_minor >= 0) AND (given_back_minor <= amount_minor))),
    CONSTRAINT limit_uses_kind_check CHECK ((kind = ANY (ARRAY['withdrawals'::text, 'refunds'::text, 'balance_payments'::text, 'conversions'::text, 'fulfillments'::text]))),
    CONSTRAINT limit_uses_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
COMMENT ON COLUMN public.limit_uses.spender IS 'the application, with all its connections, or the API key';
COMMENT ON COLUMN public.limit_uses.used_at IS 'by the test clock';
CREATE TABLE public.logos (
    merchant_id uuid NOT NULL,
    digest bytea NOT NULL,
    media_type text NOT NULL,
    content bytea NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT logos_content_check CHECK (((octet_length(content) >= 1) AND (octet_length(content) <= 1048576))),
    CONSTRAINT logos_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT logos_height_check CHECK (((height >= 1) AND (height <= 120))),
    CONSTRAINT logos_media_type_check CHECK ((media_type = ANY (ARRAY['image/png'::text, 'image/svg+xml'::text]))),
    CONSTRAINT logos_width_check CHECK (((width >= 1) AND (width <= 480)))
);
CREATE TABLE public.mail_kinds (
    about text NOT NULL
);
CREATE TABLE public.mails (
    id uuid NOT NULL,
    about text NOT NULL,
    user_id uuid,
    recipient text NOT NULL,
    language text NOT NULL,
    facts jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    useful_until timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    error text,
    sent_at timestamp with time zone,
    shown_at timestamp with time zone,
    given_up_at timestamp with time zone,
    used_at timestamp with time zone,
    occasion text,
    CONSTRAINT mails_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT mails_check CHECK ((useful_until > created_at)),
    CONSTRAINT mails_check1 CHECK (((used_at IS NULL) OR (about = ANY (ARRAY['verify'::text, 'reset'::text])))),
    CONSTRAINT mails_language_check CHECK ((language ~ '^[a-z]{2}$'::text)),
    CONSTRAINT mails_one_end CHECK ((num_nonnulls(next_attempt_at, sent_at, shown_at, given_up_at) = 1))
);
CREATE TABLE public.members (
    merchant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    decides_since timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'administrator'::text, 'finance'::text, 'support'::text, 'developer'::text, 'read_only'::text])))
);
COMMENT ON COLUMN public.members.removed_at IS 'null: a member; the row stays, so that the audit log can name who left';
COMMENT ON COLUMN public.members.decides_since IS 'since when the role moves money: who was let in a moment ago is no second member';
CREATE TABLE public.merchant_settings (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    version integer NOT NULL,
    default_currency text NOT NULL,
    payment_methods jsonb NOT NULL,
    link_expiry_minutes integer NOT NULL,
    underpayment_tolerance_bps integer NOT NULL,
    overpayment text NOT NULL,
    late_payments text NOT NULL,
    late_monitoring_days integer NOT NULL,
    success_url text,
    cancel_url text,
    branding jsonb NOT NULL,
    confirmations jsonb NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    additional_currencies text[] DEFAULT '{}'::text[] NOT NULL,
    settlement text DEFAULT 'convert'::text NOT NULL,
    CONSTRAINT merchant_settings_branding_check CHECK ((jsonb_typeof(branding) = 'object'::text)),
    CONSTRAINT merchant_settings_confirmations_check CHECK ((jsonb_typeof(confirmations) = 'object'::text)),
    CONSTRAINT merchant_settings_default_currency_check CHECK ((default_currency ~ '^[A-Z0-9]{2,12}$'::text)),
    CONSTRAINT merchant_settings_late_monitoring_days_check CHECK (((late_monitoring_days >= 1) AND (late_monitoring_days <= 365))),
    CONSTRAINT merchant_settings_late_payments_check CHECK ((late_payments = ANY (ARRAY['refund_required'::text, 'accept'::text]))),
    CONSTRAINT merchant_settings_link_expiry_minutes_check CHECK (((link_expiry_minutes >= 5) AND (link_expiry_minutes <= 525600))),
    CONSTRAINT merchant_settings_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT merchant_settings_overpayment_check CHECK ((overpayment = ANY (ARRAY['credit'::text, 'refund_required'::text]))),
    CONSTRAINT merchant_settings_payment_methods_check CHECK ((jsonb_typeof(payment_methods) = 'array'::text)),
    CONSTRAINT merchant_settings_settlement_check CHECK ((settlement = ANY (ARRAY['convert'::text, 'keep'::text]))),
    CONSTRAINT merchant_settings_underpayment_tolerance_bps_check CHECK (((underpayment_tolerance_bps >= 0) AND (underpayment_tolerance_bps <= 500))),
    CONSTRAINT merchant_settings_version_check CHECK ((version > 1))
);
CREATE TABLE public.merchants (
    id uuid NOT NULL,
    business_name text NOT NULL,
    suspended_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    time_zone text DEFAULT 'UTC'::text NOT NULL,
    legal_name text DEFAULT ''::text NOT NULL,
    address_line1 text DEFAULT ''::text NOT NULL,
    address_line2 text DEFAULT ''::text NOT NULL,
    postal_code text DEFAULT ''::text NOT NULL,
    city text DEFAULT ''::text NOT NULL,
    country text DEFAULT ''::text NOT NULL,
    tax_id text DEFAULT ''::text NOT NULL,
    register_entry text DEFAULT ''::text NOT NULL,
    closed_at timestamp with time zone,
    second_factors_required_at timestamp with time zone,
    CONSTRAINT merchants_address_line1_check CHECK ((char_length(address_line1) <= 100)),
    CONSTRAINT merchants_address_line2_check CHECK ((char_length(address_line2) <= 100)),
    CONSTRAINT merchants_city_check CHECK ((char_length(city) <= 80)),
    CONSTRAINT merchants_closed CHECK (((closed_at IS NULL) OR (suspended_at IS NOT NULL))),
    CONSTRAINT merchants_country_check CHECK ((country ~ '^([A-Z]{2})?$'::text)),
    CONSTRAINT merchants_legal_name_check CHECK ((char_length(legal_name) <= 120)),
    CONSTRAINT merchants_postal_code_check CHECK ((char_length(postal_code) <= 20)),
    CONSTRAINT merchants_register_entry_check CHECK ((char_length(register_entry) <= 100)),
    CONSTRAINT merchants_tax_id_check CHECK ((char_length(tax_id) <= 40)),
    CONSTRAINT merchants_time_zone CHECK ((time_zone ~ '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$'::text))
);
COMMENT ON COLUMN public.merchants.second_factors_required_at IS 'null: members decide themselves';
CREATE TABLE public.notification_digests (
    merchant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    next_at timestamp with time zone NOT NULL,
    through_at timestamp with time zone NOT NULL,
    last_on date
);
COMMENT ON TABLE public.notification_digests IS 'the next daily email of a member who chose it for a kind';
COMMENT ON COLUMN public.notification_digests.last_on IS 'the day of the last one, in the time zone of the merchant';
CREATE TABLE public.notification_marks (
    merchant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL,
    through_at timestamp with time zone NOT NULL,
    CONSTRAINT notification_marks_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text, 'both'::text])))
);
COMMENT ON TABLE public.notification_marks IS 'up to when a member marked all as read';
CREATE TABLE public.notification_preferences (
    merchant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    kind text NOT NULL,
    mail text NOT NULL,
    CONSTRAINT notification_preferences_mail_check CHECK ((mail = ANY (ARRAY['immediate'::text, 'daily'::text, 'never'::text])))
);
COMMENT ON TABLE public.notification_preferences IS 'which emails a member gets; immediate without a row';
CREATE TABLE public.notification_reads (
    merchant_id uuid NOT NULL,
    notification_id uuid NOT NULL,
    user_id uuid NOT NULL
);
COMMENT ON TABLE public.notification_reads IS 'notifications that a member marked as read one by one';
CREATE TABLE public.notifications (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    kind text NOT NULL,
    event text NOT NULL,
    user_id uuid,
    occasion text NOT NULL,
    subject text,
    facts jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT notifications_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text, 'both'::text]))),
    CONSTRAINT notifications_of_one CHECK (((kind = 'new_device'::text) = (user_id IS NOT NULL)))
);
COMMENT ON COLUMN public.notifications.mode IS 'both: about the account';
COMMENT ON COLUMN public.notifications.user_id IS 'null: for all members that may see its kind';
COMMENT ON COLUMN public.notifications.facts IS 'the values of its text, in no language';
CREATE TABLE public.oauth_access_tokens (
    token_hash bytea NOT NULL,
    grant_id uuid NOT NULL,
    scope_mask integer NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    retryable_until timestamp with time zone,
    created_at timestamp with time zone,
    dpop_jkt bytea,
    CONSTRAINT oauth_access_tokens_scope_mask_check CHECK (((scope_mask & (~ (1 << 18))) <> 0)),
    CONSTRAINT oauth_access_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32))
)
PARTITION BY RANGE (expires_at);
COMMENT ON COLUMN public.oauth_access_tokens.retryable_until IS 'the first use until then ends the retries of the refresh that issued the token';
COMMENT ON COLUMN public.oauth_access_tokens.dpop_jkt IS 'the key that must prove each use; null: a bearer token';
CREATE TABLE public.oauth_clients (
    id text NOT NULL,
    merchant_id uuid,
    client_type text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    website_url text,
    redirect_uris text[] NOT NULL,
    scope_mask integer NOT NULL,
    status text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    auth_epoch integer DEFAULT 1 NOT NULL,
    grant_epoch integer DEFAULT 1 NOT NULL,
    secret_hash bytea,
    secret_hint text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    suspended_at timestamp with time zone,
    grant_types text[] DEFAULT '{authorization_code,refresh_token}'::text[] NOT NULL,
    device_writes_allowed_at timestamp with time zone,
    logo_uri text,
    policy_uri text,
    tos_uri text,
    connection_webhook_url text,
    webhook_sender_id uuid,
    approved_at timestamp with time zone,
    verified_at timestamp with time zone,
    require_par boolean DEFAULT false NOT NULL,
    token_endpoint_auth_method text,
    jwks jsonb,
    jwks_uri text,
    created_by uuid,
    dpop_bound boolean DEFAULT false NOT NULL,
    document_url text,
    CONSTRAINT oauth_clients_auth_method CHECK (((token_endpoint_auth_method IS NULL) OR ((token_endpoint_auth_method = 'none'::text) AND (client_type = 'public'::text)) OR ((token_endpoint_auth_method = ANY (ARRAY['client_secret_basic'::text, 'client_secret_post'::text, 'private_key_jwt'::text])) AND (client_type = 'confidential'::text)))),
    CONSTRAINT oauth_clients_check CHECK (((client_type = 'confidential'::text) = (secret_hash IS NOT NULL))),
    CONSTRAINT oauth_clients_check1 CHECK (((status = 'revoked'::text) = (revoked_at IS NOT NULL))),
    CONSTRAINT oauth_clients_client_type_check CHECK ((client_type = ANY (ARRAY['confidential'::text, 'public'::text]))),
    CONSTRAINT oauth_clients_document CHECK (((document_url IS NULL) OR ((merchant_id IS NULL) AND (client_type = 'public'::text) AND (connection_webhook_url IS NULL) AND ((scope_mask & ((1 << 5) | (1 << 6))) = 0)))),
    CONSTRAINT oauth_clients_grant_types CHECK (((grant_types <@ '{authorization_code,refresh_token,urn:ietf:params:oauth:grant-type:device_code}'::text[]) AND (grant_types && '{authorization_code,urn:ietf:params:oauth:grant-type:device_code}'::text[]))),
    CONSTRAINT oauth_clients_keys CHECK (((num_nonnulls(jwks, jwks_uri) <= 1) AND ((token_endpoint_auth_method IS DISTINCT FROM 'private_key_jwt'::text) OR (num_nonnulls(jwks, jwks_uri) = 1)))),
    CONSTRAINT oauth_clients_redirect_uris_check CHECK (((cardinality(redirect_uris) <= 10) AND ((cardinality(redirect_uris) >= 1) OR (NOT ('authorization_code'::text = ANY (grant_types)))))),
    CONSTRAINT oauth_clients_reviewed CHECK (((merchant_id IS NOT NULL) OR (num_nonnulls(approved_at, verified_at) = 0))),
    CONSTRAINT oauth_clients_scope_mask_check CHECK (((scope_mask & (~ (1 << 18))) <> 0)),
    CONSTRAINT oauth_clients_secret_hash_check CHECK ((octet_length(secret_hash) = 32)),
    CONSTRAINT oauth_clients_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'paused'::text, 'revoked'::text]))),
    CONSTRAINT oauth_clients_webhook_sender CHECK (((connection_webhook_url IS NULL) OR (webhook_sender_id IS NOT NULL)))
);
COMMENT ON COLUMN public.oauth_clients.merchant_id IS 'null: part of every installation, without an owner';
COMMENT ON COLUMN public.oauth_clients.device_writes_allowed_at IS 'since when an operator lets devices request live write permissions';
COMMENT ON COLUMN public.oauth_clients.webhook_sender_id IS 'stands for the application where tables of webhooks have a merchant';
COMMENT ON COLUMN public.oauth_clients.approved_at IS 'since when an operator lets merchants give it live write permissions';
COMMENT ON COLUMN public.oauth_clients.verified_at IS 'since when an operator vouches for its owner, name and website';
COMMENT ON COLUMN public.oauth_clients.token_endpoint_auth_method IS 'null: the secret by either method, or none for a public application';
COMMENT ON COLUMN public.oauth_clients.dpop_bound IS 'whether all its new tokens must be bound to a key';
COMMENT ON COLUMN public.oauth_clients.document_url IS 'what such an application has as client_id; id is made from it';
COMMENT ON CONSTRAINT oauth_clients_document ON public.oauth_clients IS 'without balance payments: there is no owner to pay';
CREATE TABLE public.oauth_codes (
    code_hash bytea NOT NULL,
    client_id text NOT NULL,
    auth_epoch integer NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    redirect_uri text NOT NULL,
    challenge bytea NOT NULL,
    scope_mask integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    grant_id uuid,
    proposals_only boolean DEFAULT false NOT NULL,
    limits jsonb,
    resource text DEFAULT 'api'::text NOT NULL,
    dpop_jkt bytea,
    granted_by uuid,
    CONSTRAINT oauth_codes_challenge_check CHECK ((octet_length(challenge) = 32)),
    CONSTRAINT oauth_codes_check CHECK (((used_at IS NULL) = (grant_id IS NULL))),
    CONSTRAINT oauth_codes_code_hash_check CHECK ((octet_length(code_hash) = 32)),
    CONSTRAINT oauth_codes_dpop_jkt_check CHECK ((octet_length(dpop_jkt) = 32)),
    CONSTRAINT oauth_codes_limits CHECK (public.limits_are_valid(limits)),
    CONSTRAINT oauth_codes_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT oauth_codes_resource_check CHECK ((resource = ANY (ARRAY['api'::text, 'mcp'::text]))),
    CONSTRAINT oauth_codes_scope_mask_check CHECK (((scope_mask & (~ (1 << 18))) <> 0))
);
COMMENT ON COLUMN public.oauth_codes.dpop_jkt IS 'the key that must exchange the code; null: any, or none';
CREATE TABLE public.oauth_documents (
    url text NOT NULL,
    body bytea NOT NULL,
    fetched_at timestamp with time zone NOT NULL
);
CREATE TABLE public.oauth_grant_activity (
    grant_id uuid NOT NULL,
    last_used_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.oauth_grant_cutoffs (
    client_id text NOT NULL,
    grant_epoch integer NOT NULL,
    revoked_at timestamp with time zone NOT NULL,
    revoked_because text NOT NULL
);
CREATE TABLE public.oauth_grants (
    id uuid NOT NULL,
    client_id text NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    scope_mask integer NOT NULL,
    grant_epoch integer NOT NULL,
    refresh_generation integer DEFAULT 0 NOT NULL,
    refresh_hash bytea,
    mac_key_id text,
    revoked_at timestamp with time zone,
    revoked_because text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    proposals_only boolean DEFAULT false NOT NULL,
    limits jsonb,
    resource text DEFAULT 'api'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    expiry_noted_at timestamp with time zone,
    reminded_at timestamp with time zone,
    dpop_jkt bytea,
    granted_by uuid,
    CONSTRAINT oauth_grants_check CHECK (((revoked_at IS NULL) = (revoked_because IS NULL))),
    CONSTRAINT oauth_grants_check1 CHECK (((refresh_hash IS NULL) OR (mac_key_id IS NOT NULL))),
    CONSTRAINT oauth_grants_check2 CHECK (((revoked_at IS NOT NULL) OR ((scope_mask & (~ (1 << 18))) <> 0))),
    CONSTRAINT oauth_grants_check3 CHECK (((refresh_hash IS NULL) OR ((scope_mask & (1 << 18)) <> 0))),
    CONSTRAINT oauth_grants_dpop_jkt_check CHECK ((octet_length(dpop_jkt) = 32)),
    CONSTRAINT oauth_grants_limits CHECK (public.limits_are_valid(limits)),
    CONSTRAINT oauth_grants_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT oauth_grants_refresh_hash_check CHECK ((octet_length(refresh_hash) = 32)),
    CONSTRAINT oauth_grants_resource_check CHECK ((resource = ANY (ARRAY['api'::text, 'mcp'::text])))
)
WITH (fillfactor='80');
COMMENT ON COLUMN public.oauth_grants.resource IS 'what its tokens open';
COMMENT ON COLUMN public.oauth_grants.version IS 'rises with each change of permissions; the end of the connection is one more';
COMMENT ON COLUMN public.oauth_grants.expiry_noted_at IS 'when a job found that it had expired, and announced it';
COMMENT ON COLUMN public.oauth_grants.reminded_at IS 'when the merchant was reminded to renew it';
COMMENT ON COLUMN public.oauth_grants.dpop_jkt IS 'the key that must refresh: of public applications alone, others authenticate';
CREATE TABLE public.oauth_refresh_retries (
    grant_id uuid NOT NULL,
    generation integer NOT NULL,
    request_hash bytea NOT NULL,
    token_hash bytea NOT NULL,
    scope_mask integer NOT NULL,
    encrypted_tokens bytea NOT NULL,
    token_expires_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT oauth_refresh_retries_check CHECK ((expires_at < token_expires_at)),
    CONSTRAINT oauth_refresh_retries_request_hash_check CHECK ((octet_length(request_hash) = 32)),
    CONSTRAINT oauth_refresh_retries_scope_mask_check CHECK (((scope_mask & (~ (1 << 18))) <> 0)),
    CONSTRAINT oauth_refresh_retries_token_hash_check CHECK ((octet_length(token_hash) = 32))
);
COMMENT ON COLUMN public.oauth_refresh_retries.generation IS 'of the refresh token that was sent';
CREATE TABLE public.oauth_requests (
    id_hash bytea NOT NULL,
    client_id text NOT NULL,
    auth_epoch integer NOT NULL,
    merchant_id uuid,
    redirect_uri text,
    scope_mask integer NOT NULL,
    state text,
    challenge bytea,
    mode text NOT NULL,
    mac_key_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    decision text,
    decided_at timestamp with time zone,
    device_code_hash bytea,
    user_code text,
    device_address text,
    device_agent text,
    poll_interval_s integer DEFAULT 5 NOT NULL,
    polled_at timestamp with time zone,
    limits jsonb,
    resource text DEFAULT 'api'::text NOT NULL,
    is_pushed boolean DEFAULT false NOT NULL,
    opened_at timestamp with time zone,
    dpop_jkt bytea,
    CONSTRAINT oauth_requests_challenge_check CHECK ((octet_length(challenge) = 32)),
    CONSTRAINT oauth_requests_check CHECK (((decision IS NULL) = (decided_at IS NULL))),
    CONSTRAINT oauth_requests_check1 CHECK ((is_pushed OR (opened_at IS NULL))),
    CONSTRAINT oauth_requests_decision_check CHECK ((decision = ANY (ARRAY['allowed'::text, 'denied'::text]))),
    CONSTRAINT oauth_requests_device_code_hash_check CHECK ((octet_length(device_code_hash) = 32)),
    CONSTRAINT oauth_requests_dpop_jkt_check CHECK ((octet_length(dpop_jkt) = 32)),
    CONSTRAINT oauth_requests_ending CHECK (((num_nulls(redirect_uri, state, challenge) =
CASE
    WHEN (device_code_hash IS NULL) THEN 0
    ELSE 3
END) AND (num_nulls(user_code, device_address, device_agent) =
CASE
    WHEN (device_code_hash IS NULL) THEN 3
    ELSE 0
END))),
    CONSTRAINT oauth_requests_id_hash_check CHECK ((octet_length(id_hash) = 32)),
    CONSTRAINT oauth_requests_limits CHECK (public.limits_are_valid(limits)),
    CONSTRAINT oauth_requests_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT oauth_requests_resource_check CHECK ((resource = ANY (ARRAY['api'::text, 'mcp'::text]))),
    CONSTRAINT oauth_requests_scope_mask_check CHECK (((scope_mask & (~ (1 << 18))) <> 0)),
    CONSTRAINT oauth_requests_state_check CHECK (((char_length(state) >= 1) AND (char_length(state) <= 512))),
    CONSTRAINT oauth_requests_user_code_check CHECK ((user_code ~ '^[BCDFGHJKLMNPQRSTVWXZ]{8}$'::text))
);
COMMENT ON COLUMN public.oauth_requests.opened_at IS 'when a browser first came with the pushed request';
CREATE TABLE public.operator_action_kinds (
    action text NOT NULL,
    of_merchant boolean,
    needs_reason boolean NOT NULL
);
COMMENT ON COLUMN public.operator_action_kinds.of_merchant IS 'whether the action names a merchant; null: it may';
CREATE TABLE public.operator_approvals (
    id uuid NOT NULL,
    kind text NOT NULL,
    subject_id uuid NOT NULL,
    terms text NOT NULL,
    operator text NOT NULL,
    operator_key text NOT NULL,
    reason text,
    single_operator boolean NOT NULL,
    given_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT operator_approvals_kind_check CHECK ((kind = ANY (ARRAY['adjustment'::text, 'payout_return'::text, 'payout_refusal'::text, 'statements'::text]))),
    CONSTRAINT operator_approvals_operator_check CHECK ((operator <> ''::text))
);
CREATE TABLE public.operator_sessions (
    id_hash bytea NOT NULL,
    operator_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    proved_at timestamp with time zone,
    CONSTRAINT operator_sessions_id_hash_check CHECK ((octet_length(id_hash) = 32))
);
CREATE TABLE public.operators (
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    password_hash text,
    link_hash bytea,
    link_expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT operators_check CHECK (((link_hash IS NULL) = (link_expires_at IS NULL))),
    CONSTRAINT operators_check1 CHECK (((password_hash IS NULL) OR (link_hash IS NULL))),
    CONSTRAINT operators_check2 CHECK (((closed_at IS NULL) OR ((password_hash IS NULL) AND (link_hash IS NULL)))),
    CONSTRAINT operators_link_hash_check CHECK ((octet_length(link_hash) = 32))
);
CREATE VIEW public.partitioned_tables AS
 SELECT column1 AS name,
    column2 AS step,
    column3 AS ahead,
    column4 AS suffix,
    column5 AS by_id,
    column6 AS open_start,
    column7 AS fill
   FROM (VALUES ('oauth_access_tokens'::text,'06:00:00'::interval,4,'YYYYMMDDHH24'::text,false,false,100), ('webhook_events'::text,'1 mon'::interval,3,'YYYYMM'::text,true,true,56), ('webhook_attempts'::text,'1 mon'::interval,3,'YYYYMM'::text,true,true,100), ('api_requests'::text,'1 day'::interval,2,'YYYYMMDD'::text,true,false,100)) "*VALUES*";
COMMENT ON COLUMN public.partitioned_tables.ahead IS 'partitions beside the present one';
COMMENT ON COLUMN public.partitioned_tables.by_id IS 'partitioned by UUID version 7, not by time';
COMMENT ON COLUMN public.partitioned_tables.open_start IS 'the first partition takes everything older too';
CREATE TABLE public.passkeys (
    id uuid NOT NULL,
    holder_id uuid NOT NULL,
    holder_kind text NOT NULL,
    rp_id text NOT NULL,
    credential_id bytea NOT NULL,
    public_key bytea NOT NULL,
    sign_count bigint NOT NULL,
    transports text[] NOT NULL,
    backup_eligible boolean NOT NULL,
    backed_up boolean NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT passkeys_check CHECK ((backup_eligible OR (NOT backed_up))),
    CONSTRAINT passkeys_credential_id_check CHECK (((octet_length(credential_id) >= 1) AND (octet_length(credential_id) <= 1023))),
    CONSTRAINT passkeys_holder_kind_check CHECK ((holder_kind = ANY (ARRAY['person'::text, 'operator'::text]))),
    CONSTRAINT passkeys_sign_count_check CHECK (((sign_count >= 0) AND (sign_count <= '4294967295'::bigint)))
);
COMMENT ON COLUMN public.passkeys.holder_id IS 'a user or an operator';
COMMENT ON COLUMN public.passkeys.rp_id IS 'the host of the base URL when it was created; it works at no other host';
CREATE TABLE public.payment_reversals (
    id uuid NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    external_ref text NOT NULL,
    reversal_ref text NOT NULL,
    merchant_id uuid NOT NULL,
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    reason text NOT NULL,
    reported_minor bigint NOT NULL,
    status text NOT NULL,
    amount_minor bigint DEFAULT 0 NOT NULL,
    unapplied_minor bigint DEFAULT 0 NOT NULL,
    charged_back_minor bigint DEFAULT 0 NOT NULL,
    lost_minor bigint DEFAULT 0 NOT NULL,
    chargeback_id uuid,
    reported_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT payment_reversals_amount_minor_check CHECK ((amount_minor >= 0)),
    CONSTRAINT payment_reversals_charged_back_minor_check CHECK ((charged_back_minor >= 0)),
    CONSTRAINT payment_reversals_check CHECK ((amount_minor = ((unapplied_minor + charged_back_minor) + lost_minor))),
    CONSTRAINT payment_reversals_check1 CHECK (((chargeback_id IS NULL) = (charged_back_minor = 0))),
    CONSTRAINT payment_reversals_check2 CHECK (((status <> 'expected'::text) OR (amount_minor = 0))),
    CONSTRAINT payment_reversals_lost_minor_check CHECK ((lost_minor >= 0)),
    CONSTRAINT payment_reversals_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT payment_reversals_reported_minor_check CHECK ((reported_minor >= 0)),
    CONSTRAINT payment_reversals_status_check CHECK ((status = ANY (ARRAY['expected'::text, 'reversed'::text, 'reinstated'::text]))),
    CONSTRAINT payment_reversals_unapplied_minor_check CHECK ((unapplied_minor >= 0))
);
CREATE TABLE public.payout_pauses (
    id uuid NOT NULL,
    cause text NOT NULL,
    data_until timestamp with time zone,
    paused_at timestamp with time zone NOT NULL,
    paused_by text NOT NULL,
    reason text NOT NULL,
    resumed_at timestamp with time zone,
    resumed_by text,
    resumed_because text,
    CONSTRAINT payout_pauses_cause_check CHECK ((cause = ANY (ARRAY['restored'::text, 'operator'::text]))),
    CONSTRAINT payout_pauses_check CHECK (((cause = 'restored'::text) = (data_until IS NOT NULL))),
    CONSTRAINT payout_pauses_check1 CHECK ((((resumed_at IS NULL) = (resumed_by IS NULL)) AND ((resumed_at IS NULL) = (resumed_because IS NULL)))),
    CONSTRAINT payout_pauses_paused_by_check CHECK ((paused_by <> ''::text)),
    CONSTRAINT payout_pauses_reason_check CHECK ((reason <> ''::text))
);
CREATE TABLE public.price_feed (
    is_only boolean DEFAULT true NOT NULL,
    next_at timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    error text,
    CONSTRAINT price_feed_error_check CHECK ((error ~ '^[a-z0-9_]{1,40}$'::text)),
    CONSTRAINT price_feed_is_only_check CHECK (is_only)
);
CREATE TABLE public.price_rejections (
    currency text NOT NULL,
    reason text NOT NULL,
    rejected_at timestamp with time zone NOT NULL,
    CONSTRAINT price_rejections_currency_check CHECK ((currency ~ '^[A-Z0-9]{2,12}$'::text)),
    CONSTRAINT price_rejections_reason_check CHECK ((reason = ANY (ARRAY['sources_differ'::text, 'price_jump'::text])))
);
CREATE TABLE public.projects (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    website_url text,
    description text,
    status text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    rejected_because text,
    pending_changes jsonb,
    changes_rejected_because text,
    CONSTRAINT projects_changes_rejected CHECK (((changes_rejected_because IS NULL) OR (status = 'approved'::text))),
    CONSTRAINT projects_check CHECK (((rejected_because IS NULL) OR (status = 'rejected'::text))),
    CONSTRAINT projects_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT projects_pending_changes CHECK (((pending_changes IS NULL) OR ((mode = 'live'::text) AND (status = 'approved'::text) AND (changes_rejected_because IS NULL) AND (jsonb_typeof(pending_changes) = 'object'::text) AND (pending_changes <> '{}'::jsonb) AND ((((pending_changes - 'name'::text) - 'website_url'::text) - 'description'::text) = '{}'::jsonb) AND ((NOT (pending_changes ? 'name'::text)) OR (jsonb_typeof((pending_changes -> 'name'::text)) = 'string'::text))))),
    CONSTRAINT projects_status_check CHECK ((status = ANY (ARRAY['in_review'::text, 'approved'::text, 'rejected'::text])))
);
CREATE TABLE public.provider_balance_cursors (
    rail text NOT NULL,
    mode text NOT NULL,
    read_until timestamp with time zone NOT NULL,
    next_read_at timestamp with time zone NOT NULL,
    CONSTRAINT provider_balance_cursors_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.provider_balance_transactions (
    id uuid NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    external_id text NOT NULL,
    kind text NOT NULL,
    category text NOT NULL,
    source text,
    payment_intent text,
    object_id uuid,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    fee_minor bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    available_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    posted_currency text,
    posted_minor bigint,
    CONSTRAINT provider_balance_transactions_category_check CHECK ((length(category) <= 100)),
    CONSTRAINT provider_balance_transactions_check CHECK (((posted_currency IS NULL) = (posted_minor IS NULL))),
    CONSTRAINT provider_balance_transactions_check1 CHECK (((posted_currency IS NULL) OR ((settled_at IS NOT NULL) AND (posted_currency <> currency)))),
    CONSTRAINT provider_balance_transactions_check2 CHECK (((kind <> ALL (ARRAY['payment'::text, 'refund'::text])) OR (object_id IS NOT NULL))),
    CONSTRAINT provider_balance_transactions_check3 CHECK (((kind <> ALL (ARRAY['payment'::text, 'dispute'::text])) OR (payment_intent IS NOT NULL))),
    CONSTRAINT provider_balance_transactions_external_id_check CHECK ((length(external_id) <= 255)),
    CONSTRAINT provider_balance_transactions_kind_check CHECK ((kind = ANY (ARRAY['payment'::text, 'refund'::text, 'dispute'::text, 'payout'::text, 'fee'::text, 'other'::text]))),
    CONSTRAINT provider_balance_transactions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT provider_balance_transactions_payment_intent_check CHECK ((length(payment_intent) <= 255)),
    CONSTRAINT provider_balance_transactions_source_check CHECK ((length(source) <= 255))
);
CREATE TABLE public.provider_events (
    rail text NOT NULL,
    mode text NOT NULL,
    event_id text NOT NULL,
    type text NOT NULL,
    object_id text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone,
    CONSTRAINT provider_events_event_id_check CHECK ((length(event_id) <= 255)),
    CONSTRAINT provider_events_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT provider_events_object_id_check CHECK ((length(object_id) <= 255)),
    CONSTRAINT provider_events_tries_check CHECK ((tries >= 0)),
    CONSTRAINT provider_events_type_check CHECK ((length(type) <= 100))
);
CREATE TABLE public.rail_balances (
    rail text NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    measured_at timestamp with time zone NOT NULL,
    decimals smallint NOT NULL,
    outside_units numeric(78,0) NOT NULL,
    ledger_units numeric(78,0) NOT NULL,
    in_flight_units numeric(78,0) NOT NULL,
    difference_units numeric(78,0) NOT NULL,
    tolerance_units numeric(78,0) NOT NULL,
    facts jsonb NOT NULL,
    CONSTRAINT rail_balances_decimals_check CHECK (((decimals >= 0) AND (decimals <= 36))),
    CONSTRAINT rail_balances_difference CHECK ((difference_units = ((outside_units - ledger_units) - in_flight_units))),
    CONSTRAINT rail_balances_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rail_balances_tolerance_units_check CHECK ((tolerance_units >= (0)::numeric))
);
CREATE TABLE public.rail_cursors (
    rail text NOT NULL,
    mode text NOT NULL,
    cursor jsonb,
    leased_by uuid,
    leased_until timestamp with time zone,
    updated_at timestamp with time zone,
    CONSTRAINT rail_cursors_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.rail_floats (
    id uuid NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT rail_floats_amount_minor_check CHECK ((amount_minor <> 0)),
    CONSTRAINT rail_floats_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.rail_health (
    rail text NOT NULL,
    mode text NOT NULL,
    available boolean NOT NULL,
    reason text,
    facts jsonb NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    CONSTRAINT rail_health_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.rail_measurements (
    rail text NOT NULL,
    mode text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    failure text,
    CONSTRAINT rail_measurements_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.rail_observations (
    rail text NOT NULL,
    mode text NOT NULL,
    external_ref text NOT NULL,
    outcome text NOT NULL,
    merchant_id uuid NOT NULL,
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    confirmations integer DEFAULT 0 NOT NULL,
    at timestamp with time zone NOT NULL,
    payer_account text,
    payer_name text,
    seen_at timestamp with time zone,
    CONSTRAINT rail_observations_amount_minor_check CHECK ((amount_minor >= 0)),
    CONSTRAINT rail_observations_check CHECK (((outcome = 'seen'::text) OR (confirmations = 0))),
    CONSTRAINT rail_observations_check1 CHECK (((outcome <> 'confirmed'::text) OR (amount_minor > 0))),
    CONSTRAINT rail_observations_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rail_observations_outcome_check CHECK ((outcome = ANY (ARRAY['seen'::text, 'vanished'::text, 'confirmed'::text, 'failed'::text])))
);
CREATE TABLE public.receipt_counters (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    year integer NOT NULL,
    last_number integer NOT NULL,
    CONSTRAINT receipt_counters_last_number_check CHECK ((last_number > 0)),
    CONSTRAINT receipt_counters_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT receipt_counters_year_check CHECK (((year >= 1970) AND (year <= 2999)))
);
CREATE TABLE public.receipt_mails (
    transaction_id uuid NOT NULL,
    ordinal smallint NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    handled_at timestamp with time zone,
    withheld boolean DEFAULT false NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    CONSTRAINT receipt_mails_attempt CHECK (((handled_at IS NULL) = (next_attempt_at IS NOT NULL))),
    CONSTRAINT receipt_mails_check CHECK (((requested_by = 'payment'::text) OR (handled_at IS NOT NULL))),
    CONSTRAINT receipt_mails_ordinal_check CHECK (((ordinal >= 1) AND (ordinal <= 3))),
    CONSTRAINT receipt_mails_requested_by_check CHECK ((requested_by = ANY (ARRAY['payment'::text, 'payer'::text, 'merchant'::text])))
);
CREATE TABLE public.receipts (
    transaction_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    year integer NOT NULL,
    number integer NOT NULL,
    seller jsonb NOT NULL,
    issued_at timestamp with time zone NOT NULL,
    CONSTRAINT receipts_number_check CHECK ((number > 0))
);
CREATE TABLE public.row_digests (
    kind text NOT NULL,
    id uuid NOT NULL,
    digest bytea NOT NULL,
    xact xid8 DEFAULT pg_current_xact_id() NOT NULL,
    CONSTRAINT row_digests_digest_check CHECK ((octet_length(digest) = 32))
);
CREATE VIEW public.running_sources AS
 SELECT t.id,
    t.mode,
    t.created_at AS at,
    COALESCE(x.method_id, ''::text) AS method_id,
    COALESCE(l.project_id, '00000000-0000-0000-0000-000000000000'::uuid) AS project_id
   FROM ((((public.ledger_transactions t
     LEFT JOIN public.refunds r ON (((t.source_type = 'refund'::text) AND (r.id = t.source_id))))
     LEFT JOIN public.chargebacks c ON (((t.source_type = 'chargeback'::text) AND (c.id = t.source_id))))
     LEFT JOIN public.transactions x ON ((x.id =
        CASE t.source_type
            WHEN 'transaction'::text THEN t.source_id
            WHEN 'refund'::text THEN r.transaction_id
            WHEN 'chargeback'::text THEN c.transaction_id
            ELSE NULL::uuid
        END)))
     LEFT JOIN public.payment_links l ON ((l.id = x.payment_link_id)));
CREATE VIEW public.running_entries AS
 SELECT e.merchant_id,
    e.mode,
    e.currency,
    e.type,
    ((e.account = 'debt'::text) <> (e.delta > 0)) AS raised,
    t.method_id,
    t.project_id,
    t.at,
        CASE e.account
            WHEN 'debt'::text THEN (- e.delta)
            ELSE e.delta
        END AS amount,
    e.transaction_id,
    e.created_at
   FROM (public.ledger_entries e
     JOIN public.running_sources t ON (((t.id = e.transaction_id) AND (t.mode = e.mode))))
  WHERE (e.type <> ALL (ARRAY['hold'::text, 'release'::text, 'settlement'::text]));
CREATE TABLE public.running_series (
    id bigint NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    measure text NOT NULL,
    currency text NOT NULL,
    type text NOT NULL,
    raised boolean NOT NULL,
    method_id text NOT NULL,
    project_id uuid NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    amount numeric NOT NULL,
    count bigint NOT NULL,
    latest_at timestamp with time zone NOT NULL,
    CONSTRAINT running_series_measure_check CHECK ((measure = ANY (ARRAY['entries'::text, 'succeeded'::text, 'failed'::text, 'refunded'::text, 'fulfilled'::text, 'delivered'::text]))),
    CONSTRAINT running_series_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
)
WITH (fillfactor='70');
COMMENT ON COLUMN public.running_series.type IS 'of an entry its type, of a fulfillment its status, of a delivery the status and the seconds it took';
COMMENT ON COLUMN public.running_series.raised IS 'whether the entries raise the total of the merchant''s balance';
COMMENT ON COLUMN public.running_series.method_id IS 'of the payment that an entry belongs to, or the product of a fulfillment; empty if there is none';
COMMENT ON COLUMN public.running_series.project_id IS 'of the payment or fulfillment; zero if there is none';
COMMENT ON COLUMN public.running_series.starts_at IS 'the last quarter hour in which something was added';
COMMENT ON COLUMN public.running_series.latest_at IS 'the latest time of an entry that was added in that quarter hour';
ALTER TABLE public.running_series ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.running_series_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE VIEW public.running_sums AS
 SELECT running_entries.merchant_id,
    running_entries.mode,
    'entries'::text AS measure,
    running_entries.currency,
    running_entries.type,
    running_entries.raised,
    running_entries.method_id,
    running_entries.project_id,
    public.quarter_hour(running_entries.at) AS starts_at,
    sum(running_entries.amount) AS amount,
    count(DISTINCT running_entries.transaction_id) AS count,
    max(running_entries.created_at) AS latest_at
   FROM public.running_entries
  GROUP BY running_entries.merchant_id, running_entries.mode, running_entries.currency, running_entries.type, running_entries.raised, running_entries.method_id, running_entries.project_id, (public.quarter_hour(running_entries.at))
UNION ALL
 SELECT transactions.merchant_id,
    transactions.mode,
    'succeeded'::text AS measure,
    transactions.currency,
    ''::text AS type,
    true AS raised,
    transactions.method_id,
    '00000000-0000-0000-0000-000000000000'::uuid AS project_id,
    public.quarter_hour(transactions.succeeded_at) AS starts_at,
    sum(transactions.credited_minor) AS amount,
    count(*) AS count,
    max(transactions.succeeded_at) AS latest_at
   FROM public.transactions
  WHERE (transactions.succeeded_at IS NOT NULL)
  GROUP BY transactions.merchant_id, transactions.mode, transactions.currency, transactions.method_id, (public.quarter_hour(transactions.succeeded_at))
UNION ALL
 SELECT transactions.merchant_id,
    transactions.mode,
    'failed'::text AS measure,
    transactions.currency,
    ''::text AS type,
    true AS raised,
    ''::text AS method_id,
    '00000000-0000-0000-0000-000000000000'::uuid AS project_id,
    public.quarter_hour(transactions.updated_at) AS starts_at,
    0 AS amount,
    count(*) AS count,
    max(transactions.updated_at) AS latest_at
   FROM public.transactions
  WHERE (transactions.status = 'failed'::text)
  GROUP BY transactions.merchant_id, transactions.mode, transactions.currency, (public.quarter_hour(transactions.updated_at))
UNION ALL
 SELECT refunds.merchant_id,
    refunds.mode,
    'refunded'::text AS measure,
    refunds.currency,
    ''::text AS type,
    false AS raised,
    ''::text AS method_id,
    '00000000-0000-0000-0000-000000000000'::uuid AS project_id,
    public.quarter_hour(refunds.created_at) AS starts_at,
    sum((refunds.amount_minor - refunds.unapplied_minor)) AS amount,
    count(*) AS count,
    max(refunds.created_at) AS latest_at
   FROM public.refunds
  WHERE ((refunds.status = 'succeeded'::text) AND (refunds.unapplied_minor < refunds.amount_minor))
  GROUP BY refunds.merchant_id, refunds.mode, refunds.currency, (public.quarter_hour(refunds.created_at))
UNION ALL
 SELECT fulfillments.merchant_id,
    fulfillments.mode,
    'fulfilled'::text AS measure,
    fulfillments.currency,
    fulfillments.status AS type,
    false AS raised,
    fulfillments.product_id AS method_id,
    COALESCE(fulfillments.project_id, '00000000-0000-0000-0000-000000000000'::uuid) AS project_id,
    public.quarter_hour(fulfillments.created_at) AS starts_at,
    sum((fulfillments.unit_price_minor * fulfillments.delivered_quantity)) AS amount,
    count(*) AS count,
    max(fulfillments.created_at) AS latest_at
   FROM public.fulfillments
  WHERE (fulfillments.status <> ALL (ARRAY['pending'::text, 'processing'::text]))
  GROUP BY fulfillments.merchant_id, fulfillments.mode, fulfillments.currency, fulfillments.status, fulfillments.product_id, COALESCE(fulfillments.project_id, '00000000-0000-0000-0000-000000000000'::uuid), (public.quarter_hour(fulfillments.created_at))
UNION ALL
 SELECT fulfillments.merchant_id,
    fulfillments.mode,
    'delivered'::text AS measure,
    ''::text AS currency,
    ((fulfillments.status || ' '::text) || public.delivery_seconds(fulfillments.created_at, fulfillments.completed_at)) AS type,
    true AS raised,
    fulfillments.product_id AS method_id,
    COALESCE(fulfillments.project_id, '00000000-0000-0000-0000-000000000000'::uuid) AS project_id,
    public.quarter_hour(fulfillments.created_at) AS starts_at,
    sum(fulfillments.delivered_quantity) AS amount,
    count(*) AS count,
    max(fulfillments.created_at) AS latest_at
   FROM public.fulfillments
  WHERE ((fulfillments.status <> ALL (ARRAY['pending'::text, 'processing'::text])) AND (fulfillments.completed_at IS NOT NULL))
  GROUP BY fulfillments.merchant_id, fulfillments.mode, ((fulfillments.status || ' '::text) || public.delivery_seconds(fulfillments.created_at, fulfillments.completed_at)), fulfillments.product_id, COALESCE(fulfillments.project_id, '00000000-0000-0000-0000-000000000000'::uuid), (public.quarter_hour(fulfillments.created_at));
CREATE TABLE public.running_totals (
    series_id bigint NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    amount numeric NOT NULL,
    count bigint NOT NULL,
    latest_at timestamp with time zone NOT NULL
);
CREATE TABLE public.sandbox_plans (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text DEFAULT 'test'::text NOT NULL,
    transaction_id uuid NOT NULL,
    outcome text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    CONSTRAINT sandbox_plans_mode_check CHECK ((mode = 'test'::text)),
    CONSTRAINT sandbox_plans_outcome_check CHECK ((outcome = ANY (ARRAY['succeed'::text, 'chargeback'::text])))
);
CREATE TABLE public.saved_filters (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL,
    list_name text NOT NULL,
    name text NOT NULL,
    query text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT saved_filters_list_name_check CHECK (((char_length(list_name) >= 1) AND (char_length(list_name) <= 40))),
    CONSTRAINT saved_filters_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT saved_filters_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60))),
    CONSTRAINT saved_filters_query_check CHECK (((char_length(query) >= 1) AND (char_length(query) <= 2000)))
);
CREATE TABLE public.schema_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.scope_bits (
    scope text NOT NULL,
    "bit" integer NOT NULL,
    CONSTRAINT scope_bits_bit_check CHECK ((("bit" >= 0) AND ("bit" <= 30)))
);
CREATE TABLE public.second_factors (
    holder_id uuid NOT NULL,
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    last_step bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    confirmed_at timestamp with time zone,
    CONSTRAINT second_factors_nonce_check CHECK ((octet_length(nonce) = 12))
);
CREATE TABLE public.second_member_rules (
    merchant_id uuid NOT NULL,
    currency text NOT NULL,
    above_minor bigint,
    set_by uuid NOT NULL,
    set_at timestamp with time zone NOT NULL,
    change_by uuid,
    change_at timestamp with time zone,
    change_above_minor bigint,
    confirmed_by uuid,
    confirmed_at timestamp with time zone,
    CONSTRAINT second_member_rules_above_minor_check CHECK ((above_minor >= 0)),
    CONSTRAINT second_member_rules_change_above_minor_check CHECK ((change_above_minor >= 0)),
    CONSTRAINT second_member_rules_check CHECK (((change_by IS NULL) = (change_at IS NULL))),
    CONSTRAINT second_member_rules_check1 CHECK (((confirmed_by IS NULL) = (confirmed_at IS NULL))),
    CONSTRAINT second_member_rules_check2 CHECK (((change_above_minor IS NULL) OR (change_at IS NOT NULL)))
);
COMMENT ON TABLE public.second_member_rules IS 'with an amount in any currency, one without needs a second member always';
COMMENT ON COLUMN public.second_member_rules.above_minor IS 'null: no amount, or not yet';
COMMENT ON COLUMN public.second_member_rules.set_at IS 'when there was an amount, of any currency, first';
COMMENT ON COLUMN public.second_member_rules.change_by IS 'who asks for another amount, or for none; null: nobody';
COMMENT ON COLUMN public.second_member_rules.confirmed_by IS 'who confirmed the last change';
CREATE TABLE public.secret_keys (
    key_id text NOT NULL,
    check_value bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    given_up_at timestamp with time zone,
    CONSTRAINT secret_keys_check_value_check CHECK ((octet_length(check_value) = 16))
);
CREATE TABLE public.sessions (
    id_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    public_id uuid DEFAULT gen_random_uuid() NOT NULL,
    user_agent text,
    address text,
    proved_at timestamp with time zone,
    merchant_id uuid,
    device_hash bytea,
    CONSTRAINT sessions_device_hash_check CHECK ((octet_length(device_hash) = 32)),
    CONSTRAINT sessions_id_hash_check CHECK ((octet_length(id_hash) = 32))
);
COMMENT ON COLUMN public.sessions.merchant_id IS 'the merchant that the session acts for';
COMMENT ON COLUMN public.sessions.device_hash IS 'the known device on which the session is not ended by 12 hours without use; null: nowhere';
CREATE TABLE public.state_transitions (
    record text NOT NULL,
    from_status text NOT NULL,
    to_status text NOT NULL
);
CREATE TABLE public.support_refund_limits (
    merchant_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    CONSTRAINT support_refund_limits_amount_minor_check CHECK ((amount_minor > 0))
);
CREATE TABLE public.test_clocks (
    merchant_id uuid NOT NULL,
    mode text DEFAULT 'test'::text NOT NULL,
    ahead interval NOT NULL,
    CONSTRAINT test_clocks_ahead_check CHECK (((ahead > '00:00:00'::interval) AND (ahead <= '10 years'::interval))),
    CONSTRAINT test_clocks_mode_check CHECK ((mode = 'test'::text))
);
CREATE TABLE public.transaction_steps (
    transaction_id uuid NOT NULL,
    version integer NOT NULL,
    status text NOT NULL,
    detail text,
    at timestamp with time zone NOT NULL
);
CREATE TABLE public.used_jtis (
    jti_hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT used_jtis_jti_hash_check CHECK ((octet_length(jti_hash) = 32))
);
CREATE TABLE public.users (
    id uuid NOT NULL,
    merchant_id uuid,
    email text NOT NULL,
    email_key text NOT NULL,
    password_hash text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    language text DEFAULT 'en'::text NOT NULL,
    verified_at timestamp with time zone,
    password_changed_at timestamp with time zone,
    password_reset_at timestamp with time zone,
    dashboard_mode text,
    muted_topics text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT users_dashboard_mode_check CHECK ((dashboard_mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT users_language_check CHECK ((language ~ '^[a-z]{2}$'::text)),
    CONSTRAINT users_muted_topics_check CHECK ((muted_topics <@ ARRAY['disputes'::text, 'withdrawals'::text, 'refunds'::text, 'projects'::text, 'webhooks'::text, 'applications'::text]))
);
COMMENT ON COLUMN public.users.merchant_id IS 'the merchant that the user opened; for the version before members';
CREATE TABLE public.value_releases (
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    released_at timestamp with time zone NOT NULL,
    CONSTRAINT value_releases_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT value_releases_source_type_check CHECK ((source_type = ANY (ARRAY['withdrawal'::text, 'refund'::text, 'balance_payment'::text, 'fulfillment'::text, 'conversion'::text, 'chargeback'::text])))
);
CREATE TABLE public.webhook_attempts (
    event_id uuid NOT NULL,
    attempt integer NOT NULL,
    trigger text NOT NULL,
    status text NOT NULL,
    error text,
    http_status integer,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    response_headers jsonb,
    response_body text,
    CONSTRAINT webhook_attempts_check CHECK (((status = 'failed'::text) = (error IS NOT NULL))),
    CONSTRAINT webhook_attempts_status_check CHECK ((status = ANY (ARRAY['succeeded'::text, 'failed'::text]))),
    CONSTRAINT webhook_attempts_trigger_check CHECK ((trigger = ANY (ARRAY['automatic'::text, 'manual'::text, 'test'::text])))
)
PARTITION BY RANGE (event_id);
CREATE TABLE public.webhook_deliveries (
    event_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    destination_key bigint NOT NULL,
    lane smallint DEFAULT 0 NOT NULL,
    run_at timestamp with time zone NOT NULL,
    automatic_at timestamp with time zone,
    trigger text DEFAULT 'automatic'::text NOT NULL,
    redeliveries integer DEFAULT 0 NOT NULL,
    held boolean DEFAULT false NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    sending text,
    lease_token uuid,
    lease_until timestamp with time zone,
    CONSTRAINT webhook_deliveries_check CHECK (((automatic_at IS NOT NULL) OR (redeliveries > 0))),
    CONSTRAINT webhook_deliveries_check1 CHECK (((lease_token IS NULL) = (lease_until IS NULL))),
    CONSTRAINT webhook_deliveries_check2 CHECK (((lease_token IS NULL) = (sending IS NULL))),
    CONSTRAINT webhook_deliveries_lane_check CHECK (((lane >= 0) AND (lane <= 2))),
    CONSTRAINT webhook_deliveries_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_deliveries_redeliveries_check CHECK ((redeliveries >= 0)),
    CONSTRAINT webhook_deliveries_sending_check CHECK ((sending = ANY (ARRAY['automatic'::text, 'manual'::text, 'test'::text]))),
    CONSTRAINT webhook_deliveries_trigger_check CHECK ((trigger = ANY (ARRAY['automatic'::text, 'test'::text])))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500', autovacuum_vacuum_cost_delay='0');
CREATE TABLE public.webhook_deliveries_later (
    event_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    destination_key bigint NOT NULL,
    run_at timestamp with time zone NOT NULL,
    trigger text NOT NULL,
    held boolean DEFAULT false NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    CONSTRAINT webhook_deliveries_later_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_deliveries_later_trigger_check CHECK ((trigger = ANY (ARRAY['automatic'::text, 'test'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000');
CREATE TABLE public.webhook_environments (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    delivery_disabled_at timestamp with time zone,
    url text,
    destination_key bigint,
    event_types text[],
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    CONSTRAINT webhook_environments_check CHECK (((url IS NULL) = (destination_key IS NULL))),
    CONSTRAINT webhook_environments_check1 CHECK (((url IS NULL) = (event_types IS NULL))),
    CONSTRAINT webhook_environments_check2 CHECK (((url IS NULL) = (created_at IS NULL))),
    CONSTRAINT webhook_environments_check3 CHECK (((url IS NULL) = (updated_at IS NULL))),
    CONSTRAINT webhook_environments_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
COMMENT ON COLUMN public.webhook_environments.merchant_id IS 'a merchant, or the webhook_sender_id of an application';
CREATE TABLE public.webhook_event_keys (
    source_id uuid NOT NULL,
    source_type text NOT NULL,
    type text NOT NULL,
    sequence bigint NOT NULL
);
CREATE TABLE public.webhook_event_statuses (
    event_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    status text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT webhook_event_statuses_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_event_statuses_status_check CHECK ((status = ANY (ARRAY['retrying'::text, 'failed'::text, 'canceled'::text, 'held'::text])))
);
CREATE TABLE public.webhook_failures (
    event_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    failed_at timestamp with time zone NOT NULL,
    CONSTRAINT webhook_failures_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.webhook_feeds (
    number bigint NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    last_position bigint NOT NULL,
    expired_position bigint DEFAULT 0 NOT NULL,
    CONSTRAINT webhook_feeds_check CHECK (((0 <= expired_position) AND (expired_position <= last_position))),
    CONSTRAINT webhook_feeds_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
)
WITH (fillfactor='50');
COMMENT ON COLUMN public.webhook_feeds.expired_position IS 'events up to here were deleted by age';
ALTER TABLE public.webhook_feeds ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_feeds_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.webhook_positions (
    number bigint NOT NULL,
    last_position bigint NOT NULL,
    event_ids uuid[] NOT NULL,
    CONSTRAINT webhook_positions_event_ids_check CHECK (((cardinality(event_ids) >= 1) AND (cardinality(event_ids) <= 100)))
);
COMMENT ON COLUMN public.webhook_positions.event_ids IS 'the events up to last_position, in order, that were numbered together';
CREATE TABLE public.webhook_redelivery_runs (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    type text NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    expected integer NOT NULL,
    looked_at integer DEFAULT 0 NOT NULL,
    sent integer DEFAULT 0 NOT NULL,
    passed_over integer DEFAULT 0 NOT NULL,
    reached_at timestamp with time zone NOT NULL,
    reached_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ended_because text,
    CONSTRAINT webhook_redelivery_runs_check CHECK ((until >= since)),
    CONSTRAINT webhook_redelivery_runs_check1 CHECK (((ended_at IS NULL) = (ended_because IS NULL))),
    CONSTRAINT webhook_redelivery_runs_check2 CHECK (((sent + passed_over) <= looked_at)),
    CONSTRAINT webhook_redelivery_runs_ended_because_check CHECK ((ended_because = ANY (ARRAY['done'::text, 'webhook_delivery_disabled'::text, 'webhook_secret_missing'::text]))),
    CONSTRAINT webhook_redelivery_runs_expected_check CHECK ((expected >= 0)),
    CONSTRAINT webhook_redelivery_runs_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_redelivery_runs_passed_over_check CHECK ((passed_over >= 0)),
    CONSTRAINT webhook_redelivery_runs_sent_check CHECK ((sent >= 0))
);
CREATE TABLE public.webhook_replays (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    event_id uuid NOT NULL,
    url text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    duration_ms integer,
    error text,
    http_status integer,
    response_headers jsonb,
    response_body text,
    CONSTRAINT webhook_replays_duration_ms_check CHECK ((duration_ms >= 0)),
    CONSTRAINT webhook_replays_mode_check CHECK ((mode = 'test'::text)),
    CONSTRAINT webhook_replays_result CHECK (((duration_ms IS NOT NULL) OR (num_nonnulls(error, http_status) = 0))),
    CONSTRAINT webhook_replays_sent_once CHECK (((started_at IS NOT NULL) OR (num_nonnulls(duration_ms, error, http_status) = 0)))
);
COMMENT ON COLUMN public.webhook_replays.started_at IS 'when a worker took it; nobody takes it again';
COMMENT ON COLUMN public.webhook_replays.duration_ms IS 'null until it ended';
CREATE TABLE public.webhook_secrets (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    version integer NOT NULL,
    state text NOT NULL,
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    activated_at timestamp with time zone,
    retired_at timestamp with time zone,
    signs_until timestamp with time zone,
    CONSTRAINT webhook_secrets_check CHECK (((state <> 'active'::text) OR (activated_at IS NOT NULL))),
    CONSTRAINT webhook_secrets_check1 CHECK (((state = 'retired'::text) = (retired_at IS NOT NULL))),
    CONSTRAINT webhook_secrets_check2 CHECK (((signs_until IS NULL) OR (state = 'retired'::text))),
    CONSTRAINT webhook_secrets_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_secrets_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'active'::text, 'retired'::text])))
);
COMMENT ON COLUMN public.webhook_secrets.merchant_id IS 'a merchant, or the webhook_sender_id of an application';
CREATE TABLE public.webhook_unnumbered (
    nth bigint NOT NULL,
    event_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');
COMMENT ON COLUMN public.webhook_unnumbered.nth IS 'rises with each change of an object, as the next change waits for the commit of the last';
ALTER TABLE public.webhook_unnumbered ALTER COLUMN nth ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.webhook_unnumbered_nth_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE VIEW public.whole_transactions AS
 SELECT t.id,
    t.merchant_id,
    t.mode,
    t.payment_link_id,
    t.method_id,
    t.method_type,
    t.rail,
    t.rail_reference,
    t.instructions,
    t.currency,
    t.amount_minor,
    t.received_minor,
    t.credited_minor,
    t.unapplied_minor,
    t.fee_minor,
    t.refunded_minor,
    t.returning_minor,
    t.returning_unapplied_minor,
    t.charged_back_minor,
    t.confirmations,
    t.required_confirmations,
    t.status,
    t.failure_code,
    t.refund_required_reason,
    t.late,
    t.version,
    t.created_at,
    t.updated_at,
    t.succeeded_at,
    t.payer_language,
    t.price_currency,
    t.price_minor,
    t.rate,
    t.rate_as_of,
    t.rate_source,
    t.rate_margin_bps,
    t.rate_expires_at,
    t.settlement,
    t.quantity,
    l.status AS link_status,
    l.expires_at AS link_expires_at,
    l.project_id,
    l.external_id,
    l.metadata,
    l.webhook_url,
    COALESCE(( SELECT c.ahead
           FROM public.test_clocks c
          WHERE ((c.merchant_id = t.merchant_id) AND (c.mode = t.mode))), '00:00:00'::interval) AS ahead,
    COALESCE(( SELECT json_agg(json_build_object('status', s.status, 'at', s.at, 'detail', s.detail) ORDER BY s.version) AS json_agg
           FROM public.transaction_steps s
          WHERE (s.transaction_id = t.id)), '[]'::json) AS timeline,
    COALESCE(( SELECT json_agg(json_build_object('id', r.id, 'transaction_id', r.transaction_id, 'currency', r.currency, 'amount_minor', r.amount_minor, 'unapplied_minor', r.unapplied_minor, 'network_fee_minor', r.network_fee_minor, 'hold_id', r.hold_id, 'status', r.status, 'reason', r.reason, 'receiver', r.receiver, 'review', o.review, 'failure_code', r.failure_code, 'provider_reference', r.provider_reference, 'external_id', r.external_id, 'metadata', r.metadata, 'version', r.version, 'created_at', r.created_at, 'updated_at', r.updated_at, 'exchange', public.refund_exchange(r.*)) ORDER BY r.created_at DESC, r.id DESC) AS json_agg
           FROM (public.refunds r
             JOIN public.outgoing_transfers o ON ((o.id = r.id)))
          WHERE (r.transaction_id = t.id)), '[]'::json) AS refunds,
    ( SELECT json_build_object('id', d.id, 'amount_minor', d.amount_minor, 'fee_minor', d.fee_minor, 'reason', d.reason, 'status', d.status, 'opened_at', d.opened_at, 'closed_at', d.closed_at) AS json_build_object
           FROM public.chargebacks d
          WHERE (d.transaction_id = t.id)
          ORDER BY d.opened_at DESC, d.id DESC
         LIMIT 1) AS chargeback,
    COALESCE((l.payments_count >= l.max_payments), false) AS link_is_paid,
    l.version AS link_version,
    (l.customer_email IS NOT NULL) AS link_has_email,
    l.canceled_at AS link_canceled_at,
        CASE
            WHEN (t.status = ANY (ARRAY['pending'::text, 'processing'::text, 'expired'::text])) THEN ( SELECT json_agg(json_build_object('transfer_ref', i.transfer_ref, 'amount_minor', i.amount_minor, 'first_seen_at', i.first_seen_at, 'block_at', i.block_at) ORDER BY i.first_seen_at, i.transfer_ref) AS json_agg
               FROM public.incoming_transfers i
              WHERE ((i.transaction_id = t.id) AND (i.status = 'seen'::text) AND (i.currency = t.currency)))
            ELSE NULL::json
        END AS incoming
   FROM (public.transactions t
     JOIN public.payment_links l ON (((l.merchant_id = t.merchant_id) AND (l.mode = t.mode) AND (l.id = t.payment_link_id))));
CREATE TABLE public.withdrawal_batches (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    description text,
    item_count integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT withdrawal_batches_item_count_check CHECK (((item_count >= 1) AND (item_count <= 500))),
    CONSTRAINT withdrawal_batches_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
CREATE TABLE public.withdrawal_days (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    method_id text NOT NULL,
    day date NOT NULL,
    amount_minor bigint NOT NULL,
    CONSTRAINT withdrawal_days_amount_minor_check CHECK ((amount_minor >= 0)),
    CONSTRAINT withdrawal_days_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
)
WITH (fillfactor='85');
CREATE TABLE public.withdrawal_quotes (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    method_id text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    network_fee_mode text NOT NULL,
    system_fee_minor bigint NOT NULL,
    network_fee_minor bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT withdrawal_quotes_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT withdrawal_quotes_check CHECK ((expires_at > created_at)),
    CONSTRAINT withdrawal_quotes_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT withdrawal_quotes_network_fee_minor_check CHECK ((network_fee_minor >= 0)),
    CONSTRAINT withdrawal_quotes_network_fee_mode_check CHECK ((network_fee_mode = ANY (ARRAY['deduct'::text, 'add'::text]))),
    CONSTRAINT withdrawal_quotes_system_fee_minor_check CHECK ((system_fee_minor >= 0))
);
CREATE TABLE public.withdrawal_recipients (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    method_id text NOT NULL,
    rail text NOT NULL,
    receiver text NOT NULL,
    account text NOT NULL,
    provider_fields jsonb NOT NULL,
    active_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT withdrawal_recipients_check CHECK ((active_at >= created_at)),
    CONSTRAINT withdrawal_recipients_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT withdrawal_recipients_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 80))),
    CONSTRAINT withdrawal_recipients_provider_fields_check CHECK ((jsonb_typeof(provider_fields) = 'object'::text))
);
COMMENT ON COLUMN public.withdrawal_recipients.account IS 'the receiver in the notation of the rail';
COMMENT ON COLUMN public.withdrawal_recipients.active_at IS 'when it can be paid; in test mode by the test clock';
CREATE TABLE public.withdrawal_schedule_runs (
    schedule_id uuid NOT NULL,
    due_at timestamp with time zone NOT NULL,
    merchant_id uuid NOT NULL,
    outcome text NOT NULL,
    withdrawal_id uuid,
    failure_code text,
    at timestamp with time zone NOT NULL,
    CONSTRAINT withdrawal_schedule_runs_check CHECK (((outcome = 'created'::text) = (withdrawal_id IS NOT NULL))),
    CONSTRAINT withdrawal_schedule_runs_check1 CHECK (((outcome = 'failed'::text) = (failure_code IS NOT NULL))),
    CONSTRAINT withdrawal_schedule_runs_outcome_check CHECK ((outcome = ANY (ARRAY['created'::text, 'skipped'::text, 'failed'::text])))
);
CREATE TABLE public.withdrawal_schedules (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    recipient_id uuid NOT NULL,
    method_id text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint,
    keep_minor bigint,
    frequency text NOT NULL,
    day integer,
    description text,
    webhook_url text,
    status text NOT NULL,
    next_run_at timestamp with time zone,
    next_attempt_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    created_by uuid,
    CONSTRAINT withdrawal_schedules_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT withdrawal_schedules_check CHECK ((num_nonnulls(amount_minor, keep_minor) = 1)),
    CONSTRAINT withdrawal_schedules_check1 CHECK (
CASE frequency
    WHEN 'weekly'::text THEN COALESCE(((day >= 1) AND (day <= 7)), false)
    WHEN 'monthly'::text THEN COALESCE(((day >= 1) AND (day <= 31)), false)
    ELSE (day IS NULL)
END),
    CONSTRAINT withdrawal_schedules_check2 CHECK (((status = 'ended'::text) = (next_run_at IS NULL))),
    CONSTRAINT withdrawal_schedules_check3 CHECK (((status = 'active'::text) = (next_attempt_at IS NOT NULL))),
    CONSTRAINT withdrawal_schedules_frequency_check CHECK ((frequency = ANY (ARRAY['once'::text, 'daily'::text, 'weekly'::text, 'monthly'::text]))),
    CONSTRAINT withdrawal_schedules_keep_minor_check CHECK ((keep_minor >= 0)),
    CONSTRAINT withdrawal_schedules_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT withdrawal_schedules_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text])))
);
COMMENT ON COLUMN public.withdrawal_schedules.keep_minor IS 'what stays in the balance when everything above is withdrawn';
COMMENT ON COLUMN public.withdrawal_schedules.next_run_at IS 'when it is due next; in test mode by the test clock';
COMMENT ON COLUMN public.withdrawal_schedules.next_attempt_at IS 'when it is tried, which is later after an error that can pass';
CREATE TABLE public.withdrawal_settings (
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    saved_recipients_only boolean NOT NULL,
    turns_off_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT withdrawal_settings_check CHECK (((turns_off_at IS NULL) OR saved_recipients_only)),
    CONSTRAINT withdrawal_settings_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);
COMMENT ON COLUMN public.withdrawal_settings.turns_off_at IS 'from then on saved_recipients_only no longer counts; in test mode by the test clock';
CREATE UNLOGGED TABLE public.worker_signs (
    worker_id uuid NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.address_changes
    ADD CONSTRAINT address_changes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_key_activity
    ADD CONSTRAINT api_key_activity_pkey PRIMARY KEY (api_key_id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_requests
    ADD CONSTRAINT api_requests_pkey PRIMARY KEY (merchant_id, mode, id);
ALTER TABLE ONLY public.application_reports
    ADD CONSTRAINT application_reports_pkey PRIMARY KEY (id, merchant_id);
ALTER TABLE ONLY public.audit_lines
    ADD CONSTRAINT audit_lines_pkey PRIMARY KEY (merchant_id, id);
ALTER TABLE ONLY public.backup_codes
    ADD CONSTRAINT backup_codes_pkey PRIMARY KEY (holder_id, code_hash);
ALTER TABLE ONLY public.balance_payments
    ADD CONSTRAINT balance_payments_external_id UNIQUE (merchant_id, mode, external_id);
ALTER TABLE ONLY public.balance_payments
    ADD CONSTRAINT balance_payments_hold_id_key UNIQUE (hold_id);
ALTER TABLE ONLY public.balance_payments
    ADD CONSTRAINT balance_payments_pkey PRIMARY KEY (id, merchant_id, mode);
ALTER TABLE ONLY public.bank_accounts
    ADD CONSTRAINT bank_accounts_pkey PRIMARY KEY (iban, currency);
ALTER TABLE ONLY public.bank_announcements
    ADD CONSTRAINT bank_announcements_pkey PRIMARY KEY (identity, nth);
ALTER TABLE ONLY public.bank_batches
    ADD CONSTRAINT bank_batches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_entries
    ADD CONSTRAINT bank_entries_identity_key UNIQUE (identity);
ALTER TABLE ONLY public.bank_entries
    ADD CONSTRAINT bank_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_entry_parts
    ADD CONSTRAINT bank_entry_parts_entry_id_nth_key UNIQUE (entry_id, nth);
ALTER TABLE ONLY public.bank_entry_parts
    ADD CONSTRAINT bank_entry_parts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_fetches
    ADD CONSTRAINT bank_fetches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_import_entries
    ADD CONSTRAINT bank_import_entries_pkey PRIMARY KEY (import_id, statement, place);
ALTER TABLE ONLY public.bank_import_pieces
    ADD CONSTRAINT bank_import_pieces_pkey PRIMARY KEY (import_id, nth);
ALTER TABLE ONLY public.bank_import_statements
    ADD CONSTRAINT bank_import_statements_pkey PRIMARY KEY (import_id, "position");
ALTER TABLE ONLY public.bank_imports
    ADD CONSTRAINT bank_imports_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_payouts
    ADD CONSTRAINT bank_payouts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_reports
    ADD CONSTRAINT bank_reports_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bank_sendings
    ADD CONSTRAINT bank_sendings_pkey PRIMARY KEY (batch_id);
ALTER TABLE ONLY public.bank_statements
    ADD CONSTRAINT bank_statements_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.bank_statements
    ADD CONSTRAINT bank_statements_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bitcoin_batch_coins
    ADD CONSTRAINT bitcoin_batch_coins_pkey PRIMARY KEY (batch_id, number);
ALTER TABLE ONLY public.bitcoin_batch_payouts
    ADD CONSTRAINT bitcoin_batch_payouts_batch_id_number_key UNIQUE (batch_id, number);
ALTER TABLE ONLY public.bitcoin_batch_payouts
    ADD CONSTRAINT bitcoin_batch_payouts_pkey PRIMARY KEY (batch_id, payout_id);
ALTER TABLE ONLY public.bitcoin_batches
    ADD CONSTRAINT bitcoin_batches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bitcoin_batches
    ADD CONSTRAINT bitcoin_batches_rail_mode_change_index_key UNIQUE (rail, mode, change_index);
ALTER TABLE ONLY public.bitcoin_outputs
    ADD CONSTRAINT bitcoin_outputs_pkey PRIMARY KEY (rail, mode, txid, vout);
ALTER TABLE ONLY public.bitcoin_payouts
    ADD CONSTRAINT bitcoin_payouts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bitcoin_transactions
    ADD CONSTRAINT bitcoin_transactions_pkey PRIMARY KEY (batch_id, number);
ALTER TABLE ONLY public.bitcoin_transactions
    ADD CONSTRAINT bitcoin_transactions_rail_mode_txid_key UNIQUE (rail, mode, txid);
ALTER TABLE ONLY public.card_payments
    ADD CONSTRAINT card_payments_pkey PRIMARY KEY (merchant_id, mode, transaction_id);
ALTER TABLE ONLY public.chain_deposits
    ADD CONSTRAINT chain_deposits_pkey PRIMARY KEY (rail, mode, tx_hash, address, currency);
ALTER TABLE ONLY public.chain_payout_health
    ADD CONSTRAINT chain_payout_health_pkey PRIMARY KEY (rail, mode);
ALTER TABLE ONLY public.chain_payouts
    ADD CONSTRAINT chain_payouts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chain_payouts
    ADD CONSTRAINT chain_payouts_rail_mode_wallet_nonce_key UNIQUE (rail, mode, wallet, nonce);
ALTER TABLE ONLY public.chain_transactions
    ADD CONSTRAINT chain_transactions_pkey PRIMARY KEY (payout_id, number);
ALTER TABLE ONLY public.chain_transactions
    ADD CONSTRAINT chain_transactions_tx_hash_key UNIQUE (tx_hash);
ALTER TABLE ONLY public.chain_wallets
    ADD CONSTRAINT chain_wallets_pkey PRIMARY KEY (rail, mode, address);
ALTER TABLE ONLY public.chargeback_notes
    ADD CONSTRAINT chargeback_notes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chargebacks
    ADD CONSTRAINT chargebacks_merchant_id_mode_id_key UNIQUE (merchant_id, mode, id);
ALTER TABLE ONLY public.chargebacks
    ADD CONSTRAINT chargebacks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.check_state
    ADD CONSTRAINT check_state_pkey PRIMARY KEY (the_only);
ALTER TABLE ONLY public.conversion_positions
    ADD CONSTRAINT conversion_positions_id_key UNIQUE (id);
ALTER TABLE ONLY public.conversion_positions
    ADD CONSTRAINT conversion_positions_pkey PRIMARY KEY (currency);
ALTER TABLE ONLY public.conversion_prices
    ADD CONSTRAINT conversion_prices_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.conversion_quotes
    ADD CONSTRAINT conversion_quotes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.conversion_rules
    ADD CONSTRAINT conversion_rules_one_from UNIQUE (merchant_id, mode, from_currency);
ALTER TABLE ONLY public.conversion_rules
    ADD CONSTRAINT conversion_rules_pkey PRIMARY KEY (id);
ALTER TABLE public.conversions
    ADD CONSTRAINT conversions_of_payment CHECK ((((reversal_id IS NULL) OR (transaction_id IS NOT NULL)) AND ((transaction_id IS NULL) OR ((quote_id IS NULL) AND (rule_id IS NULL))))) NOT VALID;
ALTER TABLE ONLY public.conversions
    ADD CONSTRAINT conversions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.conversions
    ADD CONSTRAINT conversions_quote_once UNIQUE (quote_id);
ALTER TABLE ONLY public.conversions
    ADD CONSTRAINT conversions_rule_once UNIQUE (rule_id, rule_step);
ALTER TABLE ONLY public.currency_scales
    ADD CONSTRAINT currency_scales_pkey PRIMARY KEY (code);
ALTER TABLE ONLY public.customer_notes
    ADD CONSTRAINT customer_notes_pkey PRIMARY KEY (id, merchant_id);
ALTER TABLE ONLY public.data_subject_requests
    ADD CONSTRAINT data_subject_requests_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.database_identity
    ADD CONSTRAINT database_identity_pkey PRIMARY KEY (the_only);
ALTER TABLE ONLY public.deposit_addresses
    ADD CONSTRAINT deposit_addresses_pkey PRIMARY KEY (rail, mode, derivation_index);
ALTER TABLE ONLY public.failed_attempts
    ADD CONSTRAINT failed_attempts_pkey PRIMARY KEY (name_hash);
ALTER TABLE ONLY public.fulfillments
    ADD CONSTRAINT fulfillments_external_id UNIQUE (merchant_id, mode, external_id);
ALTER TABLE ONLY public.fulfillments
    ADD CONSTRAINT fulfillments_hold_id_key UNIQUE (hold_id);
ALTER TABLE ONLY public.fulfillments
    ADD CONSTRAINT fulfillments_pkey PRIMARY KEY (id, merchant_id, mode);
ALTER TABLE ONLY public.hash_chain_blocks
    ADD CONSTRAINT hash_chain_blocks_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (merchant_id, mode, caller, key_hash);
ALTER TABLE ONLY public.incoming_transfers
    ADD CONSTRAINT incoming_transfers_pkey PRIMARY KEY (merchant_id, mode, rail, transfer_ref);
ALTER TABLE ONLY public.invariant_watch
    ADD CONSTRAINT invariant_watch_pkey PRIMARY KEY (the_last);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (merchant_id, id);
ALTER TABLE ONLY public.known_devices
    ADD CONSTRAINT known_devices_pkey PRIMARY KEY (user_id, device_hash);
ALTER TABLE ONLY public.ledger_accounts
    ADD CONSTRAINT ledger_accounts_id_currency_mode_key UNIQUE (id, currency, mode);
ALTER TABLE ONLY public.ledger_accounts
    ADD CONSTRAINT ledger_accounts_owner_mode_currency_code_key UNIQUE (owner, mode, currency, code);
ALTER TABLE ONLY public.ledger_accounts
    ADD CONSTRAINT ledger_accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ledger_daily_totals
    ADD CONSTRAINT ledger_daily_totals_pkey PRIMARY KEY (mode, currency, day, type, debit_code, credit_code);
ALTER TABLE ONLY public.ledger_daily_totals_state
    ADD CONSTRAINT ledger_daily_totals_state_pkey PRIMARY KEY (the_only);
ALTER TABLE ONLY public.ledger_entries
    ADD CONSTRAINT ledger_entries_id_key UNIQUE (id);
ALTER TABLE ONLY public.ledger_entries
    ADD CONSTRAINT ledger_entries_pkey PRIMARY KEY (account_id, version);
ALTER TABLE ONLY public.ledger_holds
    ADD CONSTRAINT ledger_holds_once UNIQUE (source_type, source_id);
ALTER TABLE ONLY public.ledger_holds
    ADD CONSTRAINT ledger_holds_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ledger_postings
    ADD CONSTRAINT ledger_postings_pkey PRIMARY KEY (transaction_id, line);
ALTER TABLE ONLY public.ledger_release_kinds
    ADD CONSTRAINT ledger_release_kinds_pkey PRIMARY KEY (source_type);
ALTER TABLE ONLY public.ledger_transaction_applications
    ADD CONSTRAINT ledger_transaction_applications_pkey PRIMARY KEY (transaction_id);
ALTER TABLE ONLY public.ledger_transactions
    ADD CONSTRAINT ledger_transactions_once UNIQUE (source_type, source_id, kind, step);
ALTER TABLE ONLY public.ledger_transactions
    ADD CONSTRAINT ledger_transactions_pkey PRIMARY KEY (id, mode);
ALTER TABLE ONLY public.limit_uses
    ADD CONSTRAINT limit_uses_pkey PRIMARY KEY (merchant_id, source_id, kind);
ALTER TABLE ONLY public.logos
    ADD CONSTRAINT logos_pkey PRIMARY KEY (merchant_id, digest);
ALTER TABLE ONLY public.mail_kinds
    ADD CONSTRAINT mail_kinds_pkey PRIMARY KEY (about);
ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (merchant_id, user_id);
ALTER TABLE ONLY public.merchant_settings
    ADD CONSTRAINT merchant_settings_pkey PRIMARY KEY (merchant_id, mode);
ALTER TABLE ONLY public.merchants
    ADD CONSTRAINT merchants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notification_digests
    ADD CONSTRAINT notification_digests_pkey PRIMARY KEY (merchant_id, user_id);
ALTER TABLE ONLY public.notification_marks
    ADD CONSTRAINT notification_marks_pkey PRIMARY KEY (merchant_id, user_id, mode);
ALTER TABLE ONLY public.notification_preferences
    ADD CONSTRAINT notification_preferences_pkey PRIMARY KEY (merchant_id, user_id, kind);
ALTER TABLE ONLY public.notification_reads
    ADD CONSTRAINT notification_reads_pkey PRIMARY KEY (merchant_id, notification_id, user_id);
ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_once UNIQUE (merchant_id, event, occasion, mode);
ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (merchant_id, id);
ALTER TABLE ONLY public.oauth_access_tokens
    ADD CONSTRAINT oauth_access_tokens_pkey PRIMARY KEY (token_hash, expires_at);
ALTER TABLE ONLY public.oauth_clients
    ADD CONSTRAINT oauth_clients_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth_clients
    ADD CONSTRAINT oauth_clients_webhook_sender_id_key UNIQUE (webhook_sender_id);
ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_pkey PRIMARY KEY (code_hash);
ALTER TABLE ONLY public.oauth_documents
    ADD CONSTRAINT oauth_documents_pkey PRIMARY KEY (url);
ALTER TABLE ONLY public.oauth_grant_activity
    ADD CONSTRAINT oauth_grant_activity_pkey PRIMARY KEY (grant_id);
ALTER TABLE ONLY public.oauth_grant_cutoffs
    ADD CONSTRAINT oauth_grant_cutoffs_pkey PRIMARY KEY (client_id, grant_epoch);
ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth_refresh_retries
    ADD CONSTRAINT oauth_refresh_retries_pkey PRIMARY KEY (grant_id);
ALTER TABLE ONLY public.oauth_requests
    ADD CONSTRAINT oauth_requests_pkey PRIMARY KEY (id_hash);
ALTER TABLE ONLY public.operator_action_kinds
    ADD CONSTRAINT operator_action_kinds_pkey PRIMARY KEY (action);
ALTER TABLE ONLY public.operator_actions
    ADD CONSTRAINT operator_actions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.operator_approvals
    ADD CONSTRAINT operator_approvals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.operator_sessions
    ADD CONSTRAINT operator_sessions_pkey PRIMARY KEY (id_hash);
ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_email_key_key UNIQUE (email_key);
ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_link_hash_key UNIQUE (link_hash);
ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outgoing_transfers
    ADD CONSTRAINT outgoing_transfers_id_kind_merchant_id_mode_currency_amount_key UNIQUE (id, kind, merchant_id, mode, currency, amount_minor);
ALTER TABLE ONLY public.outgoing_transfers
    ADD CONSTRAINT outgoing_transfers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id);
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_pkey PRIMARY KEY (id);
ALTER TABLE public.payment_links
    ADD CONSTRAINT payment_links_customer_amount CHECK (((num_nonnulls(customer_amount_min, customer_amount_max, customer_amount_preset) = 0) OR ((num_nulls(customer_amount_min, customer_amount_max) = 0) AND (1 <= customer_amount_min) AND (customer_amount_max <= '9007199254740991'::bigint) AND (amount_minor = COALESCE(customer_amount_preset, customer_amount_min)) AND ((amount_minor >= customer_amount_min) AND (amount_minor <= customer_amount_max)) AND (quantity_max IS NULL) AND (line_items = '[]'::jsonb) AND (tax_lines = '[]'::jsonb)))) NOT VALID;
ALTER TABLE public.payment_links
    ADD CONSTRAINT payment_links_line_items CHECK (((line_items = '[]'::jsonb) OR ((jsonb_typeof(line_items) = 'array'::text) AND (jsonb_array_length(line_items) <= 100) AND (public.line_items_total(line_items) = (amount_minor)::numeric)))) NOT VALID;
ALTER TABLE ONLY public.payment_links
    ADD CONSTRAINT payment_links_pkey PRIMARY KEY (id, merchant_id, mode);
ALTER TABLE public.payment_links
    ADD CONSTRAINT payment_links_quantity CHECK (((num_nonnulls(quantity_min, quantity_max) = 0) OR ((num_nulls(quantity_min, quantity_max) = 0) AND (1 <= quantity_min) AND (quantity_min <= quantity_max) AND (quantity_max <= 10000) AND (((amount_minor)::numeric * (quantity_max)::numeric) <= ('9007199254740991'::bigint)::numeric) AND (line_items = '[]'::jsonb)))) NOT VALID;
ALTER TABLE public.payment_links
    ADD CONSTRAINT payment_links_tax_lines CHECK (((jsonb_typeof(tax_lines) = 'array'::text) AND (jsonb_array_length(tax_lines) <= 10) AND (public.tax_total(tax_lines) <= (amount_minor)::numeric))) NOT VALID;
ALTER TABLE ONLY public.payment_links
    ADD CONSTRAINT payment_links_token_key UNIQUE (token);
ALTER TABLE ONLY public.payment_reversals
    ADD CONSTRAINT payment_reversals_merchant_id_mode_rail_external_ref_revers_key UNIQUE (merchant_id, mode, rail, external_ref, reversal_ref);
ALTER TABLE ONLY public.payment_reversals
    ADD CONSTRAINT payment_reversals_pkey PRIMARY KEY (merchant_id, mode, id);
ALTER TABLE ONLY public.payout_pauses
    ADD CONSTRAINT payout_pauses_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.price_feed
    ADD CONSTRAINT price_feed_pkey PRIMARY KEY (is_only);
ALTER TABLE ONLY public.price_rejections
    ADD CONSTRAINT price_rejections_pkey PRIMARY KEY (currency);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_merchant_id_mode_id_key UNIQUE (merchant_id, mode, id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.proposals
    ADD CONSTRAINT proposals_pkey PRIMARY KEY (id, merchant_id);
ALTER TABLE ONLY public.provider_balance_cursors
    ADD CONSTRAINT provider_balance_cursors_pkey PRIMARY KEY (rail, mode);
ALTER TABLE ONLY public.provider_balance_transactions
    ADD CONSTRAINT provider_balance_transactions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.provider_balance_transactions
    ADD CONSTRAINT provider_balance_transactions_rail_mode_external_id_key UNIQUE (rail, mode, external_id);
ALTER TABLE ONLY public.provider_events
    ADD CONSTRAINT provider_events_pkey PRIMARY KEY (rail, mode, event_id);
ALTER TABLE ONLY public.rail_balances
    ADD CONSTRAINT rail_balances_pkey PRIMARY KEY (rail, mode, currency, measured_at);
ALTER TABLE ONLY public.rail_cursors
    ADD CONSTRAINT rail_cursors_pkey PRIMARY KEY (rail, mode);
ALTER TABLE ONLY public.rail_floats
    ADD CONSTRAINT rail_floats_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rail_health
    ADD CONSTRAINT rail_health_pkey PRIMARY KEY (rail, mode);
ALTER TABLE ONLY public.rail_measurements
    ADD CONSTRAINT rail_measurements_pkey PRIMARY KEY (rail, mode);
ALTER TABLE ONLY public.rail_observations
    ADD CONSTRAINT rail_observations_pkey PRIMARY KEY (rail, mode, external_ref, outcome, confirmations);
ALTER TABLE ONLY public.receipt_counters
    ADD CONSTRAINT receipt_counters_pkey PRIMARY KEY (merchant_id, mode, year);
ALTER TABLE ONLY public.receipt_mails
    ADD CONSTRAINT receipt_mails_pkey PRIMARY KEY (transaction_id, ordinal);
ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT receipts_merchant_id_mode_year_number_key UNIQUE (merchant_id, mode, year, number);
ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (transaction_id);
ALTER TABLE ONLY public.refunds
    ADD CONSTRAINT refunds_hold_id_key UNIQUE (hold_id);
ALTER TABLE public.refunds
    ADD CONSTRAINT refunds_network_fee CHECK (((network_fee_minor >= 0) AND ((network_fee_minor = 0) OR (unapplied_minor < amount_minor)))) NOT VALID;
ALTER TABLE ONLY public.refunds
    ADD CONSTRAINT refunds_pkey PRIMARY KEY (id, merchant_id, mode);
ALTER TABLE ONLY public.row_digests
    ADD CONSTRAINT row_digests_pkey PRIMARY KEY (kind, id);
ALTER TABLE ONLY public.running_series
    ADD CONSTRAINT running_series_key UNIQUE (merchant_id, mode, measure, currency, type, raised, method_id, project_id);
ALTER TABLE ONLY public.running_series
    ADD CONSTRAINT running_series_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.running_totals
    ADD CONSTRAINT running_totals_pkey PRIMARY KEY (series_id, starts_at);
ALTER TABLE ONLY public.sandbox_plans
    ADD CONSTRAINT sandbox_plans_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.saved_filters
    ADD CONSTRAINT saved_filters_name UNIQUE (user_id, mode, list_name, name);
ALTER TABLE ONLY public.saved_filters
    ADD CONSTRAINT saved_filters_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.scope_bits
    ADD CONSTRAINT scope_bits_bit_key UNIQUE ("bit");
ALTER TABLE ONLY public.scope_bits
    ADD CONSTRAINT scope_bits_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_pkey PRIMARY KEY (holder_id);
ALTER TABLE ONLY public.second_member_rules
    ADD CONSTRAINT second_member_rules_pkey PRIMARY KEY (merchant_id, currency);
ALTER TABLE ONLY public.secret_keys
    ADD CONSTRAINT secret_keys_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id_hash);
ALTER TABLE ONLY public.state_transitions
    ADD CONSTRAINT state_transitions_pkey PRIMARY KEY (record, from_status, to_status);
ALTER TABLE ONLY public.support_refund_limits
    ADD CONSTRAINT support_refund_limits_pkey PRIMARY KEY (merchant_id, currency);
ALTER TABLE ONLY public.test_clocks
    ADD CONSTRAINT test_clocks_pkey PRIMARY KEY (merchant_id);
ALTER TABLE ONLY public.transaction_steps
    ADD CONSTRAINT transaction_steps_pkey PRIMARY KEY (transaction_id, version);
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_merchant_id_mode_id_key UNIQUE (merchant_id, mode, id);
ALTER TABLE public.transactions
    ADD CONSTRAINT transactions_payer_language CHECK ((payer_language ~ '^[a-z]{2}$'::text)) NOT VALID;
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (id);
ALTER TABLE public.transactions
    ADD CONSTRAINT transactions_price CHECK (((num_nonnulls(price_currency, price_minor, rate, rate_as_of, rate_source, rate_margin_bps, rate_expires_at, settlement) = 0) OR ((num_nulls(price_currency, price_minor, rate, rate_as_of, rate_source, rate_margin_bps, rate_expires_at, settlement) = 0) AND (price_currency ~ '^[A-Z0-9]{2,12}$'::text) AND (price_currency <> currency) AND (price_minor >= 0) AND (rate > (0)::numeric) AND (rate_source ~ '^[a-z]{1,16}$'::text) AND ((rate_margin_bps >= 0) AND (rate_margin_bps <= 5000)) AND (settlement = ANY (ARRAY['convert'::text, 'keep'::text]))))) NOT VALID;
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_rail_mode_rail_reference_key UNIQUE (rail, mode, rail_reference);
ALTER TABLE public.transactions
    ADD CONSTRAINT transactions_refund_required_reason_check CHECK ((refund_required_reason = ANY (ARRAY['underpaid'::text, 'late'::text, 'duplicate'::text, 'after_cancel'::text, 'wrong_asset'::text, 'balance_limit'::text, 'position_limit'::text]))) NOT VALID;
ALTER TABLE ONLY public.used_jtis
    ADD CONSTRAINT used_jtis_pkey PRIMARY KEY (jti_hash);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key_key UNIQUE (email_key);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.value_releases
    ADD CONSTRAINT value_releases_pkey PRIMARY KEY (source_id, source_type, merchant_id);
ALTER TABLE ONLY public.webhook_attempts
    ADD CONSTRAINT webhook_attempts_pkey PRIMARY KEY (event_id, attempt);
ALTER TABLE ONLY public.webhook_deliveries_later
    ADD CONSTRAINT webhook_deliveries_later_pkey PRIMARY KEY (event_id);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (event_id);
ALTER TABLE ONLY public.webhook_environments
    ADD CONSTRAINT webhook_environments_pkey PRIMARY KEY (merchant_id, mode);
ALTER TABLE ONLY public.webhook_event_statuses
    ADD CONSTRAINT webhook_event_statuses_pkey PRIMARY KEY (event_id);
ALTER TABLE ONLY public.webhook_event_keys
    ADD CONSTRAINT webhook_events_once PRIMARY KEY (source_id, source_type, type, sequence);
ALTER TABLE ONLY public.webhook_events
    ADD CONSTRAINT webhook_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_failures
    ADD CONSTRAINT webhook_failures_pkey PRIMARY KEY (event_id);
ALTER TABLE ONLY public.webhook_feeds
    ADD CONSTRAINT webhook_feeds_number_key UNIQUE (number);
ALTER TABLE ONLY public.webhook_feeds
    ADD CONSTRAINT webhook_feeds_pkey PRIMARY KEY (merchant_id, mode);
ALTER TABLE ONLY public.webhook_positions
    ADD CONSTRAINT webhook_positions_pkey PRIMARY KEY (number, last_position);
ALTER TABLE ONLY public.webhook_redelivery_runs
    ADD CONSTRAINT webhook_redelivery_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_replays
    ADD CONSTRAINT webhook_replays_pkey PRIMARY KEY (id, merchant_id);
ALTER TABLE ONLY public.webhook_secrets
    ADD CONSTRAINT webhook_secrets_pkey PRIMARY KEY (merchant_id, mode, version);
ALTER TABLE ONLY public.withdrawal_batches
    ADD CONSTRAINT withdrawal_batches_pkey PRIMARY KEY (id, merchant_id);
ALTER TABLE ONLY public.withdrawal_days
    ADD CONSTRAINT withdrawal_days_pkey PRIMARY KEY (merchant_id, mode, method_id, day);
ALTER TABLE ONLY public.withdrawal_quotes
    ADD CONSTRAINT withdrawal_quotes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.withdrawal_recipients
    ADD CONSTRAINT withdrawal_recipients_pkey PRIMARY KEY (id, merchant_id);
ALTER TABLE ONLY public.withdrawal_schedule_runs
    ADD CONSTRAINT withdrawal_schedule_runs_pkey PRIMARY KEY (schedule_id, merchant_id, due_at);
ALTER TABLE ONLY public.withdrawal_schedules
    ADD CONSTRAINT withdrawal_schedules_pkey PRIMARY KEY (id, merchant_id);
ALTER TABLE ONLY public.withdrawal_settings
    ADD CONSTRAINT withdrawal_settings_pkey PRIMARY KEY (merchant_id, mode);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_external_id UNIQUE (merchant_id, mode, external_id);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_hold_id_key UNIQUE (hold_id);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_pkey PRIMARY KEY (id, merchant_id, mode);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_quote_once UNIQUE (quote_id);
ALTER TABLE ONLY public.worker_signs
    ADD CONSTRAINT worker_signs_pkey PRIMARY KEY (worker_id);
CREATE INDEX address_changes_by_old ON public.address_changes USING btree (old_key) WHERE (confirmed_at IS NOT NULL);
CREATE INDEX address_changes_of_user ON public.address_changes USING btree (user_id, requested_at);
CREATE UNIQUE INDEX address_changes_open ON public.address_changes USING btree (user_id) WHERE ((confirmed_at IS NULL) AND (withdrawn_at IS NULL));
CREATE INDEX address_changes_unconfirmed ON public.address_changes USING btree (requested_at) WHERE (confirmed_at IS NULL);
CREATE INDEX api_keys_of_merchant ON public.api_keys USING btree (merchant_id, created_at DESC, id DESC);
CREATE INDEX api_requests_by_callers_id ON ONLY public.api_requests USING btree (request_id) WHERE (request_id <> id);
CREATE UNIQUE INDEX application_reports_daily ON public.application_reports USING btree (client_id, merchant_id, day);
CREATE INDEX application_reports_of_client ON public.application_reports USING btree (client_id, created_at DESC, id DESC);
CREATE INDEX application_reports_of_merchant ON public.application_reports USING btree (merchant_id);
CREATE INDEX audit_lines_age ON public.audit_lines USING brin (created_at) WITH (pages_per_range='16');
CREATE INDEX audit_lines_by_topic ON public.audit_lines USING btree (merchant_id, split_part(deed, '.'::text, 1), created_at DESC, id DESC);
CREATE INDEX audit_lines_newest ON public.audit_lines USING btree (merchant_id, created_at DESC, id DESC);
CREATE INDEX balance_payments_by_currency ON public.balance_payments USING btree (merchant_id, mode, currency, created_at DESC, id DESC);
CREATE INDEX balance_payments_by_status ON public.balance_payments USING btree (merchant_id, mode, status, created_at DESC, id DESC) WHERE (status <> 'captured'::text);
CREATE INDEX balance_payments_due ON public.balance_payments USING btree (expires_at) WHERE (status = 'reserved'::text);
CREATE INDEX balance_payments_due_of_merchant ON public.balance_payments USING btree (merchant_id, expires_at) WHERE ((status = 'reserved'::text) AND (mode = 'test'::text));
CREATE INDEX balance_payments_external_prefix ON public.balance_payments USING btree (merchant_id, mode, external_id text_pattern_ops) WHERE (external_id IS NOT NULL);
CREATE INDEX balance_payments_of_client ON public.balance_payments USING btree (client_id, created_at DESC, id DESC);
CREATE INDEX balance_payments_of_merchant ON public.balance_payments USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX bank_announcements_newest ON public.bank_announcements USING btree (announced_at);
CREATE INDEX bank_entries_by_reference ON public.bank_entries USING btree (bank_reference, booked_on) WHERE (bank_reference IS NOT NULL);
CREATE INDEX bank_entries_of_statement ON public.bank_entries USING btree (first_statement_id, id);
CREATE INDEX bank_entry_parts_by_decision ON public.bank_entry_parts USING btree (outcome, id) WHERE (outcome = ANY (ARRAY['dismissed'::text, 'fee'::text, 'written_off'::text]));
CREATE INDEX bank_entry_parts_of_order ON public.bank_entry_parts USING btree (lower(end_to_end_id)) WHERE (end_to_end_id IS NOT NULL);
CREATE INDEX bank_entry_parts_of_payment ON public.bank_entry_parts USING btree (reference) WHERE (outcome = 'payment'::text);
CREATE INDEX bank_entry_parts_of_payout ON public.bank_entry_parts USING btree (payout_id) WHERE (payout_id IS NOT NULL);
CREATE UNIQUE INDEX bank_entry_parts_provider_payouts ON public.bank_entry_parts USING btree (provider_payout_id) WHERE (provider_payout_id IS NOT NULL);
CREATE INDEX bank_entry_parts_unmatched ON public.bank_entry_parts USING btree (id) WHERE (outcome = 'unmatched'::text);
CREATE INDEX bank_imports_active ON public.bank_imports USING btree (id) WHERE (ended_at IS NULL);
CREATE INDEX bank_payouts_exported ON public.bank_payouts USING btree (batch_id) WHERE (status = 'exported'::text);
CREATE INDEX bank_payouts_newest ON public.bank_payouts USING btree (prepared_at DESC, id DESC);
CREATE INDEX bank_payouts_not_debited ON public.bank_payouts USING btree (currency, status) WHERE ((debited_at IS NULL) AND (status = ANY (ARRAY['exported'::text, 'returned'::text])));
CREATE INDEX bank_payouts_of_batch ON public.bank_payouts USING btree (batch_id);
CREATE INDEX bank_payouts_prepared ON public.bank_payouts USING btree (prepared_at) WHERE (status = 'prepared'::text);
CREATE INDEX bank_payouts_refused_lately ON public.bank_payouts USING btree (merchant_id, updated_at) WHERE ((status = 'refused'::text) AND (batch_id IS NOT NULL));
CREATE INDEX bank_reports_of_batch ON public.bank_reports USING btree (batch_id, id);
CREATE INDEX bank_sendings_due ON public.bank_sendings USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);
CREATE INDEX bank_statements_newest ON public.bank_statements USING btree (imported_at DESC, id DESC);
CREATE UNIQUE INDEX bitcoin_batch_coins_held ON public.bitcoin_batch_coins USING btree (rail, mode, txid, vout) WHERE (released_at IS NULL);
CREATE UNIQUE INDEX bitcoin_batch_payouts_held ON public.bitcoin_batch_payouts USING btree (payout_id) WHERE (released_at IS NULL);
CREATE INDEX bitcoin_batch_payouts_of_payout ON public.bitcoin_batch_payouts USING btree (payout_id);
CREATE INDEX bitcoin_batches_due ON public.bitcoin_batches USING btree (rail, mode, check_at) WHERE (check_at IS NOT NULL);
CREATE INDEX bitcoin_outputs_of_address ON public.bitcoin_outputs USING btree (rail, mode, address);
CREATE INDEX bitcoin_outputs_watched ON public.bitcoin_outputs USING btree (rail, mode) WHERE ((status = ANY (ARRAY['seen'::text, 'reversed'::text])) OR ((status = 'confirmed'::text) AND (confirmations < 100)));
CREATE INDEX bitcoin_payouts_open ON public.bitcoin_payouts USING btree (rail, mode, created_at) WHERE (status = ANY (ARRAY['waiting'::text, 'batched'::text]));
CREATE INDEX card_payments_due ON public.card_payments USING btree (next_poll_at) WHERE (next_poll_at IS NOT NULL);
CREATE INDEX chain_deposits_at_address ON public.chain_deposits USING btree (rail, mode, currency, address) WHERE ((sweep_id IS NULL) AND (status = ANY (ARRAY['final'::text, 'confirmed'::text, 'ignored'::text, 'reinstated'::text])));
CREATE INDEX chain_deposits_missing ON public.chain_deposits USING btree (rail, mode) WHERE (status = ANY (ARRAY['lost'::text, 'reversed'::text]));
CREATE INDEX chain_deposits_of_address ON public.chain_deposits USING btree (rail, mode, address, currency);
CREATE INDEX chain_deposits_of_block ON public.chain_deposits USING btree (rail, mode, block_number);
CREATE INDEX chain_deposits_of_sweep ON public.chain_deposits USING btree (sweep_id) WHERE (sweep_id IS NOT NULL);
CREATE INDEX chain_deposits_unsettled ON public.chain_deposits USING btree (rail, mode) WHERE ((status = ANY (ARRAY['seen'::text, 'final'::text, 'lost'::text, 'reinstated'::text])) OR ((status = ANY (ARRAY['vanished'::text, 'ignored'::text])) AND (reported_block_hash IS NOT NULL)));
CREATE INDEX chain_payouts_due ON public.chain_payouts USING btree (check_at) WHERE (check_at IS NOT NULL);
CREATE UNIQUE INDEX chain_payouts_sweeping ON public.chain_payouts USING btree (rail, mode, deposit_index) WHERE ((deposit_index IS NOT NULL) AND (status = ANY (ARRAY['waiting'::text, 'reserved'::text, 'signed'::text, 'mined'::text])));
CREATE INDEX chain_payouts_unfinished_exports ON public.chain_payouts USING btree (rail, mode, nonce) WHERE ((exported_at IS NOT NULL) AND (status = ANY (ARRAY['reserved'::text, 'signed'::text])));
CREATE INDEX chain_payouts_unmined ON public.chain_payouts USING btree (rail, mode, wallet, nonce) WHERE (status = ANY (ARRAY['reserved'::text, 'signed'::text]));
CREATE UNIQUE INDEX chain_payouts_unsigned ON public.chain_payouts USING btree (rail, mode, wallet) WHERE ((status = 'reserved'::text) AND (exported_at IS NULL));
CREATE INDEX chain_payouts_waiting ON public.chain_payouts USING btree (rail, mode) WHERE (status = 'waiting'::text);
CREATE INDEX chain_wallets_of_address ON public.chain_wallets USING btree (rail, mode, lower(address));
CREATE INDEX chargeback_notes_of_chargeback ON public.chargeback_notes USING btree (chargeback_id, created_at);
CREATE INDEX chargebacks_of_merchant ON public.chargebacks USING btree (merchant_id, mode, opened_at DESC, id DESC);
CREATE INDEX chargebacks_of_transaction ON public.chargebacks USING btree (transaction_id, opened_at DESC);
CREATE UNIQUE INDEX chargebacks_one_standing ON public.chargebacks USING btree (merchant_id, transaction_id, COALESCE(provider_reference, ''::text)) WHERE (status <> 'won'::text);
CREATE INDEX chargebacks_open ON public.chargebacks USING btree (merchant_id, opened_at DESC) WHERE (status = 'open'::text);
CREATE INDEX chargebacks_to_deliver ON public.chargebacks USING btree (next_delivery_at) WHERE (next_delivery_at IS NOT NULL);
CREATE INDEX chargebacks_to_expire ON public.chargebacks USING btree (respond_by) WHERE ((status = 'open'::text) AND (response = 'needed'::text));
CREATE INDEX conversion_prices_latest ON public.conversion_prices USING btree (currency, at DESC, id DESC);
CREATE INDEX conversion_quotes_old ON public.conversion_quotes USING btree (created_at);
CREATE INDEX conversions_by_from_currency ON public.conversions USING btree (merchant_id, mode, from_currency, created_at DESC, id DESC);
CREATE INDEX conversions_by_to_currency ON public.conversions USING btree (merchant_id, mode, to_currency, created_at DESC, id DESC);
CREATE INDEX conversions_external_prefix ON public.conversions USING btree (merchant_id, mode, external_id text_pattern_ops, created_at DESC, id DESC) WHERE (external_id IS NOT NULL);
CREATE INDEX conversions_of_merchant ON public.conversions USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX conversions_of_transaction ON public.conversions USING btree (transaction_id, created_at, id) WHERE (transaction_id IS NOT NULL);
CREATE INDEX customer_notes_of_customer ON public.customer_notes USING btree (merchant_id, mode, customer_key, created_at DESC, id DESC);
CREATE INDEX deposit_addresses_free ON public.deposit_addresses USING btree (rail, mode, derivation_index) WHERE (attempt_id IS NULL);
CREATE UNIQUE INDEX deposit_addresses_of_address ON public.deposit_addresses USING btree (rail, mode, lower(address));
CREATE INDEX deposit_addresses_of_attempt ON public.deposit_addresses USING btree (attempt_id) WHERE (attempt_id IS NOT NULL);
CREATE INDEX fulfillments_by_currency ON public.fulfillments USING btree (merchant_id, mode, currency, created_at DESC, id DESC);
CREATE INDEX fulfillments_by_product ON public.fulfillments USING btree (merchant_id, mode, product_id, created_at DESC, id DESC);
CREATE INDEX fulfillments_by_status ON public.fulfillments USING btree (merchant_id, mode, status, created_at DESC, id DESC) WHERE (status <> 'completed'::text);
CREATE INDEX fulfillments_due ON public.fulfillments USING btree (next_look_at) WHERE (next_look_at IS NOT NULL);
CREATE INDEX fulfillments_external_prefix ON public.fulfillments USING btree (merchant_id, mode, external_id text_pattern_ops) WHERE (external_id IS NOT NULL);
CREATE INDEX fulfillments_of_merchant ON public.fulfillments USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);
CREATE INDEX incoming_transfers_on_their_way ON public.incoming_transfers USING btree (transaction_id) WHERE (status = 'seen'::text);
CREATE INDEX incoming_transfers_without_block ON public.incoming_transfers USING btree (rail, mode, first_seen_at) WHERE ((status = 'seen'::text) AND (block_at IS NULL));
CREATE INDEX invitations_of_address ON public.invitations USING btree (email_key);
CREATE INDEX invitations_of_mail ON public.invitations USING btree (mail_id);
CREATE UNIQUE INDEX invitations_open ON public.invitations USING btree (merchant_id, email_key) WHERE (ended_at IS NULL);
CREATE INDEX known_devices_by_last_use ON public.known_devices USING btree (last_seen_at);
CREATE INDEX ledger_entries_by_type ON public.ledger_entries USING btree (merchant_id, mode, type, created_at DESC, id DESC) WHERE ((type <> 'payment'::text) AND (type <> 'payment_fee'::text));
CREATE INDEX ledger_entries_of_merchant ON public.ledger_entries USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX ledger_entries_of_transaction ON public.ledger_entries USING btree (transaction_id);
CREATE INDEX ledger_holds_active ON public.ledger_holds USING btree (merchant_id, mode, currency) WHERE (status = 'active'::text);
CREATE INDEX ledger_postings_credit ON public.ledger_postings USING btree (credit_account_id);
CREATE INDEX ledger_postings_debit ON public.ledger_postings USING btree (debit_account_id);
CREATE INDEX ledger_transactions_by_time ON public.ledger_transactions USING brin (created_at timestamptz_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX limit_uses_by_time ON public.limit_uses USING btree (used_at);
CREATE INDEX limit_uses_of_spender ON public.limit_uses USING btree (merchant_id, mode, spender, kind, currency, used_at);
CREATE INDEX logos_by_digest ON public.logos USING btree (digest);
CREATE INDEX mails_by_birth ON public.mails USING btree (created_at);
CREATE INDEX mails_due ON public.mails USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX mails_of_user ON public.mails USING btree (user_id) WHERE ((used_at IS NULL) AND (about = 'reset'::text));
CREATE UNIQUE INDEX mails_once ON public.mails USING btree (user_id, about, occasion) WHERE (occasion IS NOT NULL);
CREATE INDEX members_of_user ON public.members USING btree (user_id);
CREATE INDEX notification_digests_due ON public.notification_digests USING btree (next_at);
CREATE INDEX notification_reads_of_member ON public.notification_reads USING btree (merchant_id, user_id);
CREATE INDEX notifications_by_age ON public.notifications USING btree (created_at);
CREATE INDEX notifications_of_member ON public.notifications USING btree (merchant_id, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX notifications_of_reader ON public.notifications USING btree (merchant_id, kind, COALESCE(user_id, '00000000-0000-0000-0000-000000000000'::uuid), mode, created_at DESC, id DESC);
CREATE INDEX oauth_clients_newest ON public.oauth_clients USING btree (created_at DESC, id DESC);
CREATE INDEX oauth_clients_of_documents ON public.oauth_clients USING btree (updated_at) WHERE (document_url IS NOT NULL);
CREATE INDEX oauth_clients_of_owner ON public.oauth_clients USING btree (merchant_id, created_at DESC, id DESC);
CREATE INDEX oauth_codes_by_age ON public.oauth_codes USING btree (created_at);
CREATE INDEX oauth_documents_by_age ON public.oauth_documents USING btree (fetched_at);
CREATE INDEX oauth_grants_by_expiry ON public.oauth_grants USING btree (expires_at) WHERE ((revoked_at IS NULL) AND (expiry_noted_at IS NULL));
CREATE INDEX oauth_grants_limited ON public.oauth_grants USING btree (merchant_id, mode, client_id) WHERE (limits IS NOT NULL);
CREATE INDEX oauth_grants_of_client ON public.oauth_grants USING btree (client_id, created_at DESC, id DESC);
CREATE INDEX oauth_grants_of_merchant ON public.oauth_grants USING btree (merchant_id, created_at DESC, id DESC);
CREATE INDEX oauth_grants_open_of_client ON public.oauth_grants USING btree (client_id, created_at DESC, id DESC) INCLUDE (grant_epoch, expires_at) WHERE ((revoked_at IS NULL) AND (expiry_noted_at IS NULL));
CREATE INDEX oauth_grants_open_of_merchant ON public.oauth_grants USING btree (merchant_id, created_at DESC, id DESC) WHERE ((revoked_at IS NULL) AND (expiry_noted_at IS NULL));
CREATE INDEX oauth_refresh_retries_by_expiry ON public.oauth_refresh_retries USING btree (expires_at);
CREATE INDEX oauth_requests_by_age ON public.oauth_requests USING btree (created_at);
CREATE UNIQUE INDEX oauth_requests_by_device_code ON public.oauth_requests USING btree (device_code_hash) WHERE (device_code_hash IS NOT NULL);
CREATE UNIQUE INDEX oauth_requests_by_user_code ON public.oauth_requests USING btree (user_code) WHERE (user_code IS NOT NULL);
CREATE INDEX oauth_requests_open ON public.oauth_requests USING btree (client_id, expires_at) WHERE (decision IS NULL);
CREATE INDEX operator_actions_of_application ON public.operator_actions USING btree (client_id, id DESC) WHERE (client_id IS NOT NULL);
CREATE INDEX operator_actions_of_merchant ON public.operator_actions USING btree (merchant_id, at DESC, id DESC);
CREATE UNIQUE INDEX operator_approvals_open ON public.operator_approvals USING btree (kind, subject_id, terms, operator_key) WHERE (used_at IS NULL);
CREATE INDEX operator_sessions_by_last_use ON public.operator_sessions USING btree (last_seen_at);
CREATE INDEX operator_sessions_of_operator ON public.operator_sessions USING btree (operator_id);
CREATE INDEX outgoing_transfers_approved_lately ON public.outgoing_transfers USING btree (merchant_id, currency, GREATEST(created_at, reviewed_at)) WHERE ((mode = 'live'::text) AND (review = 'approved'::text) AND (closed_at IS NULL));
CREATE INDEX outgoing_transfers_by_one_member ON public.outgoing_transfers USING btree (merchant_id, mode, currency, created_at) WHERE ((NOT second_member_required) AND (closed_at IS NULL) AND (receiver IS DISTINCT FROM payer_account));
CREATE INDEX outgoing_transfers_in_review ON public.outgoing_transfers USING btree (merchant_id, currency) WHERE ((mode = 'live'::text) AND (review = 'required'::text) AND (closed_at IS NULL));
CREATE INDEX outgoing_transfers_of_day ON public.outgoing_transfers USING btree (merchant_id, mode, method_id, limit_day) WHERE (method_id IS NOT NULL);
CREATE INDEX outgoing_transfers_to_review ON public.outgoing_transfers USING btree (kind, created_at, id) WHERE ((review = 'required'::text) AND (closed_at IS NULL));
CREATE INDEX passkeys_of_holder ON public.passkeys USING btree (holder_id, created_at);
CREATE INDEX payment_links_by_amount ON public.payment_links USING btree (merchant_id, mode, currency, amount_minor, created_at DESC, id DESC);
CREATE INDEX payment_links_by_status ON public.payment_links USING btree (merchant_id, mode, status, created_at DESC, id DESC) WHERE (status <> 'completed'::text);
CREATE INDEX payment_links_due ON public.payment_links USING btree (expires_at) WHERE (status = 'active'::text);
CREATE INDEX payment_links_due_of_merchant ON public.payment_links USING btree (merchant_id, expires_at) WHERE ((status = 'active'::text) AND (mode = 'test'::text));
CREATE INDEX payment_links_email_prefix ON public.payment_links USING btree (merchant_id, mode, lower(customer_email) text_pattern_ops) WHERE (customer_email IS NOT NULL);
CREATE INDEX payment_links_external ON public.payment_links USING btree (merchant_id, mode, external_id, created_at DESC, id DESC) WHERE (external_id IS NOT NULL);
CREATE INDEX payment_links_external_prefix ON public.payment_links USING btree (merchant_id, mode, external_id text_pattern_ops) WHERE (external_id IS NOT NULL);
CREATE INDEX payment_links_of_customer ON public.payment_links USING btree (merchant_id, mode, public.customer_key(customer_email, external_id) text_pattern_ops, created_at DESC, id DESC) WHERE (public.customer_key(customer_email, external_id) IS NOT NULL);
CREATE INDEX payment_links_of_merchant ON public.payment_links USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX payment_reversals_by_id ON public.payment_reversals USING btree (id);
CREATE INDEX payment_reversals_of_transaction ON public.payment_reversals USING btree (transaction_id);
CREATE INDEX payout_pauses_open ON public.payout_pauses USING btree (paused_at) WHERE (resumed_at IS NULL);
CREATE INDEX projects_to_review ON public.projects USING btree (updated_at) WHERE (status = 'in_review'::text);
CREATE INDEX projects_with_changes_to_review ON public.projects USING btree (updated_at) WHERE (pending_changes IS NOT NULL);
CREATE UNIQUE INDEX proposals_by_result ON public.proposals USING btree (result_id, merchant_id) WHERE (result_id IS NOT NULL);
CREATE INDEX proposals_of_api_key ON public.proposals USING btree (api_key_id, created_at DESC, id DESC) WHERE (api_key_id IS NOT NULL);
CREATE INDEX proposals_of_grant ON public.proposals USING btree (grant_id, created_at DESC, id DESC) WHERE (grant_id IS NOT NULL);
CREATE INDEX proposals_of_merchant ON public.proposals USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX proposals_waiting ON public.proposals USING btree (merchant_id, mode, expires_at) WHERE (status = 'waiting'::text);
CREATE INDEX proposals_without_result ON public.proposals USING btree (ended_at) WHERE (status = ANY (ARRAY['rejected'::text, 'canceled'::text, 'expired'::text, 'failed'::text]));
CREATE INDEX provider_balance_transactions_converted ON public.provider_balance_transactions USING btree (rail, mode) WHERE (posted_currency IS NOT NULL);
CREATE INDEX provider_balance_transactions_intent ON public.provider_balance_transactions USING btree (payment_intent) WHERE (payment_intent IS NOT NULL);
CREATE INDEX provider_balance_transactions_object ON public.provider_balance_transactions USING btree (object_id) WHERE (object_id IS NOT NULL);
CREATE INDEX provider_balance_transactions_open ON public.provider_balance_transactions USING btree (rail, mode, created_at) WHERE (settled_at IS NULL);
CREATE INDEX provider_balance_transactions_payouts ON public.provider_balance_transactions USING btree (currency, amount_minor) WHERE (kind = 'payout'::text);
CREATE INDEX provider_events_due ON public.provider_events USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);
CREATE INDEX provider_events_old ON public.provider_events USING btree (received_at);
CREATE INDEX rail_floats_of_rail ON public.rail_floats USING btree (rail, mode, currency);
CREATE INDEX rail_observations_of_account ON public.rail_observations USING btree (payer_account) WHERE ((mode = 'live'::text) AND (payer_account IS NOT NULL));
CREATE INDEX rail_observations_of_name ON public.rail_observations USING btree (lower(payer_name)) WHERE ((mode = 'live'::text) AND (payer_name IS NOT NULL));
CREATE INDEX rail_observations_of_payer_account ON public.rail_observations USING btree (merchant_id, mode, payer_account text_pattern_ops) WHERE (payer_account IS NOT NULL);
CREATE INDEX rail_observations_of_payer_name ON public.rail_observations USING btree (merchant_id, mode, lower(payer_name) text_pattern_ops) WHERE (payer_name IS NOT NULL);
CREATE INDEX rail_observations_of_transaction ON public.rail_observations USING btree (transaction_id);
CREATE UNIQUE INDEX receipt_mails_by_payment ON public.receipt_mails USING btree (transaction_id) WHERE (requested_by = 'payment'::text);
CREATE INDEX receipt_mails_waiting ON public.receipt_mails USING btree (next_attempt_at) WHERE (handled_at IS NULL);
CREATE INDEX refunds_by_currency ON public.refunds USING btree (merchant_id, mode, currency, created_at DESC, id DESC);
CREATE INDEX refunds_by_status ON public.refunds USING btree (merchant_id, mode, status, created_at DESC, id DESC) WHERE (status <> 'succeeded'::text);
CREATE INDEX refunds_due ON public.refunds USING btree (next_look_at) WHERE (status = 'pending'::text);
CREATE INDEX refunds_external_prefix ON public.refunds USING btree (merchant_id, mode, external_id text_pattern_ops, created_at DESC, id DESC) WHERE (external_id IS NOT NULL);
CREATE INDEX refunds_of_merchant ON public.refunds USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX refunds_of_transaction ON public.refunds USING btree (transaction_id, created_at DESC, id DESC);
CREATE INDEX row_digests_by_transaction ON public.row_digests USING btree (xact);
CREATE INDEX sandbox_plans_due ON public.sandbox_plans USING btree (due_at);
CREATE INDEX sessions_by_last_use ON public.sessions USING btree (last_seen_at);
CREATE INDEX sessions_of_user ON public.sessions USING btree (user_id);
CREATE INDEX transactions_by_amount ON public.transactions USING btree (merchant_id, mode, currency, amount_minor, created_at DESC, id DESC);
CREATE INDEX transactions_by_method ON public.transactions USING btree (merchant_id, mode, method_id, created_at DESC, id DESC);
CREATE INDEX transactions_by_status ON public.transactions USING btree (merchant_id, mode, status, created_at DESC, id DESC) WHERE (status <> 'succeeded'::text);
CREATE INDEX transactions_failed ON public.transactions USING btree (merchant_id, mode, updated_at) INCLUDE (currency) WHERE (status = 'failed'::text);
CREATE INDEX transactions_of_link ON public.transactions USING btree (payment_link_id, created_at DESC, id DESC);
CREATE INDEX transactions_of_merchant ON public.transactions USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX transactions_open_on_chains ON public.transactions USING btree (rail, mode, currency, rail_reference) WHERE ((method_type = 'crypto'::text) AND (status = ANY (ARRAY['pending'::text, 'processing'::text])));
CREATE INDEX transactions_succeeded ON public.transactions USING btree (merchant_id, mode, succeeded_at) INCLUDE (currency, method_id, credited_minor) WHERE (succeeded_at IS NOT NULL);
CREATE INDEX transactions_to_decide ON public.transactions USING btree (merchant_id, mode) WHERE (status = 'refund_required'::text);
CREATE INDEX transactions_underpaid ON public.transactions USING btree (payment_link_id) WHERE ((status = 'pending'::text) AND (received_minor > 0));
CREATE INDEX transactions_unpaid_by_amount ON public.transactions USING btree (rail, currency, amount_minor, created_at DESC) WHERE ((mode = 'live'::text) AND (status = ANY (ARRAY['pending'::text, 'expired'::text])));
CREATE INDEX used_jtis_by_expiry ON public.used_jtis USING btree (expires_at);
CREATE INDEX users_of_merchant ON public.users USING btree (merchant_id);
CREATE INDEX webhook_deliveries_later_due ON public.webhook_deliveries_later USING btree (run_at);
CREATE INDEX webhook_deliveries_later_held ON public.webhook_deliveries_later USING btree (merchant_id, mode) WHERE held;
CREATE INDEX webhook_deliveries_later_of_merchant ON public.webhook_deliveries_later USING btree (merchant_id, mode);
CREATE INDEX webhook_deliveries_leased ON public.webhook_deliveries USING btree (lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX webhook_deliveries_of_merchant ON public.webhook_deliveries USING btree (merchant_id, mode);
CREATE INDEX webhook_deliveries_ready ON public.webhook_deliveries USING btree (lane, destination_key, run_at) WITH (deduplicate_items=off) WHERE (lease_until IS NULL);
CREATE INDEX webhook_event_statuses_listed ON public.webhook_event_statuses USING btree (merchant_id, mode, status, created_at DESC, event_id DESC);
CREATE INDEX webhook_events_by_type ON ONLY public.webhook_events USING btree (merchant_id, mode, type, created_at DESC, id DESC) WHERE ((type <> 'payment.succeeded'::text) AND (type <> 'balance.updated'::text));
CREATE INDEX webhook_events_of_merchant ON ONLY public.webhook_events USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX webhook_events_of_resource ON ONLY public.webhook_events USING btree (merchant_id, mode, source_id, created_at DESC, id DESC);
CREATE INDEX webhook_events_tests ON ONLY public.webhook_events USING btree (merchant_id, mode, created_at DESC) WHERE (destination_source = 'test'::text);
CREATE INDEX webhook_failures_newest ON public.webhook_failures USING btree (failed_at DESC);
CREATE INDEX webhook_failures_of_merchant ON public.webhook_failures USING btree (merchant_id, mode, failed_at DESC);
CREATE INDEX webhook_redelivery_runs_old ON public.webhook_redelivery_runs USING btree (created_at);
CREATE UNIQUE INDEX webhook_redelivery_runs_one ON public.webhook_redelivery_runs USING btree (merchant_id, mode) WHERE (ended_at IS NULL);
CREATE INDEX webhook_replays_of_event ON public.webhook_replays USING btree (merchant_id, mode, event_id, created_at);
CREATE INDEX webhook_replays_old ON public.webhook_replays USING btree (created_at);
CREATE INDEX webhook_replays_open ON public.webhook_replays USING btree (created_at) WHERE (duration_ms IS NULL);
CREATE UNIQUE INDEX webhook_secrets_one_active ON public.webhook_secrets USING btree (merchant_id, mode) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX webhook_secrets_one_pending ON public.webhook_secrets USING btree (merchant_id, mode) WHERE (state = 'pending'::text);
CREATE UNIQUE INDEX webhook_secrets_one_previous ON public.webhook_secrets USING btree (merchant_id, mode) WHERE (signs_until IS NOT NULL);
CREATE INDEX withdrawal_batches_of_merchant ON public.withdrawal_batches USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX withdrawal_quotes_old ON public.withdrawal_quotes USING btree (created_at);
CREATE INDEX withdrawal_recipients_by_account ON public.withdrawal_recipients USING btree (merchant_id, mode, rail, account);
CREATE INDEX withdrawal_recipients_of_merchant ON public.withdrawal_recipients USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE UNIQUE INDEX withdrawal_recipients_once ON public.withdrawal_recipients USING btree (merchant_id, mode, method_id, account);
CREATE INDEX withdrawal_schedule_runs_of_merchant ON public.withdrawal_schedule_runs USING btree (merchant_id, at DESC, due_at DESC);
CREATE INDEX withdrawal_schedules_active ON public.withdrawal_schedules USING btree (merchant_id, mode, next_attempt_at) WHERE (status = 'active'::text);
CREATE INDEX withdrawal_schedules_due ON public.withdrawal_schedules USING btree (next_attempt_at) WHERE (status = 'active'::text);
CREATE INDEX withdrawal_schedules_of_merchant ON public.withdrawal_schedules USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX withdrawals_by_amount ON public.withdrawals USING btree (merchant_id, mode, currency, amount_minor, created_at DESC, id DESC);
CREATE INDEX withdrawals_by_currency ON public.withdrawals USING btree (merchant_id, mode, currency, created_at DESC, id DESC);
CREATE INDEX withdrawals_by_method ON public.withdrawals USING btree (merchant_id, mode, method_id, created_at DESC, id DESC);
CREATE INDEX withdrawals_by_status ON public.withdrawals USING btree (merchant_id, mode, status, created_at DESC, id DESC) WHERE (status <> 'completed'::text);
CREATE INDEX withdrawals_due ON public.withdrawals USING btree (next_look_at) WHERE (next_look_at IS NOT NULL);
CREATE INDEX withdrawals_external_prefix ON public.withdrawals USING btree (merchant_id, mode, external_id text_pattern_ops) WHERE (external_id IS NOT NULL);
CREATE INDEX withdrawals_of_merchant ON public.withdrawals USING btree (merchant_id, mode, created_at DESC, id DESC);
CREATE UNIQUE INDEX withdrawals_once_in_batch ON public.withdrawals USING btree (batch_id, batch_row, merchant_id) WHERE (batch_id IS NOT NULL);
CREATE INDEX withdrawals_to_review ON public.withdrawals USING btree (created_at, id) WHERE (status = 'pending_review'::text);
CREATE TRIGGER amounts_fixed BEFORE UPDATE ON public.payment_reversals FOR EACH ROW WHEN (((old.status <> 'expected'::text) AND ((old.amount_minor <> new.amount_minor) OR (old.unapplied_minor <> new.unapplied_minor) OR (old.charged_back_minor <> new.charged_back_minor) OR (old.lost_minor <> new.lost_minor) OR (old.chargeback_id IS DISTINCT FROM new.chargeback_id)))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.bank_batches FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.bank_entries FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.bank_statements FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.chargeback_notes FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.conversion_prices FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.conversions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.data_subject_requests FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.hash_chain_blocks FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.ledger_entries FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.ledger_postings FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.ledger_transaction_applications FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.ledger_transactions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.operator_actions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.receipts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.value_releases FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.withdrawal_batches FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON public.withdrawal_schedule_runs FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER balance_payments_transition BEFORE UPDATE OF status ON public.balance_payments FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER balance_payments_wait_captured AFTER UPDATE OF captured_minor ON public.balance_payments FOR EACH ROW WHEN (((old.captured_minor = 0) AND (new.captured_minor > 0))) EXECUTE FUNCTION public.balance_payments_wait();
CREATE TRIGGER balance_payments_wait_made AFTER INSERT ON public.balance_payments FOR EACH ROW WHEN ((new.captured_minor > 0)) EXECUTE FUNCTION public.balance_payments_wait();
CREATE TRIGGER bank_imports_transition BEFORE UPDATE OF status ON public.bank_imports FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER bank_payouts_exported_of BEFORE UPDATE OF status ON public.bank_payouts FOR EACH ROW WHEN ((new.status = 'exported'::text)) EXECUTE FUNCTION public.bank_payouts_refuse_unreleased();
CREATE TRIGGER bank_payouts_prepared_of BEFORE INSERT ON public.bank_payouts FOR EACH ROW EXECUTE FUNCTION public.bank_payouts_refuse_unreleased();
CREATE TRIGGER bank_payouts_transition BEFORE UPDATE OF status ON public.bank_payouts FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER begins_to_decide BEFORE UPDATE ON public.members FOR EACH ROW WHEN ((((old.removed_at IS NOT NULL) AND (new.removed_at IS NULL)) OR ((old.role <> ALL (ARRAY['owner'::text, 'administrator'::text, 'finance'::text])) AND (new.role = ANY (ARRAY['owner'::text, 'administrator'::text, 'finance'::text]))))) EXECUTE FUNCTION public.members_begin_to_decide();
CREATE TRIGGER bitcoin_batches_enforced BEFORE UPDATE ON public.bitcoin_batches FOR EACH ROW EXECUTE FUNCTION public.bitcoin_batches_enforce();
CREATE TRIGGER bitcoin_outputs_transition BEFORE UPDATE OF status ON public.bitcoin_outputs FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER bitcoin_payouts_enforced BEFORE INSERT OR UPDATE ON public.bitcoin_payouts FOR EACH ROW EXECUTE FUNCTION public.bitcoin_payouts_enforce();
CREATE TRIGGER chain_payouts_enforced BEFORE INSERT OR UPDATE ON public.chain_payouts FOR EACH ROW EXECUTE FUNCTION public.chain_payouts_enforce();
CREATE TRIGGER chain_payouts_keep_exported BEFORE UPDATE ON public.chain_payouts FOR EACH ROW WHEN ((old.exported_at IS NOT NULL)) EXECUTE FUNCTION public.chain_payouts_keep_exported();
CREATE TRIGGER chargebacks_transition BEFORE UPDATE OF status, response, evidence ON public.chargebacks FOR EACH ROW EXECUTE FUNCTION public.chargebacks_enforce();
CREATE TRIGGER confirmed BEFORE INSERT OR UPDATE ON public.second_member_rules FOR EACH ROW EXECUTE FUNCTION public.second_member_rules_require_confirmation();
CREATE TRIGGER confirmed_by_operators BEFORE UPDATE OF status, confirmed_at ON public.bank_imports FOR EACH ROW WHEN ((((old.status = 'unconfirmed'::text) AND (new.status = 'uploaded'::text)) OR ((old.confirmed_at IS NULL) AND (new.confirmed_at IS NOT NULL)))) EXECUTE FUNCTION public.bank_imports_require_operators();
CREATE CONSTRAINT TRIGGER conversions_at_fixed_rate AFTER INSERT ON public.conversions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.mode = 'live'::text) AND (new.transaction_id IS NOT NULL) AND (new.reversal_id IS NULL))) EXECUTE FUNCTION public.conversions_at_fixed_rate();
CREATE CONSTRAINT TRIGGER daily_totals AFTER INSERT ON public.ledger_transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.created_at < (now() - '00:05:00'::interval))) EXECUTE FUNCTION public.ledger_daily_totals_add_late();
CREATE TRIGGER decided_once BEFORE UPDATE ON public.bank_entry_parts FOR EACH ROW WHEN (((old.amount_minor <> new.amount_minor) OR (old.entry_id <> new.entry_id) OR ((old.outcome <> 'unmatched'::text) AND (NOT ((old.outcome = ANY (ARRAY['dismissed'::text, 'fee'::text, 'written_off'::text, 'provider_payout'::text])) AND (new.outcome = 'unmatched'::text)))))) EXECUTE FUNCTION public.bank_entry_parts_refuse_change();
CREATE TRIGGER decided_once BEFORE UPDATE ON public.proposals FOR EACH ROW EXECUTE FUNCTION public.proposals_enforce();
CREATE TRIGGER digested AFTER INSERT ON public.balance_payments FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('balance_payment');
CREATE TRIGGER digested AFTER INSERT ON public.bank_batches FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('bank_batch');
CREATE TRIGGER digested AFTER INSERT ON public.bank_entries FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('bank_entry');
CREATE TRIGGER digested AFTER INSERT ON public.bank_entry_parts FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('bank_transfer');
CREATE TRIGGER digested AFTER INSERT ON public.bank_payouts FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('payout');
CREATE TRIGGER digested AFTER INSERT ON public.bank_statements FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('bank_statement');
CREATE TRIGGER digested AFTER INSERT ON public.chargebacks FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('chargeback');
CREATE TRIGGER digested AFTER INSERT ON public.conversions FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('conversion');
CREATE TRIGGER digested AFTER INSERT ON public.fulfillments FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('fulfillment');
CREATE TRIGGER digested AFTER INSERT ON public.ledger_holds FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('hold');
CREATE CONSTRAINT TRIGGER digested AFTER INSERT ON public.ledger_transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('ledger');
CREATE TRIGGER digested AFTER INSERT ON public.operator_actions FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('operator_action');
CREATE TRIGGER digested AFTER INSERT ON public.outgoing_transfers FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('outgoing_transfer');
CREATE TRIGGER digested AFTER INSERT ON public.payment_links FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('link');
CREATE TRIGGER digested AFTER INSERT ON public.refunds FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('refund');
CREATE TRIGGER digested AFTER INSERT ON public.transactions FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('payment');
CREATE TRIGGER digested AFTER INSERT ON public.webhook_events FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('event');
CREATE TRIGGER digested AFTER INSERT ON public.withdrawals FOR EACH ROW EXECUTE FUNCTION public.row_digests_write('withdrawal');
CREATE TRIGGER follow_link AFTER INSERT ON public.transactions FOR EACH ROW WHEN ((new.status = 'pending'::text)) EXECUTE FUNCTION public.transactions_follow_link();
CREATE TRIGGER fulfillments_transition BEFORE UPDATE OF status ON public.fulfillments FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER given_back_once BEFORE UPDATE ON public.transactions FOR EACH ROW WHEN (((new.returning_minor > old.returning_minor) AND (((new.refunded_minor + new.returning_minor) + new.charged_back_minor) > (new.received_minor - (new.unapplied_minor - new.returning_unapplied_minor))))) EXECUTE FUNCTION public.transactions_refuse_refund();
CREATE TRIGGER incoming_transfers_transition BEFORE UPDATE OF status ON public.incoming_transfers FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER keeps_batch BEFORE UPDATE OF batch_id, batch_row ON public.withdrawals FOR EACH ROW WHEN (((old.batch_id IS DISTINCT FROM new.batch_id) OR (old.batch_row IS DISTINCT FROM new.batch_row))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER keeps_recipient BEFORE UPDATE OF recipient_id ON public.withdrawals FOR EACH ROW WHEN ((old.recipient_id IS DISTINCT FROM new.recipient_id)) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER kept_a_year BEFORE DELETE ON public.audit_lines FOR EACH ROW WHEN ((old.created_at > (now() - '365 days'::interval))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER let_leave AFTER INSERT ON public.chargebacks FOR EACH ROW EXECUTE FUNCTION public.chargebacks_let_leave();
CREATE TRIGGER let_leave AFTER INSERT ON public.conversions FOR EACH ROW EXECUTE FUNCTION public.conversions_let_leave();
CREATE TRIGGER let_leave AFTER UPDATE OF attempts ON public.fulfillments FOR EACH ROW WHEN ((new.attempts > old.attempts)) EXECUTE FUNCTION public.fulfillments_let_leave();
CREATE TRIGGER let_leave AFTER UPDATE OF released_at ON public.outgoing_transfers FOR EACH ROW WHEN (((old.released_at IS NULL) AND (new.released_at IS NOT NULL))) EXECUTE FUNCTION public.outgoing_transfers_let_leave();
CREATE TRIGGER let_leave_captured AFTER UPDATE OF captured_minor ON public.balance_payments FOR EACH ROW WHEN ((new.captured_minor > old.captured_minor)) EXECUTE FUNCTION public.balance_payments_let_leave('payer');
CREATE TRIGGER let_leave_paid AFTER INSERT ON public.balance_payments FOR EACH ROW WHEN ((new.captured_minor > 0)) EXECUTE FUNCTION public.balance_payments_let_leave('payer');
CREATE TRIGGER let_leave_refunded AFTER UPDATE OF refunded_minor ON public.balance_payments FOR EACH ROW WHEN ((new.refunded_minor > old.refunded_minor)) EXECUTE FUNCTION public.balance_payments_let_leave('owner');
CREATE TRIGGER limits_given_back AFTER UPDATE OF released ON public.ledger_holds FOR EACH ROW WHEN (((new.released > old.released) AND (new.source_type = ANY (ARRAY['balance_payment'::text, 'fulfillment'::text])))) EXECUTE FUNCTION public.limits_give_back_released();
CREATE TRIGGER limits_given_back AFTER UPDATE OF closed_at ON public.outgoing_transfers FOR EACH ROW WHEN (((old.closed_at IS NULL) AND (new.closed_at IS NOT NULL))) EXECUTE FUNCTION public.limits_give_back();
CREATE TRIGGER limits_used AFTER INSERT ON public.balance_payments FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.limits_require_use('balance_payments', 'currency', 'amount_minor');
CREATE TRIGGER limits_used AFTER INSERT ON public.conversions FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.limits_require_use('conversions', 'from_currency', 'from_amount_minor');
CREATE TRIGGER limits_used AFTER INSERT ON public.fulfillments FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.limits_require_use('fulfillments', 'currency', 'cost_minor');
CREATE TRIGGER limits_used AFTER INSERT ON public.refunds FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.limits_require_use('refunds', 'currency', 'amount_minor network_fee_minor');
CREATE TRIGGER limits_used AFTER INSERT ON public.withdrawals FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.limits_require_use('withdrawals', 'currency', 'debit_minor');
CREATE TRIGGER member_made AFTER INSERT ON public.users FOR EACH ROW WHEN ((new.merchant_id IS NOT NULL)) EXECUTE FUNCTION public.users_open_merchant();
CREATE TRIGGER merchant_named BEFORE INSERT ON public.sessions FOR EACH ROW WHEN ((new.merchant_id IS NULL)) EXECUTE FUNCTION public.sessions_name_merchant();
CREATE TRIGGER narrowing_cancels_proposals AFTER UPDATE OF scope_mask ON public.oauth_grants FOR EACH ROW WHEN (((old.scope_mask & (~ new.scope_mask)) <> 0)) EXECUTE FUNCTION public.proposals_cancel_of_grant();
CREATE TRIGGER never_above_limit AFTER UPDATE OF balance ON public.ledger_accounts FOR EACH ROW WHEN ((new.guarded AND (new.code <> 'debt'::text) AND (new.balance > old.balance))) EXECUTE FUNCTION public.ledger_refuse_above_limit();
CREATE TRIGGER never_another BEFORE UPDATE ON public.bitcoin_outputs FOR EACH ROW WHEN (((old.rail <> new.rail) OR (old.mode <> new.mode) OR (old.txid <> new.txid) OR (old.vout <> new.vout) OR (old.address <> new.address) OR (old.amount_minor <> new.amount_minor) OR (old.created_at <> new.created_at) OR ((old.version + 1) <> new.version))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_another BEFORE UPDATE ON public.incoming_transfers FOR EACH ROW WHEN (((old.rail <> new.rail) OR (old.mode <> new.mode) OR (old.transfer_ref <> new.transfer_ref) OR (old.merchant_id <> new.merchant_id) OR (old.transaction_id <> new.transaction_id) OR (old.currency <> new.currency) OR (old.first_seen_at <> new.first_seen_at))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_begun_above_limit AFTER INSERT ON public.ledger_accounts FOR EACH ROW WHEN ((new.guarded AND (new.code <> 'debt'::text) AND (new.balance > 0))) EXECUTE FUNCTION public.ledger_refuse_above_limit();
CREATE TRIGGER never_changed BEFORE UPDATE ON public.audit_lines FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE DELETE OR UPDATE ON public.bank_reports FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON public.bitcoin_batch_coins FOR EACH ROW WHEN (((old.batch_id IS DISTINCT FROM new.batch_id) OR (old.number IS DISTINCT FROM new.number) OR (old.rail IS DISTINCT FROM new.rail) OR (old.mode IS DISTINCT FROM new.mode) OR (old.txid IS DISTINCT FROM new.txid) OR (old.vout IS DISTINCT FROM new.vout) OR (old.amount_minor IS DISTINCT FROM new.amount_minor) OR (old.chain IS DISTINCT FROM new.chain) OR (old.derivation_index IS DISTINCT FROM new.derivation_index) OR ((old.released_at IS NOT NULL) AND (old.released_at IS DISTINCT FROM new.released_at)))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON public.bitcoin_batch_payouts FOR EACH ROW WHEN (((old.batch_id IS DISTINCT FROM new.batch_id) OR (old.payout_id IS DISTINCT FROM new.payout_id) OR (old.number IS DISTINCT FROM new.number) OR ((old.released_at IS NOT NULL) AND (old.released_at IS DISTINCT FROM new.released_at)))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON public.bitcoin_transactions FOR EACH ROW WHEN (((old.batch_id IS DISTINCT FROM new.batch_id) OR (old.number IS DISTINCT FROM new.number) OR (old.rail IS DISTINCT FROM new.rail) OR (old.mode IS DISTINCT FROM new.mode) OR (old.txid IS DISTINCT FROM new.txid) OR (old.psbt IS DISTINCT FROM new.psbt) OR (old.rate IS DISTINCT FROM new.rate) OR (old.fee_minor IS DISTINCT FROM new.fee_minor) OR (old.change_minor IS DISTINCT FROM new.change_minor) OR (old.drafted_at IS DISTINCT FROM new.drafted_at) OR ((old.raw IS NOT NULL) AND (old.raw IS DISTINCT FROM new.raw)) OR ((old.raw IS NOT NULL) AND (old.signed_at IS DISTINCT FROM new.signed_at)))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OF payout_id, number, tx_hash, raw, gas, fee_per_gas, tip_per_gas, signed_at ON public.chain_transactions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE DELETE OR UPDATE ON public.currency_scales FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON public.provider_balance_transactions FOR EACH ROW WHEN (((old.id IS DISTINCT FROM new.id) OR (old.rail IS DISTINCT FROM new.rail) OR (old.mode IS DISTINCT FROM new.mode) OR (old.external_id IS DISTINCT FROM new.external_id) OR (old.kind IS DISTINCT FROM new.kind) OR (old.category IS DISTINCT FROM new.category) OR (old.source IS DISTINCT FROM new.source) OR (old.payment_intent IS DISTINCT FROM new.payment_intent) OR (old.object_id IS DISTINCT FROM new.object_id) OR (old.currency IS DISTINCT FROM new.currency) OR (old.amount_minor IS DISTINCT FROM new.amount_minor) OR (old.fee_minor IS DISTINCT FROM new.fee_minor) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.available_at IS DISTINCT FROM new.available_at) OR (old.settled_at IS NOT NULL))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE DELETE OR UPDATE ON public.rail_floats FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON public.row_digests FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE DELETE OR UPDATE ON public.scope_bits FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE DELETE OR UPDATE ON public.state_transitions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON public.withdrawal_recipients FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.balance_payments FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bank_accounts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bank_entry_parts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bank_payouts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bitcoin_batch_coins FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bitcoin_batch_payouts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bitcoin_batches FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bitcoin_outputs FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bitcoin_payouts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.bitcoin_transactions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.chain_deposits FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.chain_payouts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.chain_transactions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.fulfillments FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.incoming_transfers FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.ledger_accounts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.ledger_holds FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.outgoing_transfers FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.payment_reversals FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.payout_pauses FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.provider_balance_transactions FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.row_digests FOR EACH ROW WHEN ((old.kind <> 'event'::text)) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON public.second_member_rules FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.audit_lines FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.balance_payments FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.bank_entry_parts FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.bitcoin_outputs FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.chargeback_notes FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.conversion_prices FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.currency_scales FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.data_subject_requests FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.fulfillments FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.hash_chain_blocks FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.incoming_transfers FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.ledger_accounts FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.ledger_holds FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.ledger_postings FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.ledger_transaction_applications FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.ledger_transactions FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.operator_actions FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.operator_approvals FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.outgoing_transfers FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.payment_reversals FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.provider_balance_transactions FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.rail_floats FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.receipts FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.row_digests FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.scope_bits FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.state_transitions FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON public.value_releases FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_redirected BEFORE UPDATE OF id, kind, merchant_id, mode, currency, amount_minor, receiver_iban, receiver_name, words, receiver_bic, receiver_address ON public.bank_payouts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER never_redirected BEFORE DELETE OR UPDATE ON public.deposit_addresses FOR EACH ROW EXECUTE FUNCTION public.deposit_addresses_refuse_change();
CREATE TRIGGER never_renamed BEFORE UPDATE OF mode, currency, merchant_id, code, normal_side, guarded ON public.ledger_accounts FOR EACH ROW EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER of_known_kind BEFORE INSERT ON public.operator_actions FOR EACH ROW EXECUTE FUNCTION public.operator_actions_require_kind();
CREATE TRIGGER only_active_recipients BEFORE INSERT ON public.withdrawals FOR EACH ROW WHEN ((new.recipient_id IS NOT NULL)) EXECUTE FUNCTION public.withdrawals_refuse_inactive_recipient();
CREATE TRIGGER only_saved_recipients BEFORE INSERT ON public.outgoing_transfers FOR EACH ROW EXECUTE FUNCTION public.outgoing_refuse_unsaved();
CREATE TRIGGER outgoing_released AFTER INSERT ON public.ledger_postings REFERENCING NEW TABLE AS posted FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_refuse_unreleased();
CREATE TRIGGER outgoing_transfers_operators BEFORE UPDATE ON public.outgoing_transfers FOR EACH ROW EXECUTE FUNCTION public.outgoing_transfers_require_operators();
CREATE TRIGGER outgoing_transfers_step BEFORE INSERT OR UPDATE ON public.outgoing_transfers FOR EACH ROW EXECUTE FUNCTION public.outgoing_transfers_refuse_change();
CREATE TRIGGER outgoing_transfers_wait AFTER UPDATE OF released_at ON public.outgoing_transfers FOR EACH ROW WHEN (((old.released_at IS NULL) AND (new.released_at IS NOT NULL))) EXECUTE FUNCTION public.outgoing_transfers_wait();
CREATE CONSTRAINT TRIGGER owner_kept AFTER DELETE OR UPDATE ON public.members DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.role = 'owner'::text)) EXECUTE FUNCTION public.members_keep_owner();
CREATE TRIGGER pages_looked_at AFTER UPDATE ON public.payment_links FOR EACH ROW WHEN (((new.mode = 'live'::text) AND ((old.expires_at <> new.expires_at) OR ((old.status = 'active'::text) AND (new.status <> 'active'::text) AND (new.max_payments IS DISTINCT FROM 1)) OR ((old.status = 'active'::text) AND (new.status = 'canceled'::text))))) EXECUTE FUNCTION public.card_payments_look();
CREATE TRIGGER payment_reversals_transition BEFORE UPDATE OF status ON public.payment_reversals FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER positions AFTER INSERT ON public.conversions FOR EACH ROW WHEN ((new.mode = 'live'::text)) EXECUTE FUNCTION public.conversion_positions_follow();
CREATE CONSTRAINT TRIGGER posted AFTER INSERT ON public.bank_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.bank_entries_require_posting();
CREATE CONSTRAINT TRIGGER posted AFTER UPDATE OF outcome ON public.bank_entry_parts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.outcome IS DISTINCT FROM new.outcome)) EXECUTE FUNCTION public.bank_entry_parts_require_posting();
CREATE TRIGGER projects_keep_approved BEFORE UPDATE ON public.projects FOR EACH ROW WHEN (((old.mode = 'live'::text) AND (old.status = 'approved'::text) AND ((old.name IS DISTINCT FROM new.name) OR (old.website_url IS DISTINCT FROM new.website_url) OR (old.description IS DISTINCT FROM new.description)))) EXECUTE FUNCTION public.projects_keep_approved();
CREATE TRIGGER proposals_approved AFTER INSERT ON public.balance_payments FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON public.conversions FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON public.fulfillments FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON public.refunds FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON public.withdrawals FOR EACH ROW WHEN ((new.credential_id IS NOT NULL)) EXECUTE FUNCTION public.proposals_require_approval();
CREATE TRIGGER proposals_transition BEFORE UPDATE OF status ON public.proposals FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER proposed_by_own BEFORE INSERT ON public.proposals FOR EACH ROW EXECUTE FUNCTION public.proposals_require_proposer();
CREATE TRIGGER queued AFTER INSERT ON public.webhook_events FOR EACH ROW WHEN (((new.type <> 'webhook.test'::text) AND (new.source_type <> 'connection'::text))) EXECUTE FUNCTION public.webhook_events_queue();
CREATE TRIGGER refunds_made_released BEFORE INSERT ON public.refunds FOR EACH ROW WHEN (((new.status = 'succeeded'::text) OR (new.provider_reference IS NOT NULL))) EXECUTE FUNCTION public.outgoing_refuse_unreleased();
CREATE TRIGGER refunds_not_too_many BEFORE INSERT ON public.refunds FOR EACH ROW EXECUTE FUNCTION public.refunds_refuse_too_many();
CREATE TRIGGER refunds_released BEFORE UPDATE OF status, provider_reference ON public.refunds FOR EACH ROW WHEN ((((new.status = 'succeeded'::text) AND (old.status <> 'succeeded'::text)) OR ((new.provider_reference IS NOT NULL) AND (old.provider_reference IS NULL)))) EXECUTE FUNCTION public.outgoing_refuse_unreleased();
CREATE TRIGGER resumed_once BEFORE UPDATE ON public.payout_pauses FOR EACH ROW WHEN ((old.resumed_at IS NOT NULL)) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER returned_by_operators BEFORE UPDATE OF outcome ON public.bank_entry_parts FOR EACH ROW WHEN (((new.outcome = 'payout_return'::text) AND (old.outcome <> 'payout_return'::text))) EXECUTE FUNCTION public.bank_entry_parts_require_operators();
CREATE CONSTRAINT TRIGGER running_totals AFTER UPDATE ON public.fulfillments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.product_id IS DISTINCT FROM new.product_id) OR (old.project_id IS DISTINCT FROM new.project_id) OR (old.delivered_quantity IS DISTINCT FROM new.delivered_quantity) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.completed_at IS DISTINCT FROM new.completed_at))) EXECUTE FUNCTION public.running_totals_follow_fulfillment();
CREATE TRIGGER running_totals AFTER INSERT ON public.ledger_entries REFERENCING NEW TABLE AS posted FOR EACH STATEMENT EXECUTE FUNCTION public.running_totals_follow_entries();
CREATE CONSTRAINT TRIGGER running_totals AFTER INSERT ON public.refunds DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status = 'succeeded'::text)) EXECUTE FUNCTION public.running_totals_follow_refund();
CREATE CONSTRAINT TRIGGER running_totals AFTER INSERT ON public.transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.succeeded_at IS NOT NULL)) EXECUTE FUNCTION public.running_totals_follow_payment();
CREATE CONSTRAINT TRIGGER running_totals_failed AFTER UPDATE ON public.transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((old.status = 'failed'::text) OR (new.status = 'failed'::text)) AND ((old.status IS DISTINCT FROM new.status) OR (old.updated_at IS DISTINCT FROM new.updated_at)))) EXECUTE FUNCTION public.running_totals_follow_failure();
CREATE CONSTRAINT TRIGGER running_totals_moved AFTER UPDATE ON public.refunds DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.amount_minor IS DISTINCT FROM new.amount_minor) OR (old.unapplied_minor IS DISTINCT FROM new.unapplied_minor) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION public.running_totals_follow_refund();
CREATE CONSTRAINT TRIGGER running_totals_moved AFTER UPDATE ON public.transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.succeeded_at IS DISTINCT FROM new.succeeded_at) OR (old.credited_minor IS DISTINCT FROM new.credited_minor))) EXECUTE FUNCTION public.running_totals_follow_payment();
CREATE TRIGGER second_member BEFORE INSERT OR UPDATE ON public.outgoing_transfers FOR EACH ROW EXECUTE FUNCTION public.outgoing_transfers_require_member();
CREATE TRIGGER stays_closed BEFORE UPDATE ON public.merchants FOR EACH ROW WHEN (((old.closed_at IS NOT NULL) AND ((new.closed_at IS DISTINCT FROM old.closed_at) OR (new.suspended_at IS NULL)))) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE TRIGGER suspension_cancels_proposals AFTER UPDATE OF suspended_at ON public.merchants FOR EACH ROW WHEN (((old.suspended_at IS NULL) AND (new.suspended_at IS NOT NULL))) EXECUTE FUNCTION public.proposals_cancel_of_suspended();
CREATE TRIGGER suspension_cancels_proposals AFTER UPDATE OF suspended_at ON public.oauth_clients FOR EACH ROW WHEN (((old.suspended_at IS NULL) AND (new.suspended_at IS NOT NULL))) EXECUTE FUNCTION public.proposals_cancel_of_suspended();
CREATE TRIGGER transactions_transition BEFORE UPDATE OF status ON public.transactions FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
CREATE TRIGGER used_once BEFORE UPDATE ON public.operator_approvals FOR EACH ROW EXECUTE FUNCTION public.operator_approvals_refuse_change();
CREATE TRIGGER used_stay BEFORE DELETE ON public.operator_approvals FOR EACH ROW WHEN ((old.used_at IS NOT NULL)) EXECUTE FUNCTION public.ledger_refuse_change();
CREATE CONSTRAINT TRIGGER value_released AFTER INSERT ON public.ledger_postings DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.type <> ALL (ARRAY['payment'::text, 'payment_fee'::text, 'adjustment'::text]))) EXECUTE FUNCTION public.ledger_refuse_unreleased_value();
CREATE TRIGGER webhook_event_statuses_first AFTER INSERT ON public.webhook_events FOR EACH ROW WHEN ((new.status = 'held'::text)) EXECUTE FUNCTION public.webhook_event_statuses_follow();
CREATE TRIGGER webhook_event_statuses_follow AFTER UPDATE OF status ON public.webhook_events FOR EACH ROW WHEN (((old.status <> new.status) AND ((old.status = ANY (ARRAY['retrying'::text, 'failed'::text, 'canceled'::text, 'held'::text])) OR (new.status = ANY (ARRAY['retrying'::text, 'failed'::text, 'canceled'::text, 'held'::text]))))) EXECUTE FUNCTION public.webhook_event_statuses_follow();
CREATE TRIGGER webhook_failures_follow AFTER UPDATE OF status ON public.webhook_events FOR EACH ROW WHEN (((old.status = 'failed'::text) <> (new.status = 'failed'::text))) EXECUTE FUNCTION public.webhook_failures_follow();
CREATE TRIGGER withdrawals_released BEFORE INSERT OR UPDATE OF status ON public.withdrawals FOR EACH ROW WHEN ((new.status = ANY (ARRAY['approved'::text, 'processing'::text, 'completed'::text]))) EXECUTE FUNCTION public.outgoing_refuse_unreleased();
CREATE TRIGGER withdrawals_transition BEFORE UPDATE OF status ON public.withdrawals FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.state_transitions_enforce();
ALTER TABLE ONLY public.address_changes
    ADD CONSTRAINT address_changes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.api_key_activity
    ADD CONSTRAINT api_key_activity_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.application_reports
    ADD CONSTRAINT application_reports_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.application_reports
    ADD CONSTRAINT application_reports_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.audit_lines
    ADD CONSTRAINT audit_lines_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.balance_payments
    ADD CONSTRAINT balance_payments_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.balance_payments
    ADD CONSTRAINT balance_payments_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES public.ledger_holds(id);
ALTER TABLE ONLY public.balance_payments
    ADD CONSTRAINT balance_payments_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.balance_payments
    ADD CONSTRAINT balance_payments_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.bank_accounts
    ADD CONSTRAINT bank_accounts_importing_id_fkey FOREIGN KEY (importing_id) REFERENCES public.bank_statements(id);
ALTER TABLE ONLY public.bank_accounts
    ADD CONSTRAINT bank_accounts_last_statement_id_fkey FOREIGN KEY (last_statement_id) REFERENCES public.bank_statements(id);
ALTER TABLE ONLY public.bank_entries
    ADD CONSTRAINT bank_entries_first_statement_id_fkey FOREIGN KEY (first_statement_id) REFERENCES public.bank_statements(id);
ALTER TABLE ONLY public.bank_entry_parts
    ADD CONSTRAINT bank_entry_parts_entry_id_fkey FOREIGN KEY (entry_id) REFERENCES public.bank_entries(id);
ALTER TABLE ONLY public.bank_entry_parts
    ADD CONSTRAINT bank_entry_parts_payout_id_fkey FOREIGN KEY (payout_id) REFERENCES public.bank_payouts(id);
ALTER TABLE ONLY public.bank_entry_parts
    ADD CONSTRAINT bank_entry_parts_provider_payout_id_fkey FOREIGN KEY (provider_payout_id) REFERENCES public.provider_balance_transactions(id);
ALTER TABLE ONLY public.bank_import_entries
    ADD CONSTRAINT bank_import_entries_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.bank_imports(id);
ALTER TABLE ONLY public.bank_import_pieces
    ADD CONSTRAINT bank_import_pieces_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.bank_imports(id);
ALTER TABLE ONLY public.bank_import_statements
    ADD CONSTRAINT bank_import_statements_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.bank_imports(id);
ALTER TABLE ONLY public.bank_imports
    ADD CONSTRAINT bank_imports_statement_id_fkey FOREIGN KEY (statement_id) REFERENCES public.bank_statements(id);
ALTER TABLE ONLY public.bank_payouts
    ADD CONSTRAINT bank_payouts_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.bank_batches(id);
ALTER TABLE ONLY public.bank_payouts
    ADD CONSTRAINT bank_payouts_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.bank_payouts
    ADD CONSTRAINT bank_payouts_outgoing FOREIGN KEY (id, kind, merchant_id, mode, currency, amount_minor) REFERENCES public.outgoing_transfers(id, kind, merchant_id, mode, currency, amount_minor);
ALTER TABLE ONLY public.bank_reports
    ADD CONSTRAINT bank_reports_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.bank_batches(id);
ALTER TABLE ONLY public.bank_sendings
    ADD CONSTRAINT bank_sendings_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.bank_batches(id);
ALTER TABLE ONLY public.bitcoin_batch_coins
    ADD CONSTRAINT bitcoin_batch_coins_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.bitcoin_batches(id);
ALTER TABLE ONLY public.bitcoin_batch_payouts
    ADD CONSTRAINT bitcoin_batch_payouts_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.bitcoin_batches(id);
ALTER TABLE ONLY public.bitcoin_batch_payouts
    ADD CONSTRAINT bitcoin_batch_payouts_payout_id_fkey FOREIGN KEY (payout_id) REFERENCES public.bitcoin_payouts(id);
ALTER TABLE ONLY public.bitcoin_payouts
    ADD CONSTRAINT bitcoin_payouts_id_fkey FOREIGN KEY (id) REFERENCES public.outgoing_transfers(id);
ALTER TABLE ONLY public.bitcoin_transactions
    ADD CONSTRAINT bitcoin_transactions_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.bitcoin_batches(id);
ALTER TABLE ONLY public.card_payments
    ADD CONSTRAINT card_payments_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id);
ALTER TABLE ONLY public.chain_deposits
    ADD CONSTRAINT chain_deposits_sweep_id_fkey FOREIGN KEY (sweep_id) REFERENCES public.chain_payouts(id);
ALTER TABLE ONLY public.chain_payouts
    ADD CONSTRAINT chain_payouts_transfer_id_fkey FOREIGN KEY (transfer_id) REFERENCES public.outgoing_transfers(id);
ALTER TABLE ONLY public.chain_transactions
    ADD CONSTRAINT chain_transactions_payout_id_fkey FOREIGN KEY (payout_id) REFERENCES public.chain_payouts(id);
ALTER TABLE ONLY public.chargeback_notes
    ADD CONSTRAINT chargeback_notes_chargeback_id_fkey FOREIGN KEY (chargeback_id) REFERENCES public.chargebacks(id);
ALTER TABLE ONLY public.chargebacks
    ADD CONSTRAINT chargebacks_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id);
ALTER TABLE ONLY public.conversion_quotes
    ADD CONSTRAINT conversion_quotes_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.conversion_rules
    ADD CONSTRAINT conversion_rules_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.conversions
    ADD CONSTRAINT conversions_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.customer_notes
    ADD CONSTRAINT customer_notes_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.fulfillments
    ADD CONSTRAINT fulfillments_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES public.ledger_holds(id);
ALTER TABLE ONLY public.fulfillments
    ADD CONSTRAINT fulfillments_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.fulfillments
    ADD CONSTRAINT fulfillments_merchant_id_mode_project_id_fkey FOREIGN KEY (merchant_id, mode, project_id) REFERENCES public.projects(merchant_id, mode, id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.incoming_transfers
    ADD CONSTRAINT incoming_transfers_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.known_devices
    ADD CONSTRAINT known_devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.ledger_accounts
    ADD CONSTRAINT ledger_accounts_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.ledger_entries
    ADD CONSTRAINT ledger_entries_account_id_currency_mode_fkey FOREIGN KEY (account_id, currency, mode) REFERENCES public.ledger_accounts(id, currency, mode);
ALTER TABLE ONLY public.ledger_entries
    ADD CONSTRAINT ledger_entries_transaction_id_line_fkey FOREIGN KEY (transaction_id, line) REFERENCES public.ledger_postings(transaction_id, line);
ALTER TABLE ONLY public.ledger_holds
    ADD CONSTRAINT ledger_holds_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.ledger_postings
    ADD CONSTRAINT ledger_postings_credit_account_id_currency_mode_fkey FOREIGN KEY (credit_account_id, currency, mode) REFERENCES public.ledger_accounts(id, currency, mode);
ALTER TABLE ONLY public.ledger_postings
    ADD CONSTRAINT ledger_postings_debit_account_id_currency_mode_fkey FOREIGN KEY (debit_account_id, currency, mode) REFERENCES public.ledger_accounts(id, currency, mode);
ALTER TABLE ONLY public.ledger_postings
    ADD CONSTRAINT ledger_postings_transaction_id_mode_fkey FOREIGN KEY (transaction_id, mode) REFERENCES public.ledger_transactions(id, mode);
ALTER TABLE ONLY public.ledger_transaction_applications
    ADD CONSTRAINT ledger_transaction_applications_oauth_client_id_fkey FOREIGN KEY (oauth_client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.ledger_transaction_applications
    ADD CONSTRAINT ledger_transaction_applications_transaction_id_mode_fkey FOREIGN KEY (transaction_id, mode) REFERENCES public.ledger_transactions(id, mode);
ALTER TABLE ONLY public.limit_uses
    ADD CONSTRAINT limit_uses_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.logos
    ADD CONSTRAINT logos_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_about_fkey FOREIGN KEY (about) REFERENCES public.mail_kinds(about);
ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.merchant_settings
    ADD CONSTRAINT merchant_settings_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.notification_digests
    ADD CONSTRAINT notification_digests_merchant_id_user_id_fkey FOREIGN KEY (merchant_id, user_id) REFERENCES public.members(merchant_id, user_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notification_marks
    ADD CONSTRAINT notification_marks_merchant_id_user_id_fkey FOREIGN KEY (merchant_id, user_id) REFERENCES public.members(merchant_id, user_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notification_preferences
    ADD CONSTRAINT notification_preferences_merchant_id_user_id_fkey FOREIGN KEY (merchant_id, user_id) REFERENCES public.members(merchant_id, user_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notification_reads
    ADD CONSTRAINT notification_reads_merchant_id_notification_id_fkey FOREIGN KEY (merchant_id, notification_id) REFERENCES public.notifications(merchant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notification_reads
    ADD CONSTRAINT notification_reads_merchant_id_user_id_fkey FOREIGN KEY (merchant_id, user_id) REFERENCES public.members(merchant_id, user_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_merchant_id_user_id_fkey FOREIGN KEY (merchant_id, user_id) REFERENCES public.members(merchant_id, user_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.oauth_clients
    ADD CONSTRAINT oauth_clients_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.oauth_grant_cutoffs
    ADD CONSTRAINT oauth_grant_cutoffs_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.oauth_requests
    ADD CONSTRAINT oauth_requests_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.oauth_requests
    ADD CONSTRAINT oauth_requests_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.operator_actions
    ADD CONSTRAINT operator_actions_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id);
ALTER TABLE ONLY public.operator_actions
    ADD CONSTRAINT operator_actions_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.operator_sessions
    ADD CONSTRAINT operator_sessions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(id);
ALTER TABLE ONLY public.outgoing_transfers
    ADD CONSTRAINT outgoing_transfers_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.payment_links
    ADD CONSTRAINT payment_links_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.payment_links
    ADD CONSTRAINT payment_links_merchant_id_mode_project_id_fkey FOREIGN KEY (merchant_id, mode, project_id) REFERENCES public.projects(merchant_id, mode, id);
ALTER TABLE ONLY public.payment_reversals
    ADD CONSTRAINT payment_reversals_merchant_id_mode_chargeback_id_fkey FOREIGN KEY (merchant_id, mode, chargeback_id) REFERENCES public.chargebacks(merchant_id, mode, id);
ALTER TABLE ONLY public.payment_reversals
    ADD CONSTRAINT payment_reversals_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.proposals
    ADD CONSTRAINT proposals_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.rail_floats
    ADD CONSTRAINT rail_floats_id_fkey FOREIGN KEY (id) REFERENCES public.operator_actions(id);
ALTER TABLE ONLY public.rail_observations
    ADD CONSTRAINT rail_observations_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.receipt_counters
    ADD CONSTRAINT receipt_counters_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.receipt_mails
    ADD CONSTRAINT receipt_mails_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id);
ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT receipts_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id);
ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT receipts_merchant_id_mode_year_fkey FOREIGN KEY (merchant_id, mode, year) REFERENCES public.receipt_counters(merchant_id, mode, year);
ALTER TABLE ONLY public.refunds
    ADD CONSTRAINT refunds_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES public.ledger_holds(id);
ALTER TABLE ONLY public.refunds
    ADD CONSTRAINT refunds_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id);
ALTER TABLE ONLY public.refunds
    ADD CONSTRAINT refunds_outgoing FOREIGN KEY (id) REFERENCES public.outgoing_transfers(id);
ALTER TABLE ONLY public.running_series
    ADD CONSTRAINT running_series_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.running_totals
    ADD CONSTRAINT running_totals_series_id_fkey FOREIGN KEY (series_id) REFERENCES public.running_series(id);
ALTER TABLE ONLY public.sandbox_plans
    ADD CONSTRAINT sandbox_plans_merchant_id_mode_transaction_id_fkey FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES public.transactions(merchant_id, mode, id);
ALTER TABLE ONLY public.saved_filters
    ADD CONSTRAINT saved_filters_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.second_member_rules
    ADD CONSTRAINT second_member_rules_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_of_member FOREIGN KEY (merchant_id, user_id) REFERENCES public.members(merchant_id, user_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.support_refund_limits
    ADD CONSTRAINT support_refund_limits_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.test_clocks
    ADD CONSTRAINT test_clocks_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.transaction_steps
    ADD CONSTRAINT transaction_steps_transaction_id_fkey FOREIGN KEY (transaction_id) REFERENCES public.transactions(id);
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_merchant_id_mode_payment_link_id_fkey FOREIGN KEY (merchant_id, mode, payment_link_id) REFERENCES public.payment_links(merchant_id, mode, id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.value_releases
    ADD CONSTRAINT value_releases_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.webhook_feeds
    ADD CONSTRAINT webhook_feeds_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.webhook_redelivery_runs
    ADD CONSTRAINT webhook_redelivery_runs_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.webhook_replays
    ADD CONSTRAINT webhook_replays_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawal_batches
    ADD CONSTRAINT withdrawal_batches_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawal_days
    ADD CONSTRAINT withdrawal_days_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawal_quotes
    ADD CONSTRAINT withdrawal_quotes_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawal_recipients
    ADD CONSTRAINT withdrawal_recipients_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawal_schedule_runs
    ADD CONSTRAINT withdrawal_schedule_runs_schedule_id_merchant_id_fkey FOREIGN KEY (schedule_id, merchant_id) REFERENCES public.withdrawal_schedules(id, merchant_id);
ALTER TABLE ONLY public.withdrawal_schedules
    ADD CONSTRAINT withdrawal_schedules_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawal_settings
    ADD CONSTRAINT withdrawal_settings_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_batch FOREIGN KEY (batch_id, merchant_id) REFERENCES public.withdrawal_batches(id, merchant_id);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES public.ledger_holds(id);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);
ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_outgoing FOREIGN KEY (id) REFERENCES public.outgoing_transfers(id);
