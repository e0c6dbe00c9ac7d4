"""Estimates: how many tokens a text will be; learned for each model from what servers count."""

BYTES_A_TOKEN = 3.0
"""Before anything is known: there is no tokenizer to be had offline."""
FEWEST, MOST = 1.0, 6.0
WEIGHT = 0.3
SMALLEST_SAMPLE = 200
"""A shorter prompt says little: the server adds words of its own."""


class Estimates:
    def __init__(self) -> None:
        self._bytes_a_token: dict[str, float] = {}
        self._context: dict[str, int] = {}

    def tokens(self, model: str, size_bytes: int) -> int:
        return int(size_bytes / self._bytes_a_token.get(model, BYTES_A_TOKEN)) + 1

    def learn(self, model: str, size_bytes: int, tokens: int) -> None:
        if tokens < SMALLEST_SAMPLE:
            return
        seen = min(max(size_bytes / tokens, FEWEST), MOST)
        known = self._bytes_a_token.get(model, BYTES_A_TOKEN)
        self._bytes_a_token[model] = known + WEIGHT * (seen - known)

    def bytes_a_token(self, model: str) -> float:
        return self._bytes_a_token.get(model, BYTES_A_TOKEN)

    def context(self, model: str, otherwise: int) -> int:
        """How much the model reads at once, where a server has said less than was thought."""
        return min(self._context.get(model, otherwise), otherwise)

    def overflowed(self, model: str, limit: int) -> None:
        self._context[model] = min(limit, self._context.get(model, limit))
