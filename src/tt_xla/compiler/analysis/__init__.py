"""What passes of several stages ask about values: constants, what depends on parameters alone, ranges of integers."""
