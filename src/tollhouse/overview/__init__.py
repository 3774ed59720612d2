"""The home page of the dashboard: how much came in, by which methods, what is still to be set up, what fails."""
