"""Schedules on the server's own: what a schedule's book means there, and what became of its times. Pure."""
