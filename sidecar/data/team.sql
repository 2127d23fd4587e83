-- What a team shares, for PostgreSQL 15, and in tests for SQLite 3.40. platform/team/database.py reads it.
--
-- `-- migration N` is carried out once, in order; `-- migration N postgresql` there alone. `-- statement NAME` is one
-- statement. %(name)s is a value. {now} is the database's clock in seconds since the epoch, {today} its UTC day, {member}
-- the login that speaks, {identity} a number that grows with each row, {skip_locked} passes over what others hold,
-- {for_update} waits until nobody else holds the row. Times are seconds since the epoch.

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
CREATE TABLE sessions (
    machine TEXT NOT NULL, host TEXT NOT NULL, session TEXT NOT NULL, person TEXT NOT NULL, project TEXT NOT NULL,
    began DOUBLE PRECISION NOT NULL, changed DOUBLE PRECISION NOT NULL, decided TEXT NOT NULL, detail TEXT NOT NULL,
    stops BIGINT NOT NULL, sent_back BIGINT NOT NULL, cents DOUBLE PRECISION NOT NULL,
    member TEXT NOT NULL DEFAULT {member},
    PRIMARY KEY (machine, host, session)
);
CREATE INDEX sessions_by_time ON sessions (changed);
CREATE TABLE figures (
    day TEXT NOT NULL, machine TEXT NOT NULL, person TEXT NOT NULL, project TEXT NOT NULL, host TEXT NOT NULL,
    stops BIGINT NOT NULL, sent_back BIGINT NOT NULL, achieved BIGINT NOT NULL, judged BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL, tokens BIGINT NOT NULL, cents DOUBLE PRECISION NOT NULL,
    unpriced BIGINT NOT NULL, member TEXT NOT NULL DEFAULT {member}, PRIMARY KEY (day, machine, project, host)
);
CREATE TABLE records (
    key TEXT PRIMARY KEY, value {bytes} NOT NULL, revision BIGINT NOT NULL, person TEXT NOT NULL,
    changed DOUBLE PRECISION NOT NULL, member TEXT NOT NULL DEFAULT {member},
    CONSTRAINT at_most_8_mb CHECK (length(value) <= 8000000)
);
CREATE TABLE tasks (
    place {identity}, list TEXT NOT NULL, id TEXT NOT NULL, content TEXT NOT NULL, checks TEXT NOT NULL,
    needs TEXT NOT NULL, state TEXT NOT NULL, token TEXT NOT NULL DEFAULT '', until DOUBLE PRECISION NOT NULL DEFAULT 0,
    machine TEXT NOT NULL DEFAULT '', person TEXT NOT NULL DEFAULT '', attempts BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0, branch TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', member TEXT NOT NULL DEFAULT '', UNIQUE (list, id)
);
CREATE TABLE needs (list TEXT NOT NULL, id TEXT NOT NULL, needed TEXT NOT NULL, PRIMARY KEY (list, id, needed));
CREATE TABLE paused (list TEXT PRIMARY KEY, person TEXT NOT NULL, changed DOUBLE PRECISION NOT NULL);
CREATE TABLE accounts (
    name TEXT PRIMARY KEY, most DOUBLE PRECISION, daily BOOLEAN NOT NULL, day TEXT NOT NULL DEFAULT '',
    used DOUBLE PRECISION NOT NULL DEFAULT 0
);
CREATE TABLE charges (
    account TEXT NOT NULL, key TEXT NOT NULL, reserved DOUBLE PRECISION NOT NULL CHECK (reserved >= 0),
    spent DOUBLE PRECISION CHECK (spent >= 0), until DOUBLE PRECISION NOT NULL, machine TEXT NOT NULL,
    member TEXT NOT NULL DEFAULT {member}, PRIMARY KEY (account, key)
);
CREATE INDEX charges_held ON charges (account, until) WHERE reserved > 0;
CREATE TABLE slots (
    key TEXT NOT NULL, token TEXT NOT NULL, until DOUBLE PRECISION NOT NULL, machine TEXT NOT NULL,
    member TEXT NOT NULL DEFAULT {member}, PRIMARY KEY (key, token)
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
-- Two roles, made by `team init` before this runs. A machine logs in as a member of supervisor_agent: it changes what its own
-- login wrote, and of what all share it can only make limits stricter.
GRANT USAGE ON SCHEMA supervisor TO supervisor_agent, supervisor_person;
GRANT ALL ON ALL TABLES IN SCHEMA supervisor TO supervisor_person;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA supervisor TO supervisor_agent, supervisor_person;
GRANT SELECT ON ALL TABLES IN SCHEMA supervisor TO supervisor_agent;
GRANT INSERT ON events, sessions, figures, machines, charges, slots, limits, records TO supervisor_agent;
GRANT UPDATE ON sessions, figures, machines, slots, limits, records TO supervisor_agent;
GRANT DELETE ON events, sessions, machines, slots, records TO supervisor_agent;
GRANT UPDATE (state, token, until, machine, person, attempts, failures, branch, note, member) ON tasks TO supervisor_agent;
GRANT UPDATE (reserved, spent, until) ON charges TO supervisor_agent;
GRANT UPDATE (day, used) ON accounts TO supervisor_agent;
GRANT UPDATE (taken) ON orders TO supervisor_agent;
CREATE FUNCTION own_machine(id TEXT) RETURNS BOOLEAN LANGUAGE SQL STABLE
    RETURN EXISTS (SELECT 1 FROM machines WHERE machines.id = own_machine.id AND member = session_user);
DO $$ DECLARE name TEXT; BEGIN
    FOREACH name IN ARRAY ARRAY['events', 'sessions', 'figures', 'machines', 'records', 'charges', 'slots', 'orders'] LOOP
        EXECUTE format('ALTER TABLE %%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY reads ON %%I FOR SELECT USING (true)', name);
        EXECUTE format('CREATE POLICY people ON %%I TO supervisor_person USING (true) WITH CHECK (true)', name);
    END LOOP;
END $$;
CREATE POLICY own ON events TO supervisor_agent USING (member = session_user)
    WITH CHECK (member = session_user AND own_machine(machine));
CREATE POLICY own ON sessions TO supervisor_agent USING (member = session_user)
    WITH CHECK (member = session_user AND own_machine(machine));
CREATE POLICY own ON figures TO supervisor_agent USING (member = session_user)
    WITH CHECK (member = session_user AND own_machine(machine));
CREATE POLICY own ON machines TO supervisor_agent USING (member = session_user);
CREATE POLICY own ON records TO supervisor_agent USING (member = session_user AND key LIKE 'machine/%%');
CREATE POLICY own ON charges TO supervisor_agent USING (member = session_user AND spent IS NULL)
    WITH CHECK (member = session_user);
CREATE POLICY own ON slots TO supervisor_agent USING (member = session_user OR until < {now})
    WITH CHECK (member = session_user);
CREATE POLICY own ON orders FOR UPDATE TO supervisor_agent USING (own_machine(machine));
CREATE FUNCTION people_only() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN
    IF NOT pg_has_role(session_user, 'supervisor_person', 'MEMBER') THEN
        RAISE insufficient_privilege USING MESSAGE = format('only people may change %%s so', TG_TABLE_NAME);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER hold_a_task_first BEFORE UPDATE ON tasks FOR EACH ROW WHEN (NEW.member <> session_user OR NOT (
    OLD.state = 'claimed' AND OLD.member = session_user
    OR NEW.state = 'claimed' AND (OLD.state = 'open' OR OLD.state = 'claimed' AND OLD.until < {now})
)) EXECUTE FUNCTION people_only();
CREATE TRIGGER never_earlier BEFORE UPDATE ON limits FOR EACH ROW WHEN (NEW.until < OLD.until) EXECUTE FUNCTION people_only();
CREATE TRIGGER never_less BEFORE UPDATE ON accounts FOR EACH ROW WHEN (NEW.day NOT IN (OLD.day, {today})
    OR NEW.used < OLD.used AND NOT (OLD.daily AND OLD.day <> {today})) EXECUTE FUNCTION people_only();

-- statement now
SELECT {now} AS now

-- statement lock_events
SELECT {lock_events}

-- statement append_event
INSERT INTO events (machine, sequence, person, at, host, session, project, system, kind, origin, data)
VALUES (%(machine)s, %(sequence)s, %(person)s, %(at)s, %(host)s, %(session)s, %(project)s, %(system)s, %(kind)s, %(origin)s, %(data)s)
ON CONFLICT (machine, sequence) DO NOTHING

-- statement known_events
SELECT sequence FROM events WHERE machine = %(machine)s AND sequence BETWEEN %(first)s AND %(last)s

-- statement tell_session
INSERT INTO sessions (machine, host, session, person, project, began, changed, decided, detail, stops, sent_back, cents)
VALUES (%(machine)s, %(host)s, %(session)s, %(person)s, %(project)s, %(began)s, %(at)s, %(decided)s, %(detail)s, %(stops)s, %(sent_back)s, %(cents)s)
ON CONFLICT (machine, host, session) DO UPDATE SET
    person = excluded.person, changed = excluded.changed,
    project = CASE WHEN excluded.project <> '' THEN excluded.project ELSE sessions.project END,
    decided = CASE WHEN excluded.decided <> '' THEN excluded.decided ELSE sessions.decided END,
    detail = CASE WHEN excluded.decided <> '' THEN excluded.detail ELSE sessions.detail END,
    stops = sessions.stops + excluded.stops, sent_back = sessions.sent_back + excluded.sent_back,
    cents = sessions.cents + excluded.cents

-- statement add_figures
INSERT INTO figures (day, machine, person, project, host, stops, sent_back, achieved, judged, seconds, tokens, cents, unpriced)
VALUES (%(day)s, %(machine)s, %(person)s, %(project)s, %(host)s, %(stops)s, %(sent_back)s, %(achieved)s, %(judged)s,
    %(seconds)s, %(tokens)s, %(cents)s, %(unpriced)s)
ON CONFLICT (day, machine, project, host) DO UPDATE SET person = excluded.person,
    stops = figures.stops + excluded.stops, sent_back = figures.sent_back + excluded.sent_back,
    achieved = figures.achieved + excluded.achieved, judged = figures.judged + excluded.judged,
    seconds = figures.seconds + excluded.seconds, tokens = figures.tokens + excluded.tokens,
    cents = figures.cents + excluded.cents, unpriced = figures.unpriced + excluded.unpriced

-- statement sum_figures
SELECT {by} AS name, CAST(SUM(stops) AS BIGINT) AS stops, CAST(SUM(sent_back) AS BIGINT) AS sent_back,
    CAST(SUM(achieved) AS BIGINT) AS achieved, CAST(SUM(judged) AS BIGINT) AS judged, SUM(seconds) AS seconds,
    CAST(SUM(tokens) AS BIGINT) AS tokens, SUM(cents) AS cents, CAST(SUM(unpriced) AS BIGINT) AS unpriced
FROM figures LEFT JOIN machines ON machines.id = figures.machine
WHERE day >= %(since)s GROUP BY 1 ORDER BY MIN(day), 1

-- statement read_events
SELECT position, machine, person, sequence, at, host, session, project, system, kind, origin, data FROM events
WHERE {where} AND position > %(after)s ORDER BY position LIMIT %(limit)s

-- statement newest_events
SELECT position, machine, person, sequence, at, host, session, project, system, kind, origin, data FROM events
WHERE {where} ORDER BY position DESC LIMIT %(limit)s

-- statement shipped_events
SELECT position, machine, person, sequence, at, host, session, project, system, kind, origin, data FROM events
WHERE machine = %(machine)s AND sequence <= %(most)s ORDER BY sequence DESC LIMIT %(limit)s

-- statement trim_events
DELETE FROM events WHERE machine = %(machine)s AND received < {now} - %(seconds)s
    AND sequence < (SELECT MIN(sequence) + %(part)s FROM events WHERE machine = %(machine)s)
    AND sequence < (SELECT MAX(sequence) FROM events WHERE machine = %(machine)s)

-- statement trim_sessions
DELETE FROM sessions WHERE machine = %(machine)s AND changed < {now} - %(seconds)s

-- statement forget_events
DELETE FROM events WHERE {where} AND machine = %(machine)s RETURNING sequence

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
SELECT list, id, content, checks, needs, state, until, machine, person, attempts, failures, branch, note FROM tasks
WHERE list = %(list)s AND state <> 'dropped' ORDER BY place

-- statement claim_task
WITH next AS MATERIALIZED (
    SELECT place FROM tasks AS one
    WHERE list = %(list)s AND (state = 'open' OR (state = 'claimed' AND until < {now}))
        AND NOT EXISTS (SELECT 1 FROM paused WHERE paused.list = one.list)
        AND NOT EXISTS (
            SELECT 1 FROM needs WHERE needs.list = one.list AND needs.id = one.id AND COALESCE((
                SELECT state FROM tasks AS other WHERE other.list = needs.list AND other.id = needs.needed
            ), '') NOT IN ('merged', 'dropped')
        )
    ORDER BY place LIMIT 1 {skip_locked}
)
UPDATE tasks SET state = 'claimed', token = %(token)s, until = {now} + %(lease)s, machine = %(machine)s,
    person = %(person)s, attempts = attempts + 1, member = {member}
FROM next WHERE tasks.place = next.place
RETURNING list, id, content, checks, needs, state, until, machine, person, attempts, failures, branch, note

-- statement extend_task
UPDATE tasks SET until = {now} + %(lease)s WHERE list = %(list)s AND id = %(id)s AND state = 'claimed' AND token = %(token)s
RETURNING id

-- statement settle_task
UPDATE tasks SET state = %(state)s, token = '', until = 0, note = %(note)s, branch = %(branch)s, failures = failures + 1
WHERE list = %(list)s AND id = %(id)s AND state = 'claimed' AND token = %(token)s RETURNING id

-- statement put_task
UPDATE tasks SET state = %(state)s, token = '', until = 0, note = %(note)s, failures = 0 WHERE list = %(list)s AND id = %(id)s RETURNING id

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
ON CONFLICT (name) DO UPDATE SET most = excluded.most, daily = excluded.daily,
    used = CASE WHEN accounts.daily = excluded.daily THEN accounts.used ELSE 0 END

-- statement list_accounts
SELECT name, most, daily, CASE WHEN daily AND day <> {today} THEN 0 ELSE used END AS used,
    (SELECT COALESCE(SUM(reserved), 0) FROM charges WHERE account = name AND reserved > 0 AND until >= {now}) AS reserved
FROM accounts ORDER BY name

-- statement lock_account
SELECT name FROM accounts WHERE name = %(account)s {for_update}

-- statement spent_charge
SELECT key FROM charges WHERE account = %(account)s AND key = %(key)s AND spent IS NOT NULL

-- statement reserve
INSERT INTO charges (account, key, reserved, until, machine)
SELECT %(account)s, %(key)s, %(amount)s, {now} + %(lease)s, %(machine)s
WHERE %(amount)s <= COALESCE((SELECT reserved FROM charges WHERE account = %(account)s AND key = %(key)s AND until >= {now}), 0)
    OR NOT EXISTS (SELECT 1 FROM accounts WHERE name = %(account)s AND %(amount)s > most + 0.000001
        - CASE WHEN daily AND day <> {today} THEN 0 ELSE used END
        - (SELECT COALESCE(SUM(reserved), 0) FROM charges
            WHERE account = %(account)s AND key <> %(key)s AND reserved > 0 AND until >= {now}))
ON CONFLICT (account, key) DO UPDATE SET reserved = excluded.reserved, until = excluded.until
RETURNING key

-- statement spend_charge
INSERT INTO charges (account, key, reserved, spent, until, machine)
VALUES (%(account)s, %(key)s, 0, %(amount)s, {now}, %(machine)s)
ON CONFLICT (account, key) DO UPDATE SET reserved = 0, spent = excluded.spent, until = excluded.until WHERE charges.spent IS NULL
RETURNING key

-- statement spend
UPDATE accounts SET used = %(amount)s + CASE WHEN daily AND day <> {today} THEN 0 ELSE used END, day = {today}
WHERE name = %(account)s

-- statement lock_slots
SELECT {lock_slots}

-- statement renew_slot
UPDATE slots SET until = {now} + %(lease)s WHERE key = %(key)s AND token = %(token)s AND until >= {now} RETURNING token

-- statement end_slots
DELETE FROM slots WHERE key = %(key)s AND until < {now}

-- statement take_slot
INSERT INTO slots (key, token, until, machine)
SELECT %(key)s, %(token)s, {now} + %(lease)s, %(machine)s
WHERE (SELECT COUNT(*) FROM slots WHERE key = %(key)s AND until >= {now}) < %(most)s
ON CONFLICT (key, token) DO NOTHING RETURNING token

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

-- statement give_back_tasks
UPDATE tasks SET state = 'open', token = '', until = 0 WHERE machine = %(machine)s AND state = 'claimed'

-- statement give_back_money
UPDATE charges SET reserved = 0 WHERE machine = %(machine)s AND reserved > 0

-- statement leave_machine
DELETE FROM machines WHERE id = %(machine)s

-- statement list_machines
SELECT id, name, person, fingerprint, version, seen FROM machines ORDER BY seen DESC, id

-- statement list_sessions
SELECT machine, host, session, person, project, began, changed, decided, detail, stops, sent_back, cents FROM sessions
WHERE %(search)s = '' OR lower(session || ' ' || person || ' ' || project || ' ' || decided) LIKE %(search)s
    OR machine IN (SELECT id FROM machines WHERE lower(name) LIKE %(search)s)
ORDER BY changed DESC LIMIT %(limit)s OFFSET %(first)s

-- statement give_order
INSERT INTO orders (machine, session, text, person, at) VALUES (%(machine)s, %(session)s, %(text)s, %(person)s, {now})

-- statement take_orders
UPDATE orders SET taken = {now} WHERE machine = %(machine)s AND taken = 0 RETURNING number, machine, session, text, person, at
