-- Disputes: the merchant's response to a chargeback. `status` is the decision, `response` what the merchant did about it.
ALTER TABLE chargebacks
    ADD COLUMN response text NOT NULL DEFAULT 'needed' CHECK (response IN ('needed', 'submitted', 'accepted', 'expired')),
    ADD COLUMN responded_at timestamptz,
    ADD COLUMN evidence jsonb NOT NULL DEFAULT '{}'
        CHECK (jsonb_typeof(evidence) = 'object' AND octet_length(evidence::text) <= 200000),
    ADD COLUMN evidence_saved_at timestamptz,
    ADD COLUMN next_delivery_at timestamptz,  -- when the worker gives the response to the rail; null: nothing to give
    ADD COLUMN provider_reference text,  -- the ID of the dispute at the rail's provider
    ADD CHECK ((response IN ('submitted', 'accepted')) = (responded_at IS NOT NULL)),
    ADD CHECK (response <> 'submitted' OR evidence <> '{}'),
    ADD CHECK (next_delivery_at IS NULL OR (status = 'open' AND responded_at IS NOT NULL));
CREATE INDEX chargebacks_of_merchant ON chargebacks (merchant_id, mode, opened_at DESC, id DESC);
CREATE INDEX chargebacks_to_deliver ON chargebacks (next_delivery_at) WHERE next_delivery_at IS NOT NULL;
CREATE INDEX chargebacks_to_expire ON chargebacks (respond_by) WHERE status = 'open' AND response = 'needed';

INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('chargebacks', 'open', 'won'),
    ('chargebacks', 'open', 'lost'),
    ('chargeback_responses', 'needed', 'submitted'),
    ('chargeback_responses', 'needed', 'accepted'),
    ('chargeback_responses', 'needed', 'expired');
CREATE FUNCTION chargebacks_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status <> NEW.status THEN
        PERFORM state_transitions_require('chargebacks', OLD.status, NEW.status);
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
CREATE TRIGGER chargebacks_transition BEFORE UPDATE OF status, response, evidence ON chargebacks
    FOR EACH ROW EXECUTE FUNCTION chargebacks_enforce();

-- The status of a dispute at a time of its environment's clock. Without a response it expires when its time is over.
CREATE FUNCTION dispute_status(p_status text, p_response text, p_respond_by timestamptz, p_at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_status = 'won' THEN 'won'
                WHEN p_response IN ('accepted', 'expired') THEN p_response
                WHEN p_status = 'lost' THEN 'lost'
                WHEN p_response = 'submitted' THEN 'under_review'
                WHEN p_respond_by <= p_at THEN 'expired'
                ELSE 'needs_response' END
$$;
