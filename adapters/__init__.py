"""What a cluster is, and the language for acting on it. Knows no Textual, no console and no widgets."""
