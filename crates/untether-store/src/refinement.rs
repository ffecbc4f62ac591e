//! Refinements, and the observations that they stand on.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};
use untether_model::{Cost, Finding, Launch, Observation};

use crate::Store;
use crate::error::StoreError;

/// How many refinements are kept.
const KEPT: i64 = 10;

/// Observations older than this are dropped: four weeks.
const MOST_AGE_MS: i64 = 28 * 24 * 3600 * 1000;

/// What a refinement came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredRefinement {
    pub started_ms: i64,
    pub strategy: String,
    /// Whether it was not cut short.
    pub is_complete: bool,
    pub findings: Vec<Finding>,
    /// By finding's id: how its JVMs were started, to replay it.
    pub launches: Vec<Launch>,
    /// Into `launches`, by finding's id.
    pub launch_of: BTreeMap<String, usize>,
    pub nondeterministic: Vec<String>,
    pub unconfirmed: Vec<String>,
    /// Tests that passed when they were watched, but not in a worker.
    #[serde(default)]
    pub differing: Vec<String>,
    /// Findings that a check for new ones did not let pass.
    #[serde(default)]
    pub rejected: Vec<String>,
    pub cost: Cost,
    pub seconds: f64,
    /// What each test's classes looked like.
    pub fingerprints: BTreeMap<String, String>,
}

impl Store {
    /// What the schedule came to when it was run for the `occurrence`th time.
    pub fn observation(&self, schedule: &str, occurrence: usize) -> Result<Option<Observation>, StoreError> {
        let found: Option<String> = self
            .connection
            .query_row(
                "SELECT content FROM observation WHERE schedule = ?1 AND occurrence = ?2",
                params![schedule, occurrence],
                |row| row.get(0),
            )
            .optional()
            .map_err(|e| self.failed(e))?;
        found.map(|content| self.parse(&content)).transpose()
    }

    pub fn add_observation(
        &mut self,
        schedule: &str,
        occurrence: usize,
        observation: &Observation,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let content = serde_json::to_string(observation).unwrap_or_default();
        self.connection
            .execute(
                "INSERT OR REPLACE INTO observation (schedule, occurrence, content, noted_ms) VALUES (?1, ?2, ?3, ?4)",
                params![schedule, occurrence, content, now_ms],
            )
            .map_err(|e| self.failed(e))?;
        Ok(())
    }

    pub fn forget_observations(&mut self) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM observation", []).map_err(|e| self.failed(e))?;
        Ok(())
    }

    /// Adds a refinement. One that is complete needs its observations no longer.
    pub fn add_refinement(&mut self, refinement: &StoredRefinement) -> Result<(), StoreError> {
        let content = serde_json::to_string(refinement).unwrap_or_default();
        let path = self.path.clone();
        let failed = |source| StoreError::Database { path: path.clone(), source };
        let transaction = self.connection.transaction().map_err(failed)?;
        transaction
            .execute(
                "INSERT INTO refinement (started_ms, content) VALUES (?1, ?2)",
                params![refinement.started_ms, content],
            )
            .map_err(failed)?;
        transaction
            .execute(
                "DELETE FROM refinement WHERE id NOT IN (SELECT id FROM refinement ORDER BY id DESC LIMIT ?1)",
                params![KEPT],
            )
            .map_err(failed)?;
        let oldest = if refinement.is_complete { i64::MAX } else { refinement.started_ms - MOST_AGE_MS };
        transaction.execute("DELETE FROM observation WHERE noted_ms < ?1", params![oldest]).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// All refinements that are kept, newest first.
    pub fn refinements(&self) -> Result<Vec<StoredRefinement>, StoreError> {
        self.rows(
            "SELECT content FROM refinement WHERE id > ?1 ORDER BY id DESC",
            0,
            |row| row.get::<_, String>(0),
            |content| self.parse(&content),
        )
    }
}
