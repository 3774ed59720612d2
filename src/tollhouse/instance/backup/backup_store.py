"""SQL of restoring a backup."""

IS_EMPTY = "SELECT count(*) = 0 FROM pg_class WHERE relnamespace = 'public'::regnamespace"
