"""Doubles of things outside; each says what it stands in for."""
