-- The logos that merchants upload: images redrawn or sanitized, named by the settings of either environment.
CREATE TABLE logos (
    merchant_id uuid NOT NULL REFERENCES merchants,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    media_type text NOT NULL CHECK (media_type IN ('image/png', 'image/svg+xml')),
    content bytea NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 1048576),
    width int NOT NULL CHECK (width BETWEEN 1 AND 480),
    height int NOT NULL CHECK (height BETWEEN 1 AND 120),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, digest)
);
CREATE INDEX logos_by_digest ON logos (digest);
