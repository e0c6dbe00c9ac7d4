CREATE TABLE replies (
    number INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    root TEXT NOT NULL,
    label TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    key TEXT NOT NULL,
    prompt TEXT NOT NULL,
    text TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL,
    ts REAL NOT NULL,
    discarded INTEGER NOT NULL
);
CREATE INDEX replies_of ON replies (task);
CREATE INDEX replies_below ON replies (root);
