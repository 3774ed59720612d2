-- Sending again all events that failed since some moment: one run of an environment at a time, done by the worker in steps.

CREATE TABLE webhook_redelivery_runs (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    type text NOT NULL,  -- of events; empty: any
    since timestamptz NOT NULL,
    until timestamptz NOT NULL CHECK (until >= since),
    expected int NOT NULL CHECK (expected >= 0),  -- how many there were when it was asked for
    looked_at int NOT NULL DEFAULT 0,
    sent int NOT NULL DEFAULT 0 CHECK (sent >= 0),
    passed_over int NOT NULL DEFAULT 0 CHECK (passed_over >= 0),
    reached_at timestamptz NOT NULL,  -- where among the failures it goes on: by their moment, and by the event among those of one
    reached_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    ended_because text CHECK (ended_because IN ('done', 'webhook_delivery_disabled', 'webhook_secret_missing')),
    CHECK ((ended_at IS NULL) = (ended_because IS NULL)),
    CHECK (sent + passed_over <= looked_at)
);
CREATE UNIQUE INDEX webhook_redelivery_runs_one ON webhook_redelivery_runs (merchant_id, mode) WHERE ended_at IS NULL;
CREATE INDEX webhook_redelivery_runs_old ON webhook_redelivery_runs (created_at);
