-- What an email is about is a row: a new kind is one. The first new one says that a connection expires soon.
CREATE TABLE mail_kinds (
    about text PRIMARY KEY
);
INSERT INTO mail_kinds (about) VALUES
    ('verify'), ('reset'), ('password_changed'), ('new_device'), ('factor_on'), ('factor_off'), ('receipt'),
    ('recipient_added'), ('recipients_only_off'), ('schedule_failed'), ('dispute_opened'), ('withdrawal_completed'),
    ('withdrawal_failed'), ('withdrawal_rejected'), ('refund_failed'), ('project_approved'), ('project_rejected'),
    ('project_changes_approved'), ('project_changes_rejected'), ('webhooks_failing'), ('application_connected'),
    ('application_disconnected'), ('proposal_waiting'), ('application_expiring');
ALTER TABLE mails DROP CONSTRAINT mails_about_check;
ALTER TABLE mails ADD CONSTRAINT mails_about_fkey FOREIGN KEY (about) REFERENCES mail_kinds (about);
