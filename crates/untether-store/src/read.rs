//! Reading runs back.

use rusqlite::{Row, params};
use untether_model::{Access, Detection, Outcome, Resource, StackLine, Unit, UnitKind};

use crate::Store;
use crate::error::StoreError;
use crate::packed;

/// A run, without what its JVMs did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    pub number: i64,
    pub started_ms: i64,
    pub command: Vec<String>,
    pub exit_code: Option<i32>,
}

/// A run with everything that was found.
#[derive(Debug, Clone)]
pub struct StoredRun {
    pub summary: RunSummary,
    pub detections: Vec<Detection>,
}

impl Store {
    /// The newest run.
    pub fn latest_run(&self) -> Result<StoredRun, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT id, started_ms, command, exit_code FROM run ORDER BY id DESC LIMIT 1")
            .map_err(|e| self.failed(e))?;
        let found = statement
            .query_map([], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?, row.get(3)?))
            })
            .and_then(|mut rows| rows.next().transpose())
            .map_err(|e| self.failed(e))?;
        let Some((number, started_ms, command, exit_code)) = found else {
            let directory = self.path.parent().unwrap_or(&self.path).to_path_buf();
            return Err(StoreError::Empty { directory });
        };
        let summary = RunSummary { number, started_ms, command: self.parse(&command)?, exit_code };
        Ok(StoredRun { detections: self.detections(number)?, summary })
    }

    /// When the last run was started that looked for dependencies.
    pub fn last_run_started_ms(&self) -> Result<Option<i64>, StoreError> {
        self.connection.query_row("SELECT MAX(started_ms) FROM run", [], |row| row.get(0)).map_err(|e| self.failed(e))
    }

    pub(crate) fn parse<T: serde::de::DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| StoreError::Corrupt { path: self.path.clone(), message: error.to_string() })
    }

    /// Collects rows whose JSON columns are parsed by `convert`.
    pub(crate) fn rows<R, T>(
        &self,
        sql: &str,
        key: i64,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<R>,
        convert: impl Fn(R) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare(sql).map_err(|e| self.failed(e))?;
        let rows = statement.query_map(params![key], read).map_err(|e| self.failed(e))?;
        rows.map(|row| convert(row.map_err(|e| self.failed(e))?)).collect()
    }

    fn detections(&self, run: i64) -> Result<Vec<Detection>, StoreError> {
        type JvmRow = (i64, String, bool, String, String, String);
        self.rows(
            "SELECT id, launch, is_complete, notes, refusals, own_classes FROM jvm WHERE run = ?1 ORDER BY id",
            run,
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)),
            |(jvm, launch, is_complete, notes, refusals, own_classes): JvmRow| {
                let (units, resources) = (self.units(jvm)?, self.resources(jvm)?);
                let accesses = self.accesses(jvm, units.len(), resources.len())?;
                Ok(Detection {
                    launch: self.parse(&launch)?,
                    units,
                    resources,
                    accesses,
                    stacks: self.stacks(jvm)?,
                    notes: self.parse(&notes)?,
                    refusals: self.parse(&refusals)?,
                    own_classes: self.parse(&own_classes)?,
                    is_complete,
                })
            },
        )
    }

    fn units(&self, jvm: i64) -> Result<Vec<Unit>, StoreError> {
        type UnitRow = (String, String, String, Option<String>, Option<i64>, Option<String>, Option<String>);
        self.rows(
            "SELECT kind, name, display_name, status, nanos, message, trace FROM unit WHERE jvm = ?1 ORDER BY number",
            jvm,
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?)),
            |(kind, name, display_name, status, nanos, message, trace): UnitRow| {
                let outcome = match status {
                    Some(status) => Some(Outcome {
                        status: self.parse(&status)?,
                        nanos: nanos.unwrap_or(0) as u64,
                        message: message.unwrap_or_default(),
                        trace: trace.unwrap_or_default(),
                    }),
                    None => None,
                };
                let kind = if kind == "class" { UnitKind::Class } else { UnitKind::Test };
                Ok(Unit { kind, name, display_name, outcome })
            },
        )
    }

    fn resources(&self, jvm: i64) -> Result<Vec<Resource>, StoreError> {
        self.rows(
            "SELECT kind, name, field, path, root FROM resource WHERE jvm = ?1 ORDER BY number",
            jvm,
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
            |(kind, name, field, path, root): (String, String, String, String, String)| {
                Ok(Resource { kind: self.parse(&kind)?, name, field, path, root })
            },
        )
    }

    fn stacks(&self, jvm: i64) -> Result<Vec<Vec<StackLine>>, StoreError> {
        let lines: Vec<StackLine> = self.rows(
            "SELECT class, method, file, line FROM line WHERE jvm = ?1 ORDER BY number",
            jvm,
            |row| Ok(StackLine { class: row.get(0)?, method: row.get(1)?, file: row.get(2)?, line: row.get(3)? }),
            Ok,
        )?;
        self.rows(
            "SELECT lines FROM stack WHERE jvm = ?1 ORDER BY number",
            jvm,
            |row| row.get::<_, String>(0),
            |numbers| {
                let numbers: Vec<usize> = self.parse(&numbers)?;
                Ok(numbers.into_iter().filter_map(|number| lines.get(number).cloned()).collect())
            },
        )
    }

    fn accesses(&self, jvm: i64, units: usize, resources: usize) -> Result<Vec<Access>, StoreError> {
        let corrupt = |message: &str| StoreError::Corrupt { path: self.path.clone(), message: message.to_owned() };
        let mut accesses = Vec::new();
        let mut statement = self
            .connection
            .prepare("SELECT content FROM access WHERE jvm = ?1 ORDER BY number")
            .map_err(|e| self.failed(e))?;
        let mut rows = statement.query(params![jvm]).map_err(|e| self.failed(e))?;
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            let content = row.get_ref(0).map_err(|e| self.failed(e))?.as_blob().ok();
            let unpacked = content.and_then(|content| packed::unpack(content, &mut accesses));
            unpacked.ok_or_else(|| corrupt("accesses that cannot be unpacked"))?;
        }
        let is_known = |unit: u32| (unit as usize) < units;
        let is_sound = |access: &Access| {
            (access.resource as usize) < resources && is_known(access.unit) && access.source.is_none_or(is_known)
        };
        if !accesses.iter().all(is_sound) {
            return Err(corrupt("accesses of tests or fields that are not there"));
        }
        Ok(accesses)
    }
}
