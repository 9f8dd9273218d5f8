"""A double of LSF's commands: programs on PATH that answer like LSF from a small state machine and from recordings.

It is no LSF: nothing is scheduled and no job runs. Its sentences are those of the recordings in tests/data/lsf, its
tables have their columns. What happens to a job between two commands (start, end) is done by the test that holds it.
"""
