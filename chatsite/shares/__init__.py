"""Read-only links to conversations, for people who have no account here."""
