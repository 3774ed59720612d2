"""Databases of released versions, as those versions wrote them: an upgrade keeps all that they say."""
