"""Token ids by the server's own tokenizer: vLLM's and llama.cpp's `/tokenize`."""

from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError, ServerRefusedError

MAX_ID = 1 << 31
NEEDED = "without them only calls whose log holds token ids can be sent"


class ServerTokenizer:
    """Special tokens named in a text become those tokens, as the servers parse them."""

    def __init__(self, client: ServerClient) -> None:
        self._client = client

    def ids(self, text: str) -> tuple[int, ...]:
        """Raises ServerError if the server has no tokenizer to ask."""
        if not text:
            return ()
        body = {
            "model": self._client.model,
            "prompt": text,
            "content": text,
            "add_special_tokens": False,
            "add_special": False,
            "parse_special": True,
        }
        try:
            tokens = self._client.post_json("/tokenize", body).get("tokens")
        except ServerRefusedError as error:
            raise ServerError(f"{error}; {NEEDED}") from error
        if not isinstance(tokens, list) or not all(type(token) is int and 0 <= token < MAX_ID for token in tokens):
            raise ServerError(f"{self._client.url}: /tokenize gives no token ids; {NEEDED}")
        return tuple(tokens)
