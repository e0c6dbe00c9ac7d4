-- A column without a value means the field's default.

CREATE TABLE tasks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    parent TEXT,
    root TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT,
    type TEXT,
    code INTEGER,
    depends_on TEXT,
    tags TEXT,
    planner_tags TEXT,
    complexity TEXT,
    auto_review INTEGER,
    max_cycles INTEGER,
    status TEXT NOT NULL,
    reason TEXT,
    came_from TEXT,
    claimable TEXT,
    settled INTEGER NOT NULL,
    phase TEXT,
    holder TEXT,
    agent TEXT,
    fence INTEGER,
    lease_until REAL,
    claimed_at REAL,
    cancel_wanted INTEGER,
    round INTEGER,
    attempts INTEGER,
    iterations INTEGER,
    round_iterations INTEGER,
    result TEXT,
    result_hash TEXT,
    result_round INTEGER,
    inputs TEXT,
    executor TEXT,
    signal TEXT,
    message TEXT,
    quality_passed INTEGER,
    usage TEXT,
    critique TEXT,
    critique_round INTEGER,
    review_mail INTEGER,
    worked_on_by TEXT,
    waited_idle_seconds REAL NOT NULL,
    watched_at REAL,
    verdict TEXT,
    needs_attention INTEGER,
    auto_approved INTEGER,
    merged INTEGER,
    conflicts INTEGER,
    feedback TEXT,
    answered TEXT,
    answered_as TEXT,
    accepted TEXT,
    answers INTEGER,
    partial_answered INTEGER,
    hint INTEGER NOT NULL,
    rank TEXT NOT NULL,
    depth INTEGER,
    root_created REAL NOT NULL,
    created REAL,
    started REAL,
    completed_at REAL,
    version INTEGER NOT NULL
);

-- Only what can be claimed, so that a claim costs the same on a board full of finished tasks.
CREATE INDEX tasks_claimable ON tasks (claimable, hint, root_created, rank, number)
    WHERE claimable IS NOT NULL;
CREATE INDEX tasks_held ON tasks (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tasks_children ON tasks (parent, settled) WHERE parent IS NOT NULL;
CREATE INDEX tasks_root ON tasks (root) WHERE parent IS NOT NULL;
CREATE INDEX tasks_paused ON tasks (id) WHERE status = 'blocked' AND reason = 'budget';

CREATE TABLE dependencies (
    depends_on TEXT NOT NULL,
    task TEXT NOT NULL,
    PRIMARY KEY (depends_on, task)
) WITHOUT ROWID;

CREATE TABLE mail (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    to_agent TEXT,
    to_role TEXT,
    not_for TEXT,
    sender TEXT,
    task TEXT,
    root TEXT,
    result_hash TEXT,
    cycle INTEGER,
    body TEXT,
    created REAL NOT NULL,
    status TEXT NOT NULL,
    holder TEXT,
    agent TEXT,
    fence INTEGER NOT NULL,
    lease_until REAL,
    tries INTEGER NOT NULL
);

CREATE INDEX mail_for_role ON mail (to_role, number) WHERE status = 'queued';
CREATE INDEX mail_for_agent ON mail (to_agent, number)
    WHERE status = 'queued' AND to_agent IS NOT NULL;
CREATE INDEX mail_taken ON mail (lease_until) WHERE status = 'taken';
CREATE INDEX mail_dead ON mail (number) WHERE status = 'dead';

CREATE TABLE critiques (
    number INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    round INTEGER NOT NULL,
    late INTEGER NOT NULL,
    mail INTEGER NOT NULL,
    critique TEXT NOT NULL
);
CREATE INDEX critiques_of ON critiques (task);

CREATE TABLE feedback (
    number INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    feedback TEXT NOT NULL
);
CREATE INDEX feedback_of ON feedback (task);

CREATE TABLE answers (
    task TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    partial INTEGER NOT NULL,
    ts REAL NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (task, version)
) WITHOUT ROWID;

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    v INTEGER NOT NULL,
    ts REAL NOT NULL,
    type TEXT NOT NULL,
    task TEXT,
    request TEXT,
    data TEXT NOT NULL
);
