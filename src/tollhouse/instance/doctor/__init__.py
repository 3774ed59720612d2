"""What is wrong with an installation, for `tollhouse doctor`."""
