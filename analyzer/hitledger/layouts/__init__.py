"""How each API lays a request body out as a prompt: one small module an API."""
