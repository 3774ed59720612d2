"""What the reference promises, tried with thousands of requests made from it."""
