-- The source of prices that the worker reads: one row with the time of the next reading, and the currencies whose price is not used.
CREATE TABLE price_feed (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    next_at timestamptz NOT NULL,
    read_at timestamptz NOT NULL,
    error text CHECK (error ~ '^[a-z0-9_]{1,40}$')
);
CREATE TABLE price_rejections (
    currency text PRIMARY KEY CHECK (currency ~ '^[A-Z0-9]{2,12}$'),
    reason text NOT NULL CHECK (reason IN ('sources_differ', 'price_jump')),
    rejected_at timestamptz NOT NULL
);
