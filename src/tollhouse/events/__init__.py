"""Events: what happened to a merchant's money, recorded in the transaction of the deed, and their delivery by webhook."""
