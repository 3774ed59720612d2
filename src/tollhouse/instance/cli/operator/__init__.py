"""The commands of `tollhouse operator`."""
