"""`tollhouse doctor`."""
