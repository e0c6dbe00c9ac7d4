"""How SQLite keeps what calls to models cost, and what they may cost."""

from core.domain.budget import Charge

_COLUMNS = ", ".join(Charge._fields)
NEW_CHARGE = f"INSERT INTO charges ({_COLUMNS}) VALUES ({', '.join('?' * len(Charge._fields))})"
SETTLE = (
    "UPDATE charges SET model = ?, state = ?, estimated_tokens = ?, estimated_usd = ?, "
    "input_tokens = ?, cached_tokens = ?, output_tokens = ?, cost_usd = ? WHERE id = ?"
)
DROP = "DELETE FROM charges WHERE id = ?"
CHARGES = f"SELECT {_COLUMNS} FROM charges WHERE root = ? ORDER BY ts, id"
_SPENT = (
    "SELECT coalesce(sum(state = 'settled'), 0), coalesce(sum(input_tokens), 0), "
    "coalesce(sum(output_tokens), 0), sum(cost_usd), coalesce(sum(cached_tokens), 0), "
    "coalesce(sum(state <> 'settled'), 0), "
    "coalesce(sum(state = 'settled' AND cost_usd IS NULL), 0), "
    "coalesce(sum(CASE state WHEN 'settled' THEN 0 ELSE estimated_tokens END), 0), "
    "coalesce(sum(CASE state WHEN 'settled' THEN 0 ELSE estimated_usd END), 0) FROM charges "
)
SPENT = _SPENT + "WHERE root = ?"
SPENT_SINCE = _SPENT + "WHERE ts >= ?"
BUDGET = "SELECT tokens, usd FROM budgets WHERE root = ?"
PUT_BUDGET = (
    "INSERT INTO budgets (root, tokens, usd) VALUES (?, ?, ?) "
    "ON CONFLICT (root) DO UPDATE SET tokens = excluded.tokens, usd = excluded.usd"
)
