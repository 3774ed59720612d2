-- When an operator last confirmed the password at the pages; null: not again since signing in.

ALTER TABLE operator_sessions ADD COLUMN proved_at timestamptz;
