-- Merchants report applications to the operators: at most once a day.

CREATE TABLE application_reports (
    id uuid NOT NULL,
    client_id text NOT NULL REFERENCES oauth_clients (id),
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    day date NOT NULL,
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 1000),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (id, merchant_id)
);
COMMENT ON COLUMN application_reports.day IS 'of the report, in UTC';
CREATE UNIQUE INDEX application_reports_daily ON application_reports (client_id, merchant_id, day);
CREATE INDEX application_reports_of_client ON application_reports (client_id, created_at DESC, id DESC);
CREATE INDEX application_reports_of_merchant ON application_reports (merchant_id);

INSERT INTO mail_kinds (about) VALUES ('application_reported');
