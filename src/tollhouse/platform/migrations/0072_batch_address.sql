-- The address of the account holder in a payment file: street; postal code; city; country. NULL: the file has none.
ALTER TABLE bank_batches ADD COLUMN address text;
