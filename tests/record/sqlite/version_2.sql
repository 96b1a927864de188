-- A run as format version 2 wrote it: one row a step, the values of all columns beside each other; resumed at step 2.
-- rows_1 is little-endian float64: the loss and the learning rate, which is missing at step 1. rows_2 is float32.
PRAGMA application_id = 1650812019;
PRAGMA user_version = 2;
CREATE TABLE segments (segment INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL, finished INTEGER);
CREATE TABLE metric_sets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, dtype TEXT NOT NULL, columns TEXT NOT NULL,
                          seen BLOB NOT NULL);
CREATE TABLE rows_1 (at INTEGER PRIMARY KEY, time REAL NOT NULL, vals BLOB NOT NULL);
CREATE TABLE rows_2 (at INTEGER PRIMARY KEY, time REAL NOT NULL, vals BLOB NOT NULL);
CREATE TABLE rows_3 (at INTEGER PRIMARY KEY, time REAL NOT NULL, vals BLOB NOT NULL);
CREATE TABLE sparse_keys (id INTEGER PRIMARY KEY, vital TEXT NOT NULL, owner TEXT NOT NULL, UNIQUE (vital, owner));
CREATE TABLE sparse (key INTEGER NOT NULL, at INTEGER NOT NULL, value REAL, PRIMARY KEY (key, at)) WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL,
                     data TEXT NOT NULL, time REAL NOT NULL);
CREATE TABLE findings (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, step INTEGER NOT NULL, finding TEXT NOT NULL,
                       time REAL NOT NULL);
CREATE TABLE parameters (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, size INTEGER NOT NULL,
                         dtype TEXT NOT NULL, trainable INTEGER NOT NULL, in_optimizer INTEGER NOT NULL,
                         gradient_steps INTEGER NOT NULL, watched_steps INTEGER NOT NULL);
CREATE TABLE config (segment INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (segment, key));
CREATE TABLE environment (segment INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
                          PRIMARY KEY (segment, key));

INSERT INTO segments VALUES (0, 1700000000.0, 1700000009.0, 0), (1, 1700000010.0, 1700000019.0, 1);
INSERT INTO metric_sets VALUES (1, 'scalars', 'f8', '[["loss", ""], ["lr", ""]]', X'0101');
INSERT INTO metric_sets VALUES (2, 'modules', 'f4', '[["grad_norm", "a"], ["grad_norm", "b"]]', X'0101');
INSERT INTO metric_sets VALUES (3, 'nothing yet', 'f4', '[["update_norm", "a"]]', X'00');
INSERT INTO rows_1 VALUES (0, 0.0, X'0000000000001040000000000000F03F');
INSERT INTO rows_1 VALUES (1, 1.0, X'000000000000F87F000000A0DAB7FD7F');
INSERT INTO rows_1 VALUES (2, 2.0, X'0000000000000040000000000000F03F');
INSERT INTO rows_1 VALUES (3, 3.0, X'000000000000F03F000000000000F03F');
INSERT INTO rows_1 VALUES (1099511627778, 12.0, X'0000000000000440000000000000E03F');
INSERT INTO rows_1 VALUES (1099511627779, 13.0, X'000000000000F83F000000000000E03F');
INSERT INTO rows_1 VALUES (1099511627780, 14.0, X'000000000000E03F000000000000E03F');
INSERT INTO rows_2 VALUES (0, 0.0, X'0000003F0000803E');
INSERT INTO rows_2 VALUES (3, 3.0, X'0000104100001041');
INSERT INTO rows_2 VALUES (1099511627778, 12.0, X'D5BEED7F0000807F');
INSERT INTO rows_2 VALUES (1099511627780, 14.0, X'0000C03F00002040');
INSERT INTO sparse_keys VALUES (1, 'val/loss', '');
INSERT INTO sparse VALUES (1, 1, 0.75), (1, 1099511627780, NULL);
INSERT INTO events VALUES (1, 0, 3, 'epoch', '{"epoch": 1}', 2.0), (2, 1, 4, 'epoch', '{"epoch": 1}', 3.0);
INSERT INTO parameters VALUES (1, 'a.weight', 'a', 3, 'float32', 1, 1, 5, 5);
INSERT INTO config VALUES (0, 'lr', '1.0'), (1, 'lr', '0.5');
INSERT INTO environment VALUES (0, 'python', '"3.11.7"');
