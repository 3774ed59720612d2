"""Rails: how money comes in and goes out. A rail reports what it saw; what that means for the books is decided elsewhere."""
