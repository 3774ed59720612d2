"""What a request costs before anything of ours is asked."""
