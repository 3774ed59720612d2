"""Other servers, measured by the same load on the same database server: see docs/performance.md."""
