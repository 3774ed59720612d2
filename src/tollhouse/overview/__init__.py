"""The dashboard's home page: key figures, volume by time and method, setup progress, undelivered events."""
