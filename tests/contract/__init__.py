"""One suite over every adapter; `harness.py` says what an adapter brings to take part."""
