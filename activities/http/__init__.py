"""The kind `http`: a request to a public address, made so that no other address can be reached by it."""
