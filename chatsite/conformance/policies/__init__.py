"""Chatsite's own policies, tried with the kit: `adapter` translates its cases and results."""
