-- Taxes that are included in the amount of a payment link, and the legal details of merchants for receipts.
CREATE FUNCTION tax_total(lines jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT coalesce(sum((line ->> 'amount_minor')::numeric), 0) FROM jsonb_array_elements(lines) line $$;

-- Every row has the default. Existing rows are not read again: that would lock a large table.
ALTER TABLE payment_links ADD COLUMN tax_lines jsonb NOT NULL DEFAULT '[]';
ALTER TABLE payment_links ADD CONSTRAINT payment_links_tax_lines CHECK (
    jsonb_typeof(tax_lines) = 'array' AND jsonb_array_length(tax_lines) <= 10 AND tax_total(tax_lines) <= amount_minor) NOT VALID;

ALTER TABLE merchants
    ADD COLUMN legal_name text NOT NULL DEFAULT '' CHECK (char_length(legal_name) <= 120),
    ADD COLUMN address_line1 text NOT NULL DEFAULT '' CHECK (char_length(address_line1) <= 100),
    ADD COLUMN address_line2 text NOT NULL DEFAULT '' CHECK (char_length(address_line2) <= 100),
    ADD COLUMN postal_code text NOT NULL DEFAULT '' CHECK (char_length(postal_code) <= 20),
    ADD COLUMN city text NOT NULL DEFAULT '' CHECK (char_length(city) <= 80),
    ADD COLUMN country text NOT NULL DEFAULT '' CHECK (country ~ '^([A-Z]{2})?$'),
    ADD COLUMN tax_id text NOT NULL DEFAULT '' CHECK (char_length(tax_id) <= 40),
    ADD COLUMN register_entry text NOT NULL DEFAULT '' CHECK (char_length(register_entry) <= 100);
