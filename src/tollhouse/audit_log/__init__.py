"""The audit log as its merchant reads it: who did what, when and from where, and what it changed."""
