//! The schema and its versions. `user_version` counts migrations.

use std::cmp::Ordering;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// Each entry takes the schema from its index to the next version.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    command TEXT NOT NULL,
    exit_code INTEGER
);
CREATE TABLE jvm (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    launch TEXT NOT NULL,
    is_complete INTEGER NOT NULL,
    notes TEXT NOT NULL,
    refusals TEXT NOT NULL
);
CREATE TABLE unit (
    id INTEGER PRIMARY KEY,
    jvm INTEGER NOT NULL REFERENCES jvm ON DELETE CASCADE,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    display_name TEXT NOT NULL,
    status TEXT,
    nanos INTEGER,
    message TEXT,
    trace TEXT
);
CREATE TABLE resource (
    jvm INTEGER NOT NULL REFERENCES jvm ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    root TEXT NOT NULL,
    PRIMARY KEY (jvm, number)
) WITHOUT ROWID;
CREATE TABLE stack (
    jvm INTEGER NOT NULL REFERENCES jvm ON DELETE CASCADE,
    number INTEGER NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (jvm, number)
) WITHOUT ROWID;
CREATE TABLE access (
    jvm INTEGER NOT NULL REFERENCES jvm ON DELETE CASCADE,
    number INTEGER NOT NULL,
    resource INTEGER NOT NULL,
    unit INTEGER NOT NULL,
    position INTEGER NOT NULL,
    mode TEXT NOT NULL,
    source INTEGER,
    stack INTEGER,
    source_stack INTEGER,
    labels TEXT NOT NULL,
    PRIMARY KEY (jvm, number)
) WITHOUT ROWID;
CREATE INDEX unit_of_jvm ON unit (jvm, number);
CREATE INDEX jvm_of_run ON jvm (run);
",
    "
-- Stacks share their lines: one of a suite's thousands of stacks is mostly lines of the others. No release has
-- written the old form.
DELETE FROM run;
CREATE TABLE line (
    jvm INTEGER NOT NULL REFERENCES jvm ON DELETE CASCADE,
    number INTEGER NOT NULL,
    class TEXT NOT NULL,
    method TEXT NOT NULL,
    file TEXT NOT NULL,
    line INTEGER NOT NULL,
    PRIMARY KEY (jvm, number)
) WITHOUT ROWID;
",
    "
-- What schedules came to, so that a refinement that was interrupted goes on where it was.
CREATE TABLE observation (
    schedule TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    content TEXT NOT NULL,
    noted_ms INTEGER NOT NULL,
    PRIMARY KEY (schedule, occurrence)
) WITHOUT ROWID;
CREATE TABLE refinement (
    id INTEGER PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    content TEXT NOT NULL
);
",
    "
-- Accesses are packed, many to a row. No release has written the old form.
DELETE FROM run;
DROP TABLE access;
CREATE TABLE access (
    jvm INTEGER NOT NULL REFERENCES jvm ON DELETE CASCADE,
    number INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (jvm, number)
);
",
    "
-- Resources have the field that people know them by; the project's own classes are told apart. No release has written
-- the old form.
DELETE FROM run;
DROP TABLE resource;
CREATE TABLE resource (
    jvm INTEGER NOT NULL REFERENCES jvm ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    field TEXT NOT NULL,
    path TEXT NOT NULL,
    root TEXT NOT NULL,
    PRIMARY KEY (jvm, number)
) WITHOUT ROWID;
ALTER TABLE jvm ADD COLUMN own_classes TEXT NOT NULL DEFAULT '[]';
-- Findings have proven causes.
DELETE FROM refinement;
CREATE TABLE trial (
    key TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    noted_ms INTEGER NOT NULL
) WITHOUT ROWID;
",
    "
-- Launches were kept with the values of secrets, and refinements with hashes that are not stable. No release has.
DELETE FROM run;
DELETE FROM refinement;
DELETE FROM observation;
DELETE FROM trial;
",
    "
-- Besides fields there are properties, files and others.
ALTER TABLE resource ADD COLUMN kind TEXT NOT NULL DEFAULT '\"heap\"';
UPDATE resource SET kind = '\"property\"' WHERE field = 'java.lang.System.props';
",
    "
-- What test classes used, by content: a class as it was found once is a state.
CREATE TABLE class_state (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    checksum BLOB NOT NULL,
    is_exact INTEGER NOT NULL,
    UNIQUE (name, place, checksum, is_exact)
);
CREATE TABLE use_record (
    id INTEGER PRIMARY KEY,
    module TEXT NOT NULL,
    class TEXT NOT NULL,
    environment TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    states BLOB NOT NULL,
    seconds REAL NOT NULL,
    noted_ms INTEGER NOT NULL
);
CREATE INDEX record_of_class ON use_record (module, class);
CREATE TABLE unfinished (
    module TEXT NOT NULL,
    class TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (module, class)
) WITHOUT ROWID;
CREATE TABLE environment (
    hash TEXT PRIMARY KEY,
    settings TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE last_launch (
    module TEXT PRIMARY KEY,
    launch TEXT NOT NULL,
    classes TEXT NOT NULL,
    ignored TEXT NOT NULL,
    noted_ms INTEGER NOT NULL
) WITHOUT ROWID;
-- Which test classes read values of which others, and whether they would make them themselves, as the last detection saw it.
CREATE TABLE class_dependency (
    module TEXT NOT NULL,
    writer TEXT NOT NULL,
    reader TEXT NOT NULL,
    is_lazy INTEGER NOT NULL,
    PRIMARY KEY (module, writer, reader, is_lazy)
) WITHOUT ROWID;
-- What is known of files can be found out again.
CREATE TABLE known_file (
    path TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    noted INTEGER NOT NULL,
    content BLOB NOT NULL,
    exact BLOB NOT NULL,
    related TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE known_jar (
    path TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    noted INTEGER NOT NULL,
    names BLOB NOT NULL,
    framework BLOB,
    is_multi_release INTEGER NOT NULL
);
CREATE TABLE known_entry (
    jar TEXT NOT NULL,
    entry TEXT NOT NULL,
    content BLOB NOT NULL,
    exact BLOB NOT NULL,
    related TEXT NOT NULL,
    PRIMARY KEY (jar, entry)
) WITHOUT ROWID;
",
    "
-- Each row shows whether it is as it was written; those of before do not.
DELETE FROM use_record;
DELETE FROM class_state;
ALTER TABLE use_record ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
ALTER TABLE class_state ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
",
    "
-- When a record was last the reason to leave a test class out: what no branch has used for long can go.
ALTER TABLE use_record ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
CREATE TABLE tidied (at_ms INTEGER NOT NULL);
",
];

/// Brings the schema up to date. One that is needs no lock, so that readers do not wait for writers.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Database { path: path.to_path_buf(), source };
    let known = MIGRATIONS.len() as i64;
    if version(connection).map_err(failed)? == known {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = version(&transaction).map_err(failed)?;
    if found > known {
        return Err(StoreError::Newer { path: path.to_path_buf(), found, known });
    }
    for migration in &MIGRATIONS[found.max(0) as usize..] {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    if found < known {
        transaction.pragma_update(None, "user_version", known).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

/// Whether a store that cannot be brought up to date is.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let known = MIGRATIONS.len() as i64;
    let found = version(connection).map_err(|source| StoreError::Database { path: path.to_path_buf(), source })?;
    match found.cmp(&known) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StoreError::Newer { path: path.to_path_buf(), found, known }),
        Ordering::Less => Err(StoreError::Older { path: path.to_path_buf() }),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
