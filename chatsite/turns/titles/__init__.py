"""Titles of conversations that a fast model writes."""
