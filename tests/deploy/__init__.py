"""The files in `deploy`, as they are, with the programs that read them."""
