"""The HTTP server of a web process, with limits on connections and requests."""
