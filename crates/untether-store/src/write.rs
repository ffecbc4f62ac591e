//! Writing a finished run.

use std::collections::HashMap;

use rusqlite::{Transaction, TransactionBehavior, params};
use untether_model::{Detection, Resource, StackLine, UnitKind};

use crate::Store;
use crate::error::StoreError;
use crate::packed;

/// How many runs are kept; older ones are dropped when a new one is written.
const RUNS_KEPT: i64 = 3;

/// A run that has ended.
#[derive(Debug)]
pub struct NewRun<'r> {
    pub started_ms: i64,
    pub command: &'r [String],
    pub exit_code: Option<i32>,
    /// One per JVM that ran tests.
    pub detections: &'r [Detection],
}

impl Store {
    /// Adds the run, whole or not at all, and gives its number.
    pub fn add_run(&mut self, run: &NewRun<'_>) -> Result<i64, StoreError> {
        let path = self.path.clone();
        let failed = |source| StoreError::Database { path: path.clone(), source };
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let number = insert_run(&transaction, run).map_err(failed)?;
        transaction
            .execute(
                "DELETE FROM run WHERE id NOT IN (SELECT id FROM run ORDER BY id DESC LIMIT ?1)",
                params![RUNS_KEPT],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(number)
    }
}

fn insert_run(transaction: &Transaction<'_>, run: &NewRun<'_>) -> rusqlite::Result<i64> {
    transaction.execute(
        "INSERT INTO run (started_ms, command, exit_code) VALUES (?1, ?2, ?3)",
        params![run.started_ms, json(run.command), run.exit_code],
    )?;
    let number = transaction.last_insert_rowid();
    for detection in run.detections {
        insert_jvm(transaction, number, detection)?;
    }
    Ok(number)
}

fn insert_jvm(transaction: &Transaction<'_>, run: i64, detection: &Detection) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO jvm (run, launch, is_complete, notes, refusals, own_classes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            run,
            json(&detection.launch),
            detection.is_complete,
            json(&detection.notes),
            json(&detection.refusals),
            json(&detection.own_classes)
        ],
    )?;
    let jvm = transaction.last_insert_rowid();
    let mut units = transaction.prepare(
        "INSERT INTO unit (jvm, number, kind, name, display_name, status, nanos, message, trace)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for (number, unit) in detection.units.iter().enumerate() {
        let outcome = unit.outcome.as_ref();
        let kind = match unit.kind {
            UnitKind::Test => "test",
            UnitKind::Class => "class",
        };
        units.execute(params![
            jvm,
            number,
            kind,
            unit.name,
            unit.display_name,
            outcome.map(|o| json(&o.status)),
            outcome.map(|o| o.nanos as i64),
            outcome.map(|o| &o.message),
            outcome.map(|o| &o.trace),
        ])?;
    }
    let mut resources = transaction.prepare(
        "INSERT INTO resource (jvm, number, kind, name, field, path, root) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (number, resource) in detection.resources.iter().enumerate() {
        let Resource { kind, name, field, path, root } = resource;
        resources.execute(params![jvm, number, json(kind), name, field, path, root])?;
    }
    let mut stacks = transaction.prepare("INSERT INTO stack (jvm, number, lines) VALUES (?1, ?2, ?3)")?;
    let mut insert_line = transaction
        .prepare("INSERT INTO line (jvm, number, class, method, file, line) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    let mut numbers: HashMap<&StackLine, usize> = HashMap::new();
    for (number, lines) in detection.stacks.iter().enumerate() {
        let mut stack = Vec::with_capacity(lines.len());
        for line in lines {
            let next = numbers.len();
            let known = *numbers.entry(line).or_insert(next);
            if known == next {
                insert_line.execute(params![jvm, known, line.class, line.method, line.file, line.line])?;
            }
            stack.push(known);
        }
        stacks.execute(params![jvm, number, json(&stack)])?;
    }
    let mut accesses = transaction.prepare("INSERT INTO access (jvm, number, content) VALUES (?1, ?2, ?3)")?;
    for (number, some) in detection.accesses.chunks(packed::PER_ROW).enumerate() {
        accesses.execute(params![jvm, number, packed::pack(some)])?;
    }
    Ok(())
}

/// Plain values always have a JSON form.
fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
