"""One job as the server knows it, and what can be done to it: the part that the API and the service's own activities
share."""
