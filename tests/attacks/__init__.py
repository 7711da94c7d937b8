"""Attacks on a fresh server, and what others notice meanwhile: `python -m tests.attacks`."""
