"""An agent's own `strategy.py`: the file, its input, and the process that runs it."""
