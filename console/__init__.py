"""The Pilothouse application: wires adapters to widgets, and owns store, gate, audit and command line."""

__version__ = "0.1.0"
