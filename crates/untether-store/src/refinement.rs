//! Refinements, and the observations that they stand on.

use rusqlite::{OptionalExtension as _, params};
use untether_model::{Observation, RefinementRecord, Tried};

use crate::Store;
use crate::error::StoreError;

/// How many refinements are kept.
const KEPT: i64 = 10;

/// Observations older than this are dropped: four weeks.
const MOST_AGE_MS: i64 = 28 * 24 * 3600 * 1000;

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

    /// What came of a trial.
    pub fn trial(&self, key: &str) -> Result<Option<Tried>, StoreError> {
        let found: Option<String> = self
            .connection
            .query_row("SELECT content FROM trial WHERE key = ?1", params![key], |row| row.get(0))
            .optional()
            .map_err(|e| self.failed(e))?;
        found.map(|content| self.parse(&content)).transpose()
    }

    pub fn add_trials(&mut self, trials: &[(String, Tried)], now_ms: i64) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |source| StoreError::Database { path: path.clone(), source };
        let transaction = self.connection.transaction().map_err(failed)?;
        for (key, tried) in trials {
            let content = serde_json::to_string(tried).unwrap_or_default();
            transaction
                .execute(
                    "INSERT OR REPLACE INTO trial (key, content, noted_ms) VALUES (?1, ?2, ?3)",
                    params![key, content, now_ms],
                )
                .map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    pub fn forget_observations(&mut self) -> Result<(), StoreError> {
        self.connection.execute_batch("DELETE FROM observation; DELETE FROM trial").map_err(|e| self.failed(e))?;
        Ok(())
    }

    /// Every test is to be looked at again, even if what does so is stopped: earlier findings stay for comparison.
    pub fn outdate_refinements(&mut self) -> Result<(), StoreError> {
        let forget = "UPDATE refinement SET content = json_set(content, '$.fingerprints', json('{}'))";
        self.connection.execute(forget, []).map_err(|e| self.failed(e))?;
        Ok(())
    }

    /// Adds a refinement. One that is complete needs its observations no longer.
    pub fn add_refinement(&mut self, refinement: &RefinementRecord) -> Result<(), StoreError> {
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
        transaction.execute("DELETE FROM trial WHERE noted_ms < ?1", params![oldest]).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// All refinements that are kept, newest first.
    pub fn refinements(&self) -> Result<Vec<RefinementRecord>, StoreError> {
        self.rows(
            "SELECT content FROM refinement WHERE id > ?1 ORDER BY id DESC",
            0,
            |row| row.get::<_, String>(0),
            |content| self.parse(&content),
        )
    }
}
