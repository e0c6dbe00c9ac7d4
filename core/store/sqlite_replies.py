"""How SQLite keeps what models said."""

NEW_REPLY = (
    "INSERT INTO replies (task, root, label, agent, model, key, prompt, text, "
    "input_tokens, output_tokens, cost_usd, ts, discarded) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
)
DISCARD = "UPDATE replies SET discarded = 1 WHERE number = ?"
REPLIES = (
    "SELECT task, root, label, agent, model, key, prompt, text, "
    "input_tokens, output_tokens, cost_usd, ts, discarded, number "
    "FROM replies WHERE task = ? ORDER BY number"
)
