"""How PostgreSQL keeps what calls to models cost, and what they may cost."""

from core.domain.budget import Charge

_COLUMNS = ", ".join(Charge._fields)
NEW_CHARGE = f"INSERT INTO charges ({_COLUMNS}) VALUES ({', '.join(['%s'] * len(Charge._fields))})"
SETTLE = (
    "UPDATE charges SET model = %s, state = %s, estimated_tokens = %s, estimated_usd = %s, "
    "input_tokens = %s, cached_tokens = %s, output_tokens = %s, cost_usd = %s WHERE id = %s"
)
DROP = "DELETE FROM charges WHERE id = %s"
CHARGED = "SELECT 1 FROM charges WHERE id = %s AND state = %s"
CHARGES = f"SELECT {_COLUMNS} FROM charges WHERE root = %s ORDER BY ts, id"
_SPENT = (
    "SELECT count(*) FILTER (WHERE state = 'settled'), coalesce(sum(input_tokens), 0)::bigint, "
    "coalesce(sum(output_tokens), 0)::bigint, sum(cost_usd), "
    "coalesce(sum(cached_tokens), 0)::bigint, count(*) FILTER (WHERE state <> 'settled'), "
    "count(*) FILTER (WHERE state = 'settled' AND cost_usd IS NULL), "
    "coalesce(sum(estimated_tokens) FILTER (WHERE state <> 'settled'), 0)::bigint, "
    "coalesce(sum(estimated_usd) FILTER (WHERE state <> 'settled'), 0) FROM charges "
)
SPENT = _SPENT + "WHERE root = %s"
SPENT_SINCE = _SPENT + "WHERE ts >= %s"
HOLD_THE_DAY = "SELECT pg_advisory_xact_lock(hashtextextended('swarm: a day of calls', 1))"
"""Who reserves from what all requests share comes one after the other."""
BUDGET = "SELECT tokens, usd FROM budgets WHERE root = %s"
PUT_BUDGET = (
    "INSERT INTO budgets (root, tokens, usd) VALUES (%s, %s, %s) "
    "ON CONFLICT (root) DO UPDATE SET tokens = excluded.tokens, usd = excluded.usd"
)
