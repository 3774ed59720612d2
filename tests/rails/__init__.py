"""The rails of live mode."""
