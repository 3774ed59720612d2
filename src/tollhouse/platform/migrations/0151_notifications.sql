-- Notifications: what happened to a merchant, for the inbox and emails of its members.

CREATE TABLE notifications (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test', 'both')),
    kind text NOT NULL,
    event text NOT NULL,
    user_id uuid,
    occasion text NOT NULL,
    subject text,
    facts jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT notifications_once UNIQUE (merchant_id, event, occasion, mode),
    FOREIGN KEY (merchant_id, user_id) REFERENCES members ON DELETE CASCADE
);
COMMENT ON COLUMN notifications.mode IS 'both: about the account';
COMMENT ON COLUMN notifications.user_id IS 'null: for all members that may see its kind';
COMMENT ON COLUMN notifications.facts IS 'the values of its text, in no language';
CREATE INDEX notifications_of_inbox ON notifications (merchant_id, kind, mode, created_at DESC, id DESC);
CREATE INDEX notifications_by_age ON notifications (created_at);
CREATE INDEX notifications_of_member ON notifications (merchant_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE notification_reads (
    merchant_id uuid NOT NULL,
    notification_id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (merchant_id, notification_id, user_id),
    FOREIGN KEY (merchant_id, user_id) REFERENCES members ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, notification_id) REFERENCES notifications (merchant_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE notification_reads IS 'notifications that a member marked as read one by one';
CREATE INDEX notification_reads_of_member ON notification_reads (merchant_id, user_id);

CREATE TABLE notification_marks (
    merchant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test', 'both')),
    through_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, user_id, mode),
    FOREIGN KEY (merchant_id, user_id) REFERENCES members ON DELETE CASCADE
);
COMMENT ON TABLE notification_marks IS 'up to when a member marked all as read';

CREATE TABLE notification_preferences (
    merchant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    kind text NOT NULL,
    mail text NOT NULL CHECK (mail IN ('immediate', 'daily', 'never')),
    PRIMARY KEY (merchant_id, user_id, kind),
    FOREIGN KEY (merchant_id, user_id) REFERENCES members ON DELETE CASCADE
);
COMMENT ON TABLE notification_preferences IS 'which emails a member gets; immediate without a row';

CREATE TABLE notification_digests (
    merchant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    next_at timestamptz NOT NULL,
    through_at timestamptz NOT NULL,
    last_on date,
    PRIMARY KEY (merchant_id, user_id),
    FOREIGN KEY (merchant_id, user_id) REFERENCES members ON DELETE CASCADE
);
COMMENT ON TABLE notification_digests IS 'the next daily email of a member who chose it for a kind';
COMMENT ON COLUMN notification_digests.last_on IS 'the day of the last one, in the time zone of the merchant';
CREATE INDEX notification_digests_due ON notification_digests (next_at);

INSERT INTO notification_preferences (merchant_id, user_id, kind, mail)
SELECT m.merchant_id, m.user_id, k.kind, 'never'
FROM members m JOIN users u ON u.id = m.user_id
JOIN (VALUES ('disputes', 'dispute_opened'), ('withdrawals', 'withdrawal_reviewed'), ('withdrawals', 'withdrawal_completed'),
             ('withdrawals', 'withdrawal_failed'), ('refunds', 'refund_failed'), ('projects', 'project_reviewed'),
             ('webhooks', 'webhooks_failing'), ('applications', 'connection_opened'), ('applications', 'connection_ended'),
             ('applications', 'connection_expiring'), ('applications', 'proposal_waiting')) k (topic, kind)
    ON k.topic = ANY (u.muted_topics);

-- Emails about what is new, beside every other kind that there is.
INSERT INTO mail_kinds (about) VALUES
    ('digest'), ('payment_needs_decision'), ('withdrawal_approved'),
    ('member_joined'), ('member_removed'), ('member_role_changed');
