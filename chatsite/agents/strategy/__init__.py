"""An agent's own `strategy.py`: its file, what it is given, and the process it runs in."""
