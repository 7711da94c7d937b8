"""What comes from outside the page, and what is answered there."""
