"""Why pending, why failed, why nothing starts, efficiency, wait estimate, resource suggestion.

Deterministic: each answer quotes the fields it rests on, carries a confidence, and is `unknown` rather than a guess.
Pure functions over rows and log tails; `gather.py` fetches those from a Reader.
"""
