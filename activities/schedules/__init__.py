"""What a schedule's entity has done on the server."""
