-- Notifications of what happens at a merchant, which each person can turn off, and which are sent once for each occasion.
ALTER TABLE mails DROP CONSTRAINT mails_about_check;
ALTER TABLE mails
    ADD COLUMN occasion text,
    ADD CONSTRAINT mails_about_check CHECK (about = ANY (ARRAY[
        'verify', 'reset', 'password_changed', 'new_device', 'factor_on', 'factor_off', 'receipt', 'recipient_added',
        'recipients_only_off', 'schedule_failed', 'dispute_opened', 'withdrawal_completed', 'withdrawal_failed', 'withdrawal_rejected', 'refund_failed',
        'project_approved', 'project_rejected', 'project_changes_approved', 'project_changes_rejected', 'webhooks_failing', 'application_connected', 'application_disconnected']));
CREATE UNIQUE INDEX mails_once ON mails (user_id, about, occasion) WHERE occasion IS NOT NULL;

ALTER TABLE users ADD COLUMN muted_topics text[] NOT NULL DEFAULT '{}'
    CHECK (muted_topics <@ ARRAY['disputes', 'withdrawals', 'refunds', 'projects', 'webhooks', 'applications']);
