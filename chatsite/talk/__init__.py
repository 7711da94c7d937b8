"""Nextcloud Talk: rooms in which people ask an agent."""
