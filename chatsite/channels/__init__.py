"""Ways besides the page in which people reach agents: Talk rooms and mail."""
