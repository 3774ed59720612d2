"""The benchmarks: what they compare with."""
