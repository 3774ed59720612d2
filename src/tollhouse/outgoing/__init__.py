"""The gate: all money that leaves by a rail passes here, with its limits, its review, and the suspension of merchants."""
