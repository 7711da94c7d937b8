"""The tables of what comes from outside the page; `models` has the others."""
