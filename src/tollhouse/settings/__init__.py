"""The settings area: what a merchant sets for its payments, and the projects it sells for."""
