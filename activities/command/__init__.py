"""The kind `command`: a command of the operating system, of which nothing is left when its job has ended."""
