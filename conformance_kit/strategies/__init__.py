"""An agent's strategy, tried with the kit: `adapter` translates the kit's cases and results."""
