"""Bitcoin itself: the node, keys of deposits, transfers and unsigned transactions."""
