"""Backups, the archive of the write-ahead log, and recovery to a point in time."""
