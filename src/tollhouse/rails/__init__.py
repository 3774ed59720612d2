"""Rails: how money arrives and leaves. A rail reports what happened; other packages post it to the ledger."""
