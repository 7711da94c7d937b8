"""How much one person and one address may ask for: the table, and what counts."""
