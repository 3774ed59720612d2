"""What the whole house agrees on: money, ids, time, permissions, limits and refusals. Imports nothing of ours."""
