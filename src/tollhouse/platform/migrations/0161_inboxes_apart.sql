-- transactional: false
-- A notification of a new device is for one person alone: the index of the inbox has the rows of each person apart, so that
-- those of colleagues are not passed over.
ALTER TABLE notifications DROP CONSTRAINT IF EXISTS notifications_of_one;
ALTER TABLE notifications ADD CONSTRAINT notifications_of_one CHECK ((kind = 'new_device') = (user_id IS NOT NULL)) NOT VALID;
ALTER TABLE notifications VALIDATE CONSTRAINT notifications_of_one;
DROP INDEX CONCURRENTLY IF EXISTS notifications_of_reader;
CREATE INDEX CONCURRENTLY notifications_of_reader ON notifications
    (merchant_id, kind, coalesce(user_id, '00000000-0000-0000-0000-000000000000'), mode, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS notifications_of_inbox;
