"""What every benchmark of requests shares: traces, the floor, servers, load, processor time, rounds and tables."""
