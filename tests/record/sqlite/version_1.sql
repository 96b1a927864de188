-- A run as format version 1 wrote it: rows by step, no segments, no parameters.
-- The rows are little-endian float64: 2.0, 1.0 | NaN, 1.0 | 0.5, missing.
PRAGMA application_id = 1650812019;
PRAGMA user_version = 1;
CREATE TABLE run (key TEXT PRIMARY KEY, value);
CREATE TABLE metric_sets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, dtype TEXT NOT NULL, columns TEXT NOT NULL,
                          seen BLOB NOT NULL);
CREATE TABLE rows_1 (step INTEGER PRIMARY KEY, time REAL NOT NULL, vals BLOB NOT NULL);
CREATE TABLE sparse_keys (id INTEGER PRIMARY KEY, vital TEXT NOT NULL, owner TEXT NOT NULL, UNIQUE (vital, owner));
CREATE TABLE sparse (key INTEGER NOT NULL, step INTEGER NOT NULL, value REAL, PRIMARY KEY (key, step)) WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
                     time REAL NOT NULL);
CREATE TABLE findings (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, finding TEXT NOT NULL, time REAL NOT NULL);
CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE environment (key TEXT PRIMARY KEY, value TEXT NOT NULL);

INSERT INTO run VALUES ('started', 1700000000.0), ('finished', 1);
INSERT INTO metric_sets VALUES (1, 'scalars', 'f8', '[["loss", ""], ["lr", ""]]', X'0101');
INSERT INTO rows_1 VALUES (0, 1.0, X'0000000000000040000000000000F03F');
INSERT INTO rows_1 VALUES (1, 2.0, X'000000000000F87F000000000000F03F');
INSERT INTO rows_1 VALUES (2, 3.0, X'000000000000E03F000000A0DAB7FD7F');
INSERT INTO sparse_keys VALUES (1, 'val/loss', '');
INSERT INTO sparse VALUES (1, 1, 0.75), (1, 2, NULL);
INSERT INTO events VALUES (1, 1, 'epoch', '{"epoch": 1}', 2.0);
INSERT INTO findings VALUES (1, 2, '{"code": "NUM101"}', 3.0);
INSERT INTO config VALUES ('lr', '1.0');
INSERT INTO environment VALUES ('python', '"3.11.7"');
