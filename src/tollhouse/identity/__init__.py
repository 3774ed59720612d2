"""Who is asking: a merchant's API key, an application's token, or a person with a session."""
