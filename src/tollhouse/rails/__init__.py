"""Rails: how money comes in. A rail reports what it saw; what that means for the books is decided elsewhere."""
