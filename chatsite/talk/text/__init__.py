"""What is read in a room, and what is written there."""
