-- What each call to a model costs: a narrow row, so that sums stay cheap.

CREATE TABLE charges (
    id text COLLATE "C" PRIMARY KEY,
    root text COLLATE "C" NOT NULL,
    task text NOT NULL,
    agent text NOT NULL,
    label text NOT NULL,
    model text NOT NULL,
    process text NOT NULL,
    ts double precision NOT NULL,
    state text NOT NULL,
    estimated_tokens bigint NOT NULL,
    estimated_usd double precision,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cost_usd double precision
);
CREATE INDEX charges_of ON charges (root);
CREATE INDEX charges_since ON charges (ts);

CREATE TABLE budgets (
    root text COLLATE "C" PRIMARY KEY,
    tokens bigint,
    usd double precision
);

INSERT INTO charges
SELECT 'reply-' || number, root, task, agent, label, model, '', ts, 'settled', 0, NULL,
    input_tokens, 0, output_tokens, cost_usd
FROM replies;
