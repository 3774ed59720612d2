"""Who may approve what: the rules that hold for every approval an operator gives, on a page or on the command line."""
