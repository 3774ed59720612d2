-- Deposits whose final block was replaced are reported as reversed, and as reinstated when they are on the final chain again.
-- `reversal_ref` names the last reversal of a deposit, `reversals` counts them: a block can be replaced more than once.
ALTER TABLE chain_deposits
    ADD COLUMN reversal_ref text,
    ADD COLUMN reversals integer NOT NULL DEFAULT 0 CHECK (reversals >= 0),
    ADD CONSTRAINT chain_deposits_reversed CHECK ((reversal_ref IS NULL) = (reversals = 0)
                                                  AND (reversals > 0 OR status NOT IN ('reversed', 'reinstated')));
-- What is worth nothing can have been reported as on its way.
DROP INDEX chain_deposits_unsettled;
CREATE INDEX chain_deposits_unsettled ON chain_deposits (rail, mode)
    WHERE status IN ('seen', 'final', 'lost', 'reinstated')
          OR (status IN ('vanished', 'ignored') AND reported_block_hash IS NOT NULL);
CREATE INDEX chain_deposits_missing ON chain_deposits (rail, mode) WHERE status IN ('lost', 'reversed');
