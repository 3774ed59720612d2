"""Mail: written with a deed, sent by the worker."""
