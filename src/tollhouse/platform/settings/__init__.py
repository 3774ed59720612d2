"""The settings: their list, their values, and the object that the environment makes of them."""
