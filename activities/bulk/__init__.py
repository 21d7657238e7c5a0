"""What an operation on many jobs does outside of its workflow: find the jobs, act on them, wait for the first."""
