"""Tools that run the real program: on a pty with a screen that can be read, and clusters of real processes."""
