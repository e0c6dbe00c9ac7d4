-- What each call to a model costs: a narrow row, so that sums stay cheap.

CREATE TABLE charges (
    id TEXT PRIMARY KEY,
    root TEXT NOT NULL,
    task TEXT NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    model TEXT NOT NULL,
    process TEXT NOT NULL,
    ts REAL NOT NULL,
    state TEXT NOT NULL,
    estimated_tokens INTEGER NOT NULL,
    estimated_usd REAL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL
) WITHOUT ROWID;
CREATE INDEX charges_of ON charges (root);
CREATE INDEX charges_since ON charges (ts);

CREATE TABLE budgets (
    root TEXT PRIMARY KEY,
    tokens INTEGER,
    usd REAL
);

INSERT INTO charges
SELECT 'reply-' || number, root, task, agent, label, model, '', ts, 'settled', 0, NULL,
    input_tokens, 0, output_tokens, cost_usd
FROM replies;
