-- Customers: whom a payment link is for, by the address of the customer, or by its external ID where it has no address.

CREATE FUNCTION customer_key(customer_email text, external_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN customer_email IS NOT NULL THEN 'email:' || lower(customer_email)
                WHEN external_id IS NOT NULL THEN 'external_id:' || external_id END
$$;

CREATE TABLE customer_notes (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    customer_key text NOT NULL CHECK (customer_key ~ '^(email|external_id):'),
    author_id uuid NOT NULL,
    note text NOT NULL CHECK (char_length(note) BETWEEN 1 AND 2000),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (id, merchant_id)
);
CREATE INDEX customer_notes_of_customer ON customer_notes (merchant_id, mode, customer_key, created_at DESC, id DESC);
