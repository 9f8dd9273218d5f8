"""The proof over the suite: nothing that may change a cluster leaves an adapter without its line in the audit log."""
