//! What test classes used, by content: records of every branch stand beside each other.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{OptionalExtension as _, Transaction, TransactionBehavior, params};
use untether_model::{
    ClassDependency, ClassFacts, ClassState, CodeCache, ContentHasher, KnownFile, KnownJar, Launch, RecordStatus,
    Stamp, TestClass, UseRecord,
};

use crate::Store;
use crate::error::StoreError;
use crate::packed::{put, take};

/// How many runs of one test class are remembered, each with another content.
const RECORDS_KEPT: i64 = 24;

/// A record whose states are numbered.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRecord {
    pub number: i64,
    pub class: String,
    pub environment: String,
    pub status: RecordStatus,
    pub reason: String,
    pub states: Vec<u32>,
    pub seconds: f64,
    pub noted_ms: i64,
    /// When it last was the reason to leave its class out, to the day.
    pub used_ms: i64,
}

/// All that is known of the test classes of a module.
#[derive(Debug, Clone, Default)]
pub struct ModuleRecords {
    /// The newest first.
    pub records: Vec<StoredRecord>,
    /// By number.
    pub states: HashMap<u32, ClassState>,
    /// Started and not ended.
    pub unfinished: BTreeSet<String>,
}

/// How a module's tests were last run.
#[derive(Debug, Clone)]
pub struct LastLaunch {
    pub module: String,
    pub launch: Launch,
    /// The test classes that were to run.
    pub classes: Vec<String>,
    /// Others that are named like test classes.
    pub ignored: Vec<String>,
}

/// Named settings of a JVM, of which the environment is the hash.
pub type Settings = Vec<(String, String)>;

impl Store {
    pub fn module_records(&self, module: &str) -> Result<ModuleRecords, StoreError> {
        let failed = |source| self.failed(source);
        // Somebody else may forget states and give their numbers to others.
        let _whole = self.connection.unchecked_transaction().map_err(failed)?;
        let mut records = Vec::new();
        let mut query = self
            .connection
            .prepare_cached(
                "SELECT class, environment, status, reason, states, seconds, noted_ms, seal, id, used_ms FROM use_record
                 WHERE module = ?1 ORDER BY noted_ms DESC, id DESC",
            )
            .map_err(failed)?;
        let mut rows = query.query([module]).map_err(failed)?;
        let mut wanted: HashSet<u32> = HashSet::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let status: String = row.get(2).map_err(failed)?;
            let packed: Vec<u8> = row.get(4).map_err(failed)?;
            let record = StoredRecord {
                number: row.get(8).map_err(failed)?,
                class: row.get(0).map_err(failed)?,
                environment: row.get(1).map_err(failed)?,
                status: serde_json::from_str(&status).map_err(|_| self.corrupt("a status"))?,
                reason: row.get(3).map_err(failed)?,
                states: unpack_numbers(&packed).ok_or_else(|| self.corrupt("a list of classes"))?,
                seconds: row.get(5).map_err(failed)?,
                noted_ms: row.get(6).map_err(failed)?,
                used_ms: row.get(9).map_err(failed)?,
            };
            let seal: Vec<u8> = row.get(7).map_err(failed)?;
            if seal != record_seal(module, &record.class, &record.environment, &status, &packed) {
                return Err(self.corrupt("what a test class used"));
            }
            wanted.extend(&record.states);
            records.push(record);
        }
        let mut states = HashMap::with_capacity(wanted.len());
        let mut query = self
            .connection
            .prepare_cached("SELECT id, name, place, checksum, is_exact, seal FROM class_state")
            .map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let number: u32 = row.get(0).map_err(failed)?;
            if wanted.contains(&number) {
                let checksum: Vec<u8> = row.get(3).map_err(failed)?;
                let place: String = row.get(2).map_err(failed)?;
                let found = <[u8; 16]>::try_from(checksum).ok().map(|bytes| (place, u128::from_le_bytes(bytes)));
                let name = row.get(1).map_err(failed)?;
                let state = ClassState { name, found, is_exact: row.get(4).map_err(failed)? };
                let seal: Vec<u8> = row.get(5).map_err(failed)?;
                if seal != state_seal(number, &state) {
                    return Err(self.corrupt("a class"));
                }
                states.insert(number, state);
            }
        }
        let mut query =
            self.connection.prepare_cached("SELECT class FROM unfinished WHERE module = ?1").map_err(failed)?;
        let rows = query.query_map([module], |row| row.get(0)).map_err(failed)?;
        let unfinished = rows.collect::<rusqlite::Result<_>>().map_err(failed)?;
        Ok(ModuleRecords { records, states, unfinished })
    }

    /// These test classes are about to run: until it is known what came of it, they count as unfinished.
    pub fn note_started(&mut self, classes: &[TestClass], now_ms: i64) -> Result<(), StoreError> {
        self.in_transaction(|transaction| {
            let mut insert = transaction
                .prepare_cached("INSERT OR REPLACE INTO unfinished (module, class, since_ms) VALUES (?1, ?2, ?3)")?;
            for TestClass { module, class } in classes {
                insert.execute(params![module, class, now_ms])?;
            }
            Ok(())
        })
    }

    /// Adds what test classes used, whole or not at all. A record of the same content is replaced.
    pub fn add_uses(&mut self, records: &[UseRecord], settings: &[(String, Settings)]) -> Result<(), StoreError> {
        self.in_transaction(|transaction| {
            insert_settings(transaction, settings)?;
            let mut numbers = Numbers::default();
            for record in records {
                transaction.execute(
                    "DELETE FROM unfinished WHERE module = ?1 AND class = ?2",
                    params![record.module, record.class],
                )?;
                let states = numbers.packed(transaction, record)?;
                insert_record(transaction, record, &states)?;
            }
            forget_settings(transaction)
        })
    }

    /// Forgets what is known of single tests of these classes.
    pub fn forget_tests(&mut self, classes: &[TestClass]) -> Result<(), StoreError> {
        self.in_transaction(|transaction| {
            // Of nested classes as well; no name of a class has these characters.
            let mut delete = transaction.prepare_cached(
                "DELETE FROM use_record WHERE module = ?1 AND instr(class, '#') > 0
                 AND (substr(class, 1, length(?2) + 1) IN (?2 || '#', ?2 || '$'))",
            )?;
            for TestClass { module, class } in classes {
                delete.execute(params![module, class])?;
            }
            Ok(())
        })
    }

    /// What the settings were of which this is the hash.
    pub fn settings(&self, environment: &str) -> Result<Option<Settings>, StoreError> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT settings FROM environment WHERE hash = ?1", [environment], |row| row.get(0))
            .optional()
            .map_err(|source| self.failed(source))?;
        text.map(|text| serde_json::from_str(&text).map_err(|_| self.corrupt("settings"))).transpose()
    }

    pub fn note_launch(&mut self, last: &LastLaunch, now_ms: i64) -> Result<(), StoreError> {
        self.in_transaction(|transaction| put_launch(transaction, last, now_ms))
    }

    /// In place of what was known of the same modules.
    pub fn note_class_dependencies(&mut self, found: &BTreeSet<ClassDependency>) -> Result<(), StoreError> {
        let modules: BTreeSet<&str> = found.iter().map(|it| it.module.as_str()).collect();
        self.in_transaction(|transaction| {
            for module in modules {
                transaction.execute("DELETE FROM class_dependency WHERE module = ?1", [module])?;
                // Whose values single tests read was known less well.
                transaction.execute("DELETE FROM use_record WHERE module = ?1 AND instr(class, '#') > 0", [module])?;
            }
            let mut insert = transaction.prepare_cached(
                "INSERT OR IGNORE INTO class_dependency (module, writer, reader, is_lazy) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for ClassDependency { module, writer, reader, is_lazy } in found {
                insert.execute(params![module, writer, reader, is_lazy])?;
            }
            Ok(())
        })
    }

    pub fn class_dependencies(&self) -> Result<Vec<ClassDependency>, StoreError> {
        let failed = |source| self.failed(source);
        let mut query =
            self.connection.prepare("SELECT module, writer, reader, is_lazy FROM class_dependency").map_err(failed)?;
        let read = |row: &rusqlite::Row<'_>| {
            let (module, writer, reader) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(ClassDependency { module, writer, reader, is_lazy: row.get(3)? })
        };
        let rows = query.query_map([], read).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    pub fn last_launches(&self) -> Result<Vec<LastLaunch>, StoreError> {
        let failed = |source| self.failed(source);
        let mut query = self
            .connection
            .prepare("SELECT module, launch, classes, ignored FROM last_launch ORDER BY module")
            .map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let text = |column: usize| row.get::<_, String>(column).map_err(failed);
            let list = |column| serde_json::from_str(&text(column)?).map_err(|_| self.corrupt("a list of tests"));
            found.push(LastLaunch {
                module: row.get(0).map_err(failed)?,
                launch: serde_json::from_str(&text(1)?).map_err(|_| self.corrupt("a launch"))?,
                classes: list(2)?,
                ignored: list(3)?,
            });
        }
        Ok(found)
    }

    /// What is known of files. It can be found out again, so that what is wrong with it does no harm.
    pub fn code_cache(&self) -> CodeCache {
        self.read_code_cache().unwrap_or_default()
    }

    fn read_code_cache(&self) -> rusqlite::Result<CodeCache> {
        let mut cache = CodeCache::default();
        let mut query = self
            .connection
            .prepare("SELECT path, size, modified, inode, noted, content, exact, related FROM known_file")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let stamp = stamp(row)?;
            if let Some(facts) = facts(row.get(5)?, row.get(6)?, &row.get::<_, String>(7)?) {
                cache.files.insert(row.get(0)?, KnownFile { stamp, noted: row.get(4)?, facts });
            }
        }
        let mut query = self
            .connection
            .prepare("SELECT path, size, modified, inode, noted, names, framework, is_multi_release FROM known_jar")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let stamp = stamp(row)?;
            let names: Vec<u8> = row.get(5)?;
            let (names, _) = names.as_chunks::<8>();
            let framework: Option<Vec<u8>> = row.get(6)?;
            let jar = KnownJar {
                stamp,
                noted: row.get(4)?,
                names: names.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect(),
                framework: framework.and_then(number),
                is_multi_release: row.get(7)?,
                classes: HashMap::new(),
            };
            cache.jars.insert(row.get(0)?, jar);
        }
        let mut query = self.connection.prepare("SELECT jar, entry, content, exact, related FROM known_entry")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let jar: String = row.get(0)?;
            if let Some(jar) = cache.jars.get_mut(&jar)
                && let Some(facts) = facts(row.get(2)?, row.get(3)?, &row.get::<_, String>(4)?)
            {
                jar.classes.insert(row.get(1)?, facts);
            }
        }
        Ok(cache)
    }

    pub fn save_code_cache(&mut self, cache: &mut CodeCache) -> Result<(), StoreError> {
        let files: BTreeSet<String> = std::mem::take(&mut cache.changed_files).into_iter().collect();
        let jars: BTreeSet<String> = std::mem::take(&mut cache.changed_jars).into_iter().collect();
        if files.is_empty() && jars.is_empty() {
            return Ok(());
        }
        self.in_transaction(|transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO known_file (path, size, modified, inode, noted, content, exact, related)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?;
            for path in &files {
                let Some(KnownFile { stamp, noted, facts }) = cache.files.get(path) else { continue };
                let (content, exact) = (facts.content.to_le_bytes(), facts.exact.to_le_bytes());
                let related = facts.related.join("\n");
                insert.execute(params![
                    path,
                    stamp.size as i64,
                    stamp.modified,
                    stamp.inode as i64,
                    noted,
                    content,
                    exact,
                    related
                ])?;
            }
            for path in &jars {
                let Some(jar) = cache.jars.get(path) else { continue };
                insert_jar(transaction, path, jar)?;
            }
            Ok(())
        })
    }

    /// These records were the reason to leave test classes out.
    pub fn note_used(&mut self, records: &[i64], now_ms: i64) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        self.in_transaction(|transaction| {
            let mut update = transaction.prepare_cached("UPDATE use_record SET used_ms = ?2 WHERE id = ?1")?;
            for record in records {
                update.execute(params![record, now_ms])?;
            }
            Ok(())
        })
    }

    pub(crate) fn in_transaction(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |source| StoreError::Database { path: path.clone(), source };
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        work(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    fn corrupt(&self, what: &str) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), message: format!("{what} is not as it was written") }
    }
}

pub(crate) fn insert_record(transaction: &Transaction<'_>, record: &UseRecord, states: &[u8]) -> rusqlite::Result<()> {
    let UseRecord { module, class, environment, .. } = record;
    let status = serde_json::to_string(&record.status).unwrap_or_default();
    transaction.execute(
        "DELETE FROM use_record WHERE module = ?1 AND class = ?2 AND environment = ?3 AND states = ?4",
        params![module, class, environment, states],
    )?;
    transaction
        .prepare_cached(
            "INSERT INTO use_record (module, class, environment, status, reason, states, seconds, noted_ms, seal)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            module,
            class,
            environment,
            status,
            record.reason,
            states,
            record.seconds,
            record.noted_ms,
            record_seal(module, class, environment, &status, states)
        ])?;
    transaction.execute(
        "DELETE FROM use_record WHERE module = ?1 AND class = ?2 AND id NOT IN
         (SELECT id FROM use_record WHERE module = ?1 AND class = ?2
          ORDER BY MAX(noted_ms, used_ms) DESC, id DESC LIMIT ?3)",
        params![module, class, RECORDS_KEPT],
    )?;
    Ok(())
}

pub(crate) fn put_launch(transaction: &Transaction<'_>, last: &LastLaunch, noted_ms: i64) -> rusqlite::Result<()> {
    let list = |names: &[String]| serde_json::to_string(names).unwrap_or_default();
    let Ok(launch) = serde_json::to_string(&last.launch) else { return Ok(()) };
    transaction.execute(
        "INSERT OR REPLACE INTO last_launch (module, launch, classes, ignored, noted_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![last.module, launch, list(&last.classes), list(&last.ignored), noted_ms],
    )?;
    Ok(())
}

pub(crate) fn insert_settings(transaction: &Transaction<'_>, settings: &[(String, Settings)]) -> rusqlite::Result<()> {
    for (environment, settings) in settings {
        transaction.execute(
            "INSERT OR IGNORE INTO environment (hash, settings) VALUES (?1, ?2)",
            params![environment, serde_json::to_string(settings).unwrap_or_default()],
        )?;
    }
    Ok(())
}

/// Settings that no record is of.
pub(crate) fn forget_settings(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM environment WHERE hash NOT IN (SELECT environment FROM use_record)", [])?;
    Ok(())
}

/// The numbers of states, as far as they were asked for.
#[derive(Default)]
pub(crate) struct Numbers<'r> {
    known: HashMap<&'r ClassState, u32>,
}

impl<'r> Numbers<'r> {
    /// Those of a record's states, as they are stored.
    pub(crate) fn packed(&mut self, transaction: &Transaction<'_>, record: &'r UseRecord) -> rusqlite::Result<Vec<u8>> {
        let mut states = Vec::with_capacity(record.states.len());
        for state in &record.states {
            let number = match self.known.get(state) {
                Some(&number) => number,
                None => *self.known.entry(state).or_insert(number_of(transaction, state)?),
            };
            states.push(number);
        }
        states.sort_unstable();
        states.dedup();
        Ok(pack_numbers(&states))
    }
}

fn number_of(transaction: &Transaction<'_>, state: &ClassState) -> rusqlite::Result<u32> {
    let (place, checksum) = match &state.found {
        Some((place, checksum)) => (place.as_str(), checksum.to_le_bytes().to_vec()),
        None => ("", Vec::new()),
    };
    let key = params![state.name, place, checksum, state.is_exact];
    let known = transaction
        .prepare_cached(
            "SELECT id FROM class_state WHERE name = ?1 AND place = ?2 AND checksum = ?3 AND is_exact = ?4",
        )?
        .query_row(key, |row| row.get(0))
        .optional()?;
    if let Some(number) = known {
        return Ok(number);
    }
    transaction
        .prepare_cached("INSERT INTO class_state (name, place, checksum, is_exact, seal) VALUES (?1, ?2, ?3, ?4, x'')")?
        .execute(key)?;
    let number = transaction.last_insert_rowid() as u32;
    transaction
        .prepare_cached("UPDATE class_state SET seal = ?2 WHERE id = ?1")?
        .execute(params![number, state_seal(number, state)])?;
    Ok(number)
}

/// By which a record is known to be as it was written: a byte that is another could stand for a class that is as it was.
fn record_seal(module: &str, class: &str, environment: &str, status: &str, states: &[u8]) -> [u8; 16] {
    let mut hasher = ContentHasher::default();
    hasher.texts([module, class, environment, status]);
    hasher.bytes(states);
    hasher.finish().to_bytes()
}

fn state_seal(number: u32, state: &ClassState) -> [u8; 16] {
    let mut hasher = ContentHasher::default();
    hasher.number(number.into());
    hasher.number(state.is_exact.into());
    hasher.text(&state.name);
    if let Some((place, checksum)) = &state.found {
        hasher.text(place);
        hasher.bytes(&checksum.to_le_bytes());
    }
    hasher.finish().to_bytes()
}

fn insert_jar(transaction: &Transaction<'_>, path: &str, jar: &KnownJar) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM known_entry WHERE jar = ?1", [path])?;
    let names: Vec<u8> = jar.names.iter().flat_map(|name| name.to_le_bytes()).collect();
    transaction.execute(
        "INSERT OR REPLACE INTO known_jar (path, size, modified, inode, noted, names, framework, is_multi_release)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            path,
            jar.stamp.size as i64,
            jar.stamp.modified,
            jar.stamp.inode as i64,
            jar.noted,
            names,
            jar.framework.map(|hash| hash.to_le_bytes()),
            jar.is_multi_release
        ],
    )?;
    let mut insert = transaction
        .prepare_cached("INSERT INTO known_entry (jar, entry, content, exact, related) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (entry, facts) in &jar.classes {
        let (content, exact) = (facts.content.to_le_bytes(), facts.exact.to_le_bytes());
        insert.execute(params![path, entry, content, exact, facts.related.join("\n")])?;
    }
    Ok(())
}

/// SQLite's numbers have a sign, which only has to come back.
fn stamp(row: &rusqlite::Row<'_>) -> rusqlite::Result<Stamp> {
    let (size, inode): (i64, i64) = (row.get(1)?, row.get(3)?);
    Ok(Stamp { size: size as u64, modified: row.get(2)?, inode: inode as u64 })
}

fn number(bytes: Vec<u8>) -> Option<u128> {
    <[u8; 16]>::try_from(bytes).ok().map(u128::from_le_bytes)
}

fn facts(content: Vec<u8>, exact: Vec<u8>, related: &str) -> Option<ClassFacts> {
    let related = related.split('\n').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some(ClassFacts { content: number(content)?, exact: number(exact)?, related })
}

/// Sorted numbers, each as its distance from the one before.
fn pack_numbers(numbers: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * 2);
    let mut last = 0;
    for &number in numbers {
        put(&mut bytes, number - last);
        last = number;
    }
    bytes
}

pub(crate) fn unpack_numbers(mut bytes: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    let mut last = 0u32;
    while !bytes.is_empty() {
        last = last.checked_add(take(&mut bytes)?)?;
        numbers.push(last);
    }
    Some(numbers)
}
