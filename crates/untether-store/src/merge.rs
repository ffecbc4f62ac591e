//! What another store knows of what test classes used, added to this one: that of another CI shard, or of another checkout.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension as _, Transaction, params};
use untether_model::{ClassDependency, ClassState, UseRecord, class_of, outermost};

use crate::Store;
use crate::error::StoreError;
use crate::selection::{
    LastLaunch, ModuleRecords, Numbers, Settings, StoredRecord, forget_settings, insert_record, insert_settings,
    put_launch,
};

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// Test classes of which something is known now that was not.
    pub classes: usize,
    /// Records that were added, or took the place of older ones of the same content.
    pub records: usize,
}

/// All that a store knows of what test classes used.
struct Known {
    /// Each with the time of its last use.
    records: Vec<(UseRecord, i64)>,
    settings: Vec<(String, Settings)>,
    unfinished: Vec<(String, String, i64)>,
    launches: Vec<(LastLaunch, i64)>,
    dependencies: Vec<ClassDependency>,
}

impl Store {
    /// Adds what the other store knows, whole or not at all. Of two records of the same content the newer one stays.
    pub fn merge(&mut self, other: &Self) -> Result<Merged, StoreError> {
        let theirs = other.known()?;
        let ours = self.last_launches_with_times()?;
        let launches = launches_of_both(ours, theirs.launches);
        let mut merged = Merged::default();
        self.in_transaction(|transaction| {
            insert_settings(transaction, &theirs.settings)?;
            let mut numbers = Numbers::default();
            let mut classes: BTreeSet<(&str, &str)> = BTreeSet::new();
            for (record, used_ms) in &theirs.records {
                let states = numbers.packed(transaction, record)?;
                if !is_newer(transaction, record, &states)? {
                    continue;
                }
                insert_record(transaction, record, &states)?;
                transaction.execute(
                    "UPDATE use_record SET used_ms = ?2 WHERE id = ?1",
                    params![transaction.last_insert_rowid(), used_ms],
                )?;
                transaction.execute(
                    "DELETE FROM unfinished WHERE module = ?1 AND class = ?2 AND since_ms <= ?3",
                    params![record.module, record.class, record.noted_ms],
                )?;
                // Single tests have records as well.
                let class = if record.class.contains('#') { outermost(class_of(&record.class)) } else { &record.class };
                classes.insert((&record.module, class));
                merged.records += 1;
            }
            merged.classes = classes.len();
            for (module, class, since_ms) in &theirs.unfinished {
                add_unfinished(transaction, module, class, *since_ms)?;
            }
            for (last, noted_ms) in &launches {
                put_launch(transaction, last, *noted_ms)?;
            }
            for ClassDependency { module, writer, reader, is_lazy } in &theirs.dependencies {
                transaction.execute(
                    "INSERT OR IGNORE INTO class_dependency (module, writer, reader, is_lazy) VALUES (?1, ?2, ?3, ?4)",
                    params![module, writer, reader, is_lazy],
                )?;
            }
            forget_settings(transaction)
        })?;
        Ok(merged)
    }

    fn known(&self) -> Result<Known, StoreError> {
        let failed = |source| self.failed(source);
        let mut query = self
            .connection
            .prepare("SELECT module FROM use_record UNION SELECT module FROM unfinished")
            .map_err(failed)?;
        let modules = query.query_map([], |row| row.get(0)).map_err(failed)?;
        let modules: Vec<String> = modules.collect::<rusqlite::Result<_>>().map_err(failed)?;
        let mut records = Vec::new();
        for module in &modules {
            let ModuleRecords { records: stored, states, .. } = self.module_records(module)?;
            // The oldest first, so that they are numbered as they came.
            for StoredRecord {
                class, environment, status, reason, states: numbers, seconds, noted_ms, used_ms, ..
            } in stored.into_iter().rev()
            {
                let states: Option<Vec<ClassState>> =
                    numbers.iter().map(|number| states.get(number).cloned()).collect();
                // One without all of its states is no reason to leave anything out.
                let Some(states) = states else { continue };
                let module = module.clone();
                let record = UseRecord { module, class, environment, status, reason, states, seconds, noted_ms };
                records.push((record, used_ms));
            }
        }
        let environments: BTreeSet<&String> = records.iter().map(|(record, _)| &record.environment).collect();
        let mut settings = Vec::new();
        for environment in environments {
            settings.extend(self.settings(environment)?.map(|settings| (environment.clone(), settings)));
        }
        let mut query = self.connection.prepare("SELECT module, class, since_ms FROM unfinished").map_err(failed)?;
        let unfinished = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).map_err(failed)?;
        Ok(Known {
            records,
            settings,
            unfinished: unfinished.collect::<rusqlite::Result<_>>().map_err(failed)?,
            launches: self.last_launches_with_times()?,
            dependencies: self.class_dependencies()?,
        })
    }

    fn last_launches_with_times(&self) -> Result<Vec<(LastLaunch, i64)>, StoreError> {
        let mut found = Vec::new();
        for last in self.last_launches()? {
            let time = "SELECT noted_ms FROM last_launch WHERE module = ?1";
            let noted_ms = self.connection.query_row(time, [&last.module], |row| row.get(0));
            found.push((last, noted_ms.map_err(|source| self.failed(source))?));
        }
        Ok(found)
    }
}

/// Whether there is no record of the same content that is as new.
fn is_newer(transaction: &Transaction<'_>, record: &UseRecord, states: &[u8]) -> rusqlite::Result<bool> {
    let known: Option<i64> = transaction
        .prepare_cached(
            "SELECT noted_ms FROM use_record WHERE module = ?1 AND class = ?2 AND environment = ?3 AND states = ?4",
        )?
        .query_row(params![record.module, record.class, record.environment, states], |row| row.get(0))
        .optional()?;
    Ok(known.is_none_or(|known| known < record.noted_ms))
}

/// Unless the class came to its end later.
fn add_unfinished(transaction: &Transaction<'_>, module: &str, class: &str, since_ms: i64) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR REPLACE INTO unfinished (module, class, since_ms) SELECT ?1, ?2, ?3 WHERE NOT EXISTS
         (SELECT 1 FROM use_record WHERE module = ?1 AND class = ?2 AND noted_ms >= ?3)",
        params![module, class, since_ms],
    )?;
    Ok(())
}

/// Each shard knows its own test classes only: our launches, with the test classes of both.
fn launches_of_both(ours: Vec<(LastLaunch, i64)>, theirs: Vec<(LastLaunch, i64)>) -> Vec<(LastLaunch, i64)> {
    let mut of_both = ours;
    for (their, their_ms) in theirs {
        // Theirs may be of another checkout, or machine.
        let Some((our, our_ms)) = of_both.iter_mut().find(|(our, _)| our.module == their.module) else { continue };
        let union =
            |some: &[String], others: &[String]| -> BTreeSet<String> { some.iter().chain(others).cloned().collect() };
        let classes = union(&our.classes, &their.classes);
        let ignored = union(&our.ignored, &their.ignored).difference(&classes).cloned().collect();
        (our.classes, our.ignored) = (classes.into_iter().collect(), ignored);
        *our_ms = their_ms.max(*our_ms);
    }
    of_both
}
