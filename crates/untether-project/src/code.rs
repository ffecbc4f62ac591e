//! The classes of a class path as they are now: where each is found, and its checksums. Files whose size, time and number
//! are those that they had are not read again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use untether_classfile::{ClassFile, Content};
use untether_model::{ClassFacts, ClassState, CodeCache, KnownFile, KnownJar, Stamp};
use untether_wire::hash_of_bytes;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};
use zip::ZipArchive;

use crate::fingerprint::class_names;
use crate::outside::{Outside, is_outside_name};

/// What classes in jars have in place of a folder: a jar's name has its version in it, which need not matter to a class.
const JAR: &str = "jar";

/// Versions of Java from this one on have classes of their own in some jars.
const FIRST_RELEASE: u32 = 9;

/// A class path that classes are looked for in.
pub struct Code<'c> {
    roots: Vec<Root>,
    cache: &'c RefCell<CodeCache>,
    /// By name: the number of the root, and what was found there.
    known: HashMap<String, Option<(usize, ClassFacts)>>,
    /// Names in classes that were taken apart.
    named: HashMap<String, Rc<[String]>>,
    now: i64,
    release: u32,
    /// What is read besides classes.
    pub outside: Outside,
}

enum Root {
    /// Its name from the project's folder, its path, and its class files with slashes and without their ending.
    Folder {
        place: String,
        path: PathBuf,
        files: HashMap<String, Stamp>,
    },
    Jar {
        path: String,
        archive: Option<ZipArchive<BufReader<File>>>,
    },
}

pub(crate) fn stamp(data: &Metadata) -> Stamp {
    // A time that programs can set at will says less than that of the last change, which they cannot.
    let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    let modified = nanos(data.mtime(), data.mtime_nsec()).max(nanos(data.ctime(), data.ctime_nsec()));
    Stamp { size: data.len(), modified, inode: data.ino() }
}

fn hash_name(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

fn dotted(name: &[u8]) -> String {
    String::from_utf8_lossy(name).replace('/', ".")
}

/// What counts of a class file. One that cannot be understood is its bytes.
pub fn facts_of(bytes: &[u8]) -> ClassFacts {
    let (high, low) = hash_of_bytes(bytes);
    let exact = u128::from(high) << 64 | u128::from(low);
    match ClassFile::parse(bytes).and_then(|class| Content::of(&class)) {
        Ok(content) => {
            let related = content.supertypes.iter().chain(&content.annotations).map(|name| dotted(name));
            ClassFacts { content: xxh3_128(&content.bytes), exact, related: related.collect() }
        }
        Err(_) => ClassFacts { content: exact, exact, related: Vec::new() },
    }
}

impl<'c> Code<'c> {
    /// `project` is the folder from which others are named; `release` is Java's version.
    pub fn new(class_path: &[String], project: &Path, release: u32, cache: &'c RefCell<CodeCache>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        let mut roots = Vec::new();
        for entry in class_path {
            let path = Path::new(entry);
            let Ok(data) = fs::metadata(path) else { continue };
            if data.is_dir() {
                let place = path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned();
                roots.push(Root::Folder { place, path: path.to_path_buf(), files: class_files(path) });
            } else if note_jar(&mut cache.borrow_mut(), entry, &data, now).is_ok() {
                roots.push(Root::Jar { path: entry.clone(), archive: None });
            }
        }
        Code { roots, cache, known: HashMap::new(), named: HashMap::new(), now, release, outside: Outside::default() }
    }

    /// What the class path has of test frameworks: every jar of one, by its hash.
    pub fn frameworks(&self) -> Vec<(String, u128)> {
        let mut found: Vec<(String, u128)> = Vec::new();
        for root in &self.roots {
            let Root::Jar { path, .. } = root else { continue };
            if let Some(hash) = self.cache.borrow().jars.get(path).and_then(|jar| jar.framework) {
                let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
                found.push((name, hash));
            }
        }
        found.sort();
        found
    }

    /// The class as it is found, if it is.
    pub fn find(&mut self, name: &str) -> Option<&ClassFacts> {
        self.look_up(name).map(|(_, facts)| facts)
    }

    /// What a test class that uses the class now would find.
    pub fn state(&mut self, name: &str, is_exact: bool) -> ClassState {
        if is_outside_name(name) {
            return self.outside.state(&mut self.cache.borrow_mut(), name, self.now);
        }
        let found = self.look_up(name).map(|(root, facts)| (*root, if is_exact { facts.exact } else { facts.content }));
        let found = found.map(|(root, checksum)| (self.place(root), checksum));
        ClassState { name: name.to_owned(), found, is_exact }
    }

    /// The names of classes that the class names, where it lies in a folder.
    pub fn named_by(&mut self, name: &str) -> Rc<[String]> {
        if let Some(known) = self.named.get(name) {
            return Rc::clone(known);
        }
        let named: Rc<[String]> = self.names_in(name).into();
        self.named.insert(name.to_owned(), Rc::clone(&named));
        named
    }

    fn names_in(&mut self, name: &str) -> Vec<String> {
        let Some(&(root, _)) = self.look_up(name) else { return Vec::new() };
        let Root::Folder { path, .. } = &self.roots[root] else { return Vec::new() };
        let bytes = fs::read(path.join(format!("{}.class", name.replace('.', "/")))).unwrap_or_default();
        let Ok(class) = ClassFile::parse(&bytes) else { return Vec::new() };
        class_names(&class).into_iter().map(|name| name.replace('/', ".")).collect()
    }

    /// The names of all classes in folders.
    pub fn in_folders(&self) -> impl Iterator<Item = String> + '_ {
        self.roots.iter().flat_map(|root| match root {
            Root::Folder { files, .. } => files.keys().map(|name| name.replace('/', ".")).collect(),
            Root::Jar { .. } => Vec::new(),
        })
    }

    fn place(&self, root: usize) -> String {
        match &self.roots[root] {
            Root::Folder { place, .. } => place.clone(),
            Root::Jar { .. } => JAR.to_owned(),
        }
    }

    fn look_up(&mut self, name: &str) -> Option<&(usize, ClassFacts)> {
        if !self.known.contains_key(name) {
            let found = self.search(&name.replace('.', "/"));
            self.known.insert(name.to_owned(), found);
        }
        self.known.get(name).and_then(Option::as_ref)
    }

    fn search(&mut self, name: &str) -> Option<(usize, ClassFacts)> {
        let cache = &mut self.cache.borrow_mut();
        for (number, root) in self.roots.iter_mut().enumerate() {
            let facts = match root {
                Root::Folder { path, files, .. } => {
                    let found = files.get(name).copied();
                    found.map(|stamp| file_facts(cache, &path.join(format!("{name}.class")), stamp, self.now))
                }
                Root::Jar { path, archive } => jar_facts(cache, path, archive, name, self.release),
            };
            if let Some(facts) = facts {
                return Some((number, facts));
            }
        }
        None
    }
}

/// By name, with slashes and without the ending.
fn class_files(root: &Path) -> HashMap<String, Stamp> {
    let mut found = HashMap::new();
    let mut folders = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            let is_link = kind.is_symlink();
            if kind.is_dir() || is_link && entry.path().is_dir() {
                folders.push((entry.path(), format!("{prefix}{name}/")));
            } else if let Some(stem) = name.strip_suffix(".class")
                && let Ok(data) = fs::metadata(entry.path())
            {
                found.insert(format!("{prefix}{stem}"), stamp(&data));
            }
        }
    }
    found
}

pub(crate) fn file_facts(cache: &mut CodeCache, path: &Path, stamp: Stamp, now: i64) -> ClassFacts {
    let key = path.to_string_lossy().into_owned();
    if let Some(known) = cache.files.get(&key)
        && known.stamp == stamp
        && stamp.is_settled(known.noted)
    {
        return known.facts.clone();
    }
    // A file that is gone meanwhile is like no other.
    let facts = facts_of(&fs::read(path).unwrap_or_default());
    cache.files.insert(key.clone(), KnownFile { stamp, noted: now, facts: facts.clone() });
    cache.changed_files.push(key);
    facts
}

/// Sees to it that the cache knows the jar as it is now.
fn note_jar(cache: &mut CodeCache, path: &str, data: &Metadata, now: i64) -> io::Result<()> {
    let stamp = stamp(data);
    if cache.jars.get(path).is_some_and(|known| known.stamp == stamp && stamp.is_settled(known.noted)) {
        return Ok(());
    }
    let mut archive = open(path)?;
    let entries: Vec<String> =
        archive.file_names().filter_map(|name| name.ok().map(|name| name.into_owned())).collect();
    let classes: Vec<&str> = entries.iter().filter_map(|name| name.strip_suffix(".class")).collect();
    let mut names: Vec<u64> = classes.iter().map(|name| hash_name(name)).collect();
    names.sort_unstable();
    let is_framework = classes.iter().any(|name| untether_frameworks::is_runner(name.as_bytes()));
    let framework = if is_framework { Some(xxh3_128(&fs::read(path)?)) } else { None };
    let is_multi_release = is_multi_release(&mut archive);
    let jar = KnownJar { stamp, noted: now, names, framework, is_multi_release, classes: HashMap::new() };
    cache.jars.insert(path.to_owned(), jar);
    cache.changed_jars.push(path.to_owned());
    Ok(())
}

fn open(path: &str) -> io::Result<ZipArchive<BufReader<File>>> {
    ZipArchive::new(BufReader::new(File::open(path)?)).map_err(io::Error::other)
}

fn is_multi_release(archive: &mut ZipArchive<BufReader<File>>) -> bool {
    let mut text = String::new();
    let read = archive.by_name("META-INF/MANIFEST.MF").map(|mut entry| entry.read_to_string(&mut text));
    matches!(read, Ok(Ok(_))) && text.lines().any(|line| line.trim().eq_ignore_ascii_case("Multi-Release: true"))
}

fn jar_facts(
    cache: &mut CodeCache,
    path: &str,
    archive: &mut Option<ZipArchive<BufReader<File>>>,
    name: &str,
    release: u32,
) -> Option<ClassFacts> {
    let jar = cache.jars.get_mut(path)?;
    let has = |jar: &KnownJar, name: &str| jar.names.binary_search(&hash_name(name)).is_ok();
    let newest = if jar.is_multi_release { release } else { 0 };
    let mut candidates = (FIRST_RELEASE..=newest).rev().map(|version| format!("META-INF/versions/{version}/{name}"));
    let entry = candidates.find(|candidate| has(jar, candidate)).or_else(|| has(jar, name).then(|| name.to_owned()))?;
    if let Some(facts) = jar.classes.get(&entry) {
        return Some(facts.clone());
    }
    let mut read = || -> io::Result<Vec<u8>> {
        let archive = match archive {
            Some(archive) => archive,
            None => archive.insert(open(path)?),
        };
        let mut bytes = Vec::new();
        archive.by_name(&format!("{entry}.class")).map_err(io::Error::other)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // What cannot be read is like no other.
    let facts = facts_of(&read().unwrap_or_default());
    jar.classes.insert(entry, facts.clone());
    if cache.changed_jars.last().is_none_or(|last| last != path) {
        cache.changed_jars.push(path.to_owned());
    }
    Some(facts)
}
