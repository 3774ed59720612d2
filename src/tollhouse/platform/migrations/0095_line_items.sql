-- What a payment link sells, line by line. Their sum is the amount of the link.
CREATE FUNCTION line_items_total(items jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT coalesce(sum((item ->> 'quantity')::numeric * (item ->> 'unit_amount_minor')::numeric), 0)
    FROM jsonb_array_elements(items) item
$$;

-- Every row has the default. Existing rows are not read again: that would lock a large table.
ALTER TABLE payment_links ADD COLUMN line_items jsonb NOT NULL DEFAULT '[]';
ALTER TABLE payment_links ADD CONSTRAINT payment_links_line_items CHECK (
    line_items = '[]' OR (jsonb_typeof(line_items) = 'array' AND jsonb_array_length(line_items) <= 100
                          AND line_items_total(line_items) = amount_minor)) NOT VALID;
