-- A kind of email: everything of a merchant's live mode was stopped.
INSERT INTO mail_kinds (about) VALUES ('everything_stopped');
