"""`tollhouse demo`: the service with a sample merchant, an application and a receiver to watch webhooks arrive at."""
