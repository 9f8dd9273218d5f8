"""What a person sees: data comes down by method calls, facts go up as messages."""
