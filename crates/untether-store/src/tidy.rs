//! Keeps the store small: what no branch has used for long goes, once a day.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::Store;
use crate::error::StoreError;
use crate::selection::{forget_settings, unpack_numbers};

pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// How long a record is kept that was never the reason to leave its class out.
const KEPT_MS: i64 = 90 * DAY_MS;

/// How large a store is, and what of it is for selection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    pub bytes: u64,
    /// Test classes of which it is known what they used.
    pub classes: u64,
    pub records: u64,
    /// Classes, files and others, each as it was found once.
    pub states: u64,
}

impl Store {
    /// Removes what has not been used for long, unless that was done within a day.
    pub fn tidy(&mut self, now_ms: i64) -> Result<(), StoreError> {
        let last: Option<i64> = self
            .connection
            .query_row("SELECT MAX(at_ms) FROM tidied", [], |row| row.get(0))
            .optional()
            .map_err(|source| self.failed(source))?
            .flatten();
        if last.is_some_and(|last| (0..DAY_MS).contains(&(now_ms - last))) {
            return Ok(());
        }
        self.in_transaction(|transaction| {
            // Tests of one class go together: where one is known, all are.
            transaction.execute(
                "DELETE FROM use_record WHERE MAX(noted_ms, used_ms) < ?1 AND (instr(class, '#') = 0 OR NOT EXISTS
                 (SELECT 1 FROM use_record AS other WHERE other.module = use_record.module AND instr(other.class, '#') > 0
                  AND substr(other.class, 1, instr(other.class, '#')) = substr(use_record.class, 1, instr(use_record.class, '#'))
                  AND MAX(other.noted_ms, other.used_ms) >= ?1))",
                [now_ms.saturating_sub(KEPT_MS)],
            )?;
            forget_settings(transaction)?;
            forget_states(transaction)?;
            forget_files(transaction)?;
            transaction.execute("DELETE FROM tidied", [])?;
            transaction.execute("INSERT INTO tidied (at_ms) VALUES (?1)", [now_ms])?;
            Ok(())
        })
    }

    pub fn size(&self) -> Result<StoreSize, StoreError> {
        let number = |sql: &str| self.connection.query_row(sql, [], |row| row.get(0));
        let count = |sql: &str| number(sql).map_err(|source| self.failed(source));
        let pages: u64 = count("PRAGMA page_count")?;
        Ok(StoreSize {
            bytes: pages * count("PRAGMA page_size")?,
            classes: count(
                "SELECT COUNT(*) FROM (SELECT DISTINCT module, class FROM use_record WHERE class NOT LIKE '%#%')",
            )?,
            records: count("SELECT COUNT(*) FROM use_record")?,
            states: count("SELECT COUNT(*) FROM class_state")?,
        })
    }
}

/// States that no record is of.
fn forget_states(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut used: HashSet<u32> = HashSet::new();
    let mut query = transaction.prepare("SELECT states FROM use_record")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let packed: Vec<u8> = row.get(0)?;
        // Whoever reads a damaged record says so; its states are of no use.
        used.extend(unpack_numbers(&packed).unwrap_or_default());
    }
    let mut query = transaction.prepare("SELECT id FROM class_state")?;
    let all = query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<u32>>>()?;
    let mut delete = transaction.prepare("DELETE FROM class_state WHERE id = ?1")?;
    for number in all.into_iter().filter(|number| !used.contains(number)) {
        delete.execute([number])?;
    }
    Ok(())
}

/// What is known of files that are gone.
fn forget_files(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    const PLACES: &[(&str, &str)] = &[("known_file", "path"), ("known_jar", "path"), ("known_entry", "jar")];
    for (table, column) in PLACES {
        let mut query = transaction.prepare(&format!("SELECT DISTINCT {column} FROM {table}"))?;
        let paths = query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
        for path in paths.iter().filter(|path| !Path::new(path).exists()) {
            transaction.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), params![path])?;
        }
    }
    Ok(())
}
