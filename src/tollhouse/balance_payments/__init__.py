"""Balance payments: an application reserves money of a connected merchant, pays its owner, or gives it back."""
