"""OAuth, chapter by chapter, over HTTP with the cast."""
