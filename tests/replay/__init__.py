"""Tests of the replay adapter."""
