-- What a team shares, for PostgreSQL 15 and for SQLite 3.40. platform/team/database.py reads it.
--
-- `-- migration N` is carried out once, in order; `-- migration N postgresql` there alone. `-- statement NAME` is one
-- statement. %(name)s is a value. {now} is the database's clock in seconds since the epoch, {today} its UTC day, {member}
-- the login that speaks, {identity} a number that grows with each row, {skip_locked} passes over what others hold.
-- Times are seconds since the epoch.

-- migration 1
CREATE TABLE machines (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, person TEXT NOT NULL, fingerprint TEXT NOT NULL, version TEXT NOT NULL,
    seen DOUBLE PRECISION NOT NULL, member TEXT NOT NULL DEFAULT {member}
);
CREATE TABLE events (
    position {identity}, machine TEXT NOT NULL, sequence BIGINT NOT NULL, person TEXT NOT NULL,
    member TEXT NOT NULL DEFAULT {member}, received DOUBLE PRECISION NOT NULL DEFAULT {now},
    at DOUBLE PRECISION NOT NULL, host TEXT NOT NULL, session TEXT NOT NULL, project TEXT NOT NULL,
    system TEXT NOT NULL, kind TEXT NOT NULL, origin TEXT NOT NULL, data {bytes} NOT NULL,
    UNIQUE (machine, sequence)
);
CREATE INDEX events_of_kind ON events (kind, position);
CREATE INDEX events_of_session ON events (session, position);
CREATE INDEX events_of_time ON events (received);
CREATE TABLE sessions (
    machine TEXT NOT NULL, host TEXT NOT NULL, session TEXT NOT NULL, person TEXT NOT NULL, project TEXT NOT NULL,
    began DOUBLE PRECISION NOT NULL, changed DOUBLE PRECISION NOT NULL, decided TEXT NOT NULL, detail TEXT NOT NULL,
    stops BIGINT NOT NULL, sent_back BIGINT NOT NULL, cents DOUBLE PRECISION NOT NULL,
    member TEXT NOT NULL DEFAULT {member},
    PRIMARY KEY (machine, host, session)
);
CREATE INDEX sessions_by_time ON sessions (changed);
CREATE TABLE records (
    key TEXT PRIMARY KEY, value {bytes} NOT NULL, revision BIGINT NOT NULL, person TEXT NOT NULL,
    changed DOUBLE PRECISION NOT NULL
);
CREATE TABLE tasks (
    place {identity}, list TEXT NOT NULL, id TEXT NOT NULL, content TEXT NOT NULL, checks TEXT NOT NULL,
    needs TEXT NOT NULL, state TEXT NOT NULL, token TEXT NOT NULL DEFAULT '', until DOUBLE PRECISION NOT NULL DEFAULT 0,
    machine TEXT NOT NULL DEFAULT '', person TEXT NOT NULL DEFAULT '', attempts BIGINT NOT NULL DEFAULT 0,
    branch TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', UNIQUE (list, id)
);
CREATE TABLE needs (list TEXT NOT NULL, id TEXT NOT NULL, needed TEXT NOT NULL, PRIMARY KEY (list, id, needed));
CREATE TABLE paused (list TEXT PRIMARY KEY, person TEXT NOT NULL, changed DOUBLE PRECISION NOT NULL);
CREATE TABLE accounts (
    name TEXT PRIMARY KEY, most DOUBLE PRECISION, daily BOOLEAN NOT NULL, day TEXT NOT NULL DEFAULT '',
    used DOUBLE PRECISION NOT NULL DEFAULT 0, reserved DOUBLE PRECISION NOT NULL DEFAULT 0
);
CREATE TABLE charges (
    key TEXT PRIMARY KEY, account TEXT NOT NULL, reserved DOUBLE PRECISION NOT NULL, spent DOUBLE PRECISION,
    until DOUBLE PRECISION NOT NULL, machine TEXT NOT NULL
);
CREATE INDEX charges_held ON charges (account, until) WHERE reserved > 0;
CREATE TABLE slots (
    key TEXT NOT NULL, token TEXT PRIMARY KEY, until DOUBLE PRECISION NOT NULL, machine TEXT NOT NULL
);
CREATE INDEX slots_of_key ON slots (key, until);
CREATE TABLE limits (
    account TEXT PRIMARY KEY, until DOUBLE PRECISION NOT NULL, said TEXT NOT NULL, met BIGINT NOT NULL
);
CREATE TABLE orders (
    number {identity}, machine TEXT NOT NULL, session TEXT NOT NULL, text TEXT NOT NULL, person TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL, taken DOUBLE PRECISION NOT NULL DEFAULT 0
);
CREATE INDEX orders_open ON orders (machine) WHERE taken = 0;

-- migration 2 postgresql
-- Two roles, made by `team init` before this runs. A machine logs in as a member of one of them.
GRANT USAGE ON SCHEMA supervisor TO supervisor_agent, supervisor_person;
GRANT ALL ON ALL TABLES IN SCHEMA supervisor TO supervisor_person;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA supervisor TO supervisor_agent, supervisor_person;
GRANT SELECT ON ALL TABLES IN SCHEMA supervisor TO supervisor_agent;
GRANT INSERT ON events, sessions, machines, charges, slots, limits, records TO supervisor_agent;
GRANT UPDATE ON sessions, machines, charges, slots, limits, records TO supervisor_agent;
GRANT DELETE ON events, sessions, machines, slots, records TO supervisor_agent;
GRANT UPDATE (state, token, until, machine, person, attempts, branch, note) ON tasks TO supervisor_agent;
GRANT UPDATE (day, used, reserved) ON accounts TO supervisor_agent;
GRANT UPDATE (taken) ON orders TO supervisor_agent;
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE machines ENABLE ROW LEVEL SECURITY;
ALTER TABLE records ENABLE ROW LEVEL SECURITY;
CREATE POLICY reads ON events FOR SELECT USING (true);
CREATE POLICY own ON events TO supervisor_agent USING (member = session_user) WITH CHECK (member = session_user);
CREATE POLICY people ON events TO supervisor_person USING (true) WITH CHECK (true);
CREATE POLICY reads ON sessions FOR SELECT USING (true);
CREATE POLICY own ON sessions TO supervisor_agent USING (member = session_user) WITH CHECK (member = session_user);
CREATE POLICY people ON sessions TO supervisor_person USING (true) WITH CHECK (true);
CREATE POLICY reads ON machines FOR SELECT USING (true);
CREATE POLICY own ON machines TO supervisor_agent USING (member = session_user) WITH CHECK (member = session_user);
CREATE POLICY people ON machines TO supervisor_person USING (true) WITH CHECK (true);
CREATE POLICY reads ON records FOR SELECT USING (true);
CREATE POLICY machines_write ON records TO supervisor_agent USING (key LIKE 'machine/%%') WITH CHECK (key LIKE 'machine/%%');
CREATE POLICY people ON records TO supervisor_person USING (true) WITH CHECK (true);

-- statement now
SELECT {now} AS now

-- statement lock_events
SELECT {lock_events}

-- statement append_event
INSERT INTO events (machine, sequence, person, at, host, session, project, system, kind, origin, data)
VALUES (%(machine)s, %(sequence)s, %(person)s, %(at)s, %(host)s, %(session)s, %(project)s, %(system)s, %(kind)s, %(origin)s, %(data)s)
ON CONFLICT (machine, sequence) DO NOTHING

-- statement tell_session
INSERT INTO sessions (machine, host, session, person, project, began, changed, decided, detail, stops, sent_back, cents)
VALUES (%(machine)s, %(host)s, %(session)s, %(person)s, %(project)s, %(at)s, %(at)s, %(decided)s, %(detail)s, %(stops)s, %(sent_back)s, %(cents)s)
ON CONFLICT (machine, host, session) DO UPDATE SET
    person = excluded.person, changed = excluded.changed,
    project = CASE WHEN excluded.project <> '' THEN excluded.project ELSE sessions.project END,
    decided = CASE WHEN excluded.decided <> '' THEN excluded.decided ELSE sessions.decided END,
    detail = CASE WHEN excluded.decided <> '' THEN excluded.detail ELSE sessions.detail END,
    stops = sessions.stops + excluded.stops, sent_back = sessions.sent_back + excluded.sent_back,
    cents = sessions.cents + excluded.cents

-- statement read_events
SELECT position, machine, person, sequence, at, host, session, project, system, kind, origin, data FROM events
WHERE {where} AND position > %(after)s ORDER BY position LIMIT %(limit)s

-- statement newest_events
SELECT position, machine, person, sequence, at, host, session, project, system, kind, origin, data FROM events
WHERE {where} ORDER BY position DESC LIMIT %(limit)s

-- statement forget_events
DELETE FROM events WHERE {where} AND machine = %(machine)s

-- statement forget_session
DELETE FROM sessions WHERE machine = %(machine)s AND host = %(host)s AND session = %(session)s

-- statement load_record
SELECT key, value, revision, person, changed FROM records WHERE key = %(key)s

-- statement find_records
SELECT key, value, revision, person, changed FROM records WHERE substr(key, 1, length(%(prefix)s)) = %(prefix)s ORDER BY key

-- statement create_record
INSERT INTO records (key, value, revision, person, changed) VALUES (%(key)s, %(value)s, 1, %(person)s, {now})
ON CONFLICT (key) DO NOTHING RETURNING revision

-- statement save_record
UPDATE records SET value = %(value)s, revision = revision + 1, person = %(person)s, changed = {now}
WHERE key = %(key)s AND revision = %(expected)s RETURNING revision

-- statement remove_record
DELETE FROM records WHERE key = %(key)s

-- statement add_task
INSERT INTO tasks (list, id, content, checks, needs, state) VALUES (%(list)s, %(id)s, %(content)s, %(checks)s, %(needs)s, %(state)s)
ON CONFLICT (list, id) DO NOTHING RETURNING id

-- statement add_need
INSERT INTO needs (list, id, needed) VALUES (%(list)s, %(id)s, %(needed)s) ON CONFLICT (list, id, needed) DO NOTHING

-- statement list_tasks
SELECT list, id, content, checks, needs, state, until, machine, person, attempts, branch, note FROM tasks WHERE list = %(list)s ORDER BY place

-- statement claim_task
WITH next AS MATERIALIZED (
    SELECT place FROM tasks AS one
    WHERE list = %(list)s AND (state = 'open' OR (state = 'claimed' AND until < {now}))
        AND NOT EXISTS (SELECT 1 FROM paused WHERE paused.list = one.list)
        AND NOT EXISTS (
            SELECT 1 FROM needs JOIN tasks AS other ON other.list = needs.list AND other.id = needs.needed
            WHERE needs.list = one.list AND needs.id = one.id AND other.state <> 'merged'
        )
    ORDER BY place LIMIT 1 {skip_locked}
)
UPDATE tasks SET state = 'claimed', token = %(token)s, until = {now} + %(lease)s, machine = %(machine)s,
    person = %(person)s, attempts = attempts + 1
FROM next WHERE tasks.place = next.place
RETURNING list, id, content, checks, needs, state, until, machine, person, attempts, branch, note

-- statement extend_task
UPDATE tasks SET until = {now} + %(lease)s WHERE list = %(list)s AND id = %(id)s AND state = 'claimed' AND token = %(token)s
RETURNING id

-- statement settle_task
UPDATE tasks SET state = %(state)s, token = '', until = 0, note = %(note)s, branch = %(branch)s
WHERE list = %(list)s AND id = %(id)s AND state = 'claimed' AND token = %(token)s RETURNING id

-- statement put_task
UPDATE tasks SET state = %(state)s, token = '', until = 0, note = %(note)s WHERE list = %(list)s AND id = %(id)s RETURNING id

-- statement pause_list
INSERT INTO paused (list, person, changed) VALUES (%(list)s, %(person)s, {now}) ON CONFLICT (list) DO NOTHING

-- statement resume_list
DELETE FROM paused WHERE list = %(list)s

-- statement paused_list
SELECT list FROM paused WHERE list = %(list)s

-- statement count_lists
SELECT list, state, COUNT(*) AS tasks FROM tasks GROUP BY list, state ORDER BY list, state

-- statement set_account
INSERT INTO accounts (name, most, daily) VALUES (%(name)s, %(most)s, %(daily)s)
ON CONFLICT (name) DO UPDATE SET most = excluded.most, daily = excluded.daily

-- statement list_accounts
SELECT name, most, daily,
    CASE WHEN daily AND day <> {today} THEN 0 ELSE used END AS used, reserved FROM accounts ORDER BY name

-- statement give_back_expired
UPDATE accounts SET reserved = (SELECT COALESCE(SUM(charges.reserved), 0) FROM charges
    WHERE charges.account = accounts.name AND charges.reserved > 0 AND charges.until >= {now})
WHERE name = %(account)s AND EXISTS (SELECT 1 FROM charges
    WHERE charges.account = accounts.name AND charges.reserved > 0 AND charges.until < {now})

-- statement end_expired
UPDATE charges SET reserved = 0 WHERE account = %(account)s AND reserved > 0 AND until < {now}

-- statement find_charge
SELECT reserved, spent FROM charges WHERE key = %(key)s

-- statement know_account
SELECT name FROM accounts WHERE name = %(account)s

-- statement reserve
UPDATE accounts SET reserved = reserved + %(more)s, day = {today},
    used = CASE WHEN daily AND day <> {today} THEN 0 ELSE used END
WHERE name = %(account)s AND (most IS NULL OR %(more)s <= 0
    OR reserved + %(more)s + CASE WHEN daily AND day <> {today} THEN 0 ELSE used END <= most)
RETURNING name

-- statement hold_charge
INSERT INTO charges (key, account, reserved, until, machine)
VALUES (%(key)s, %(account)s, %(amount)s, {now} + %(lease)s, %(machine)s)
ON CONFLICT (key) DO UPDATE SET reserved = excluded.reserved, until = excluded.until

-- statement spend_charge
INSERT INTO charges (key, account, reserved, spent, until, machine) VALUES (%(key)s, %(account)s, 0, %(amount)s, 0, %(machine)s)
ON CONFLICT (key) DO UPDATE SET reserved = 0, spent = excluded.spent

-- statement spend
UPDATE accounts SET reserved = CASE WHEN reserved > %(held)s THEN reserved - %(held)s ELSE 0 END, day = {today},
    used = %(amount)s + CASE WHEN daily AND day <> {today} THEN 0 ELSE used END
WHERE name = %(account)s

-- statement lock_slots
SELECT {lock_slots}

-- statement renew_slot
UPDATE slots SET until = {now} + %(lease)s WHERE token = %(token)s AND until >= {now} RETURNING token

-- statement end_slots
DELETE FROM slots WHERE key = %(key)s AND until < {now}

-- statement take_slot
INSERT INTO slots (key, token, until, machine)
SELECT %(key)s, %(token)s, {now} + %(lease)s, %(machine)s
WHERE (SELECT COUNT(*) FROM slots WHERE key = %(key)s AND until >= {now}) < %(most)s
ON CONFLICT (token) DO NOTHING RETURNING token

-- statement free_slot
DELETE FROM slots WHERE key = %(key)s AND token = %(token)s

-- statement note_limit
INSERT INTO limits (account, until, said, met) VALUES (%(account)s, %(until)s, %(said)s, %(met)s)
ON CONFLICT (account) DO UPDATE SET until = excluded.until, said = excluded.said, met = excluded.met
WHERE limits.until < excluded.until

-- statement list_limits
SELECT account, until, said, met FROM limits WHERE until > {now} ORDER BY account

-- statement join_machine
INSERT INTO machines (id, name, person, fingerprint, version, seen)
VALUES (%(id)s, %(name)s, %(person)s, %(fingerprint)s, %(version)s, {now})
ON CONFLICT (id) DO UPDATE SET name = excluded.name, person = excluded.person, version = excluded.version,
    seen = excluded.seen WHERE machines.fingerprint = excluded.fingerprint
RETURNING id

-- statement leave_machine
DELETE FROM machines WHERE id = %(machine)s

-- statement list_machines
SELECT id, name, person, fingerprint, version, seen FROM machines ORDER BY seen DESC, id

-- statement list_sessions
SELECT machine, host, session, person, project, began, changed, decided, detail, stops, sent_back, cents FROM sessions
ORDER BY changed DESC LIMIT %(limit)s

-- statement give_order
INSERT INTO orders (machine, session, text, person, at) VALUES (%(machine)s, %(session)s, %(text)s, %(person)s, {now})

-- statement take_orders
UPDATE orders SET taken = {now} WHERE machine = %(machine)s AND taken = 0 RETURNING number, machine, session, text, person, at
