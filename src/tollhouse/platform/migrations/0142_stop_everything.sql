-- A kind of email: everything of a merchant's live mode was stopped.
DO $$
DECLARE
    v_kinds text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
                     WHERE conrelid = 'mails'::regclass AND conname = 'mails_about_check');
BEGIN
    ALTER TABLE mails DROP CONSTRAINT mails_about_check;
    EXECUTE format('ALTER TABLE mails ADD CONSTRAINT mails_about_check CHECK (%s)',
                   replace(v_kinds, 'ARRAY[', 'ARRAY[''everything_stopped''::text, '));
END $$;
