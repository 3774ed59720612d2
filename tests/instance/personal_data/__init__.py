"""Export and erasure of persons and merchants."""
