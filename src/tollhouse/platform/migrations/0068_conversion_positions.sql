-- What conversions of live mode left the platform with in each currency: above zero what it holds, below zero what it lacks. A
-- conversion changes the rows of its two currencies, which makes those of one currency wait for each other: so no two can pass a
-- limit together. A limit is of the amount without its sign; operators set it. It refuses what would exceed it further.
CREATE TABLE conversion_positions (
    currency text PRIMARY KEY CHECK (currency ~ '^[A-Z0-9]{2,12}$'),
    id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    position_minor numeric NOT NULL DEFAULT 0,
    limit_minor bigint CHECK (limit_minor > 0)
);
COMMENT ON COLUMN conversion_positions.id IS 'the subject of operators'' actions';

CREATE FUNCTION conversion_positions_follow() RETURNS trigger
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
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
CREATE TRIGGER positions AFTER INSERT ON conversions
    FOR EACH ROW WHEN (NEW.mode = 'live') EXECUTE FUNCTION conversion_positions_follow();

INSERT INTO conversion_positions (currency, position_minor)
SELECT m.currency, sum(m.change)
FROM conversions c
CROSS JOIN LATERAL (VALUES (c.from_currency, c.from_amount_minor::numeric - c.fee_minor),
                           (c.to_currency, -c.to_amount_minor::numeric)) AS m (currency, change)
WHERE c.mode = 'live' GROUP BY m.currency;

ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_whose,
    ADD CONSTRAINT operator_actions_whose
        CHECK ((merchant_id IS NULL) = (action LIKE 'operator%' OR action LIKE 'statement%' OR action LIKE 'transfer%'
               OR action LIKE 'batch%' OR action LIKE 'payouts%' OR action LIKE 'position%')),
    DROP CONSTRAINT operator_actions_check3,
    ADD CONSTRAINT operator_actions_amount
        CHECK (CASE action WHEN 'position_limit_changed' THEN currency IS NOT NULL AND coalesce(amount_minor > 0, true)
               ELSE (currency IS NOT NULL AND amount_minor IS NOT NULL) = (action = 'balance_adjusted') END),
    DROP CONSTRAINT operator_actions_why,
    ADD CONSTRAINT operator_actions_why
        CHECK (reason IS NOT NULL OR action <> ALL (ARRAY['project_rejected', 'balance_adjusted', 'withdrawal_rejected',
               'refund_rejected', 'transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'payout_refused',
               'second_factor_removed', 'payouts_paused', 'payouts_resumed', 'transfer_recorded_as_fee',
               'transfer_written_off', 'transfer_reopened', 'transfer_taken_back', 'payout_returned',
               'position_limit_changed']));
DO $$
DECLARE
    v_before text;
BEGIN
    SELECT pg_get_expr(conbin, conrelid) INTO v_before FROM pg_constraint
    WHERE conrelid = 'operator_actions'::regclass AND conname = 'operator_actions_action_check';
    EXECUTE format('ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_check, '
                   'ADD CONSTRAINT operator_actions_action_check CHECK (%s OR action = %L)',
                   v_before, 'position_limit_changed');
END $$;
