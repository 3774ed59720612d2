-- No statement reads it.
DROP VIEW whole_withdrawals;
