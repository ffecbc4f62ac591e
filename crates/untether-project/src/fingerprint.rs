//! What the code that a test may run looks like, to notice when it changes.
//!
//! A class's fingerprint covers its own bytes and those of all classes that it names, directly or through
//! others, as far as they lie in folders of the class path; and every jar and every other file, whoever uses
//! them. Classes that are only named in strings are not seen.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use untether_classfile::ClassFile;
use untether_model::{ContentHash, ContentHasher};

#[derive(Debug, Default)]
struct Node {
    hash: ContentHash,
    uses: Vec<String>,
}

/// The fingerprints of a class path.
#[derive(Debug, Default)]
pub struct Fingerprints {
    classes: HashMap<String, Node>,
    /// Of jars and of files that are no classes.
    rest: ContentHash,
}

impl Fingerprints {
    /// Reads the class path. What cannot be read is left out.
    pub fn read(class_path: &[String]) -> Self {
        let mut fingerprints = Fingerprints::default();
        let mut rest = ContentHasher::default();
        for entry in class_path {
            let path = Path::new(entry);
            if path.is_dir() {
                fingerprints.add_folder(path, &mut rest);
            } else if let Ok(bytes) = fs::read(path) {
                add(&mut rest, path.file_name().map(Path::new), &bytes);
            }
        }
        fingerprints.rest = rest.finish();
        fingerprints
    }

    fn add_folder(&mut self, root: &Path, rest: &mut ContentHasher) {
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let mut paths: Vec<PathBuf> =
                fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = fs::read(&path) {
                    match ClassFile::parse(&bytes).ok().and_then(|class| Some((name(class.name().ok()?), class))) {
                        Some((own, class)) => {
                            let uses = class_names(&class);
                            self.classes.entry(own).or_insert(Node { hash: ContentHash::of(&bytes), uses });
                        }
                        None => add(rest, path.strip_prefix(root).ok(), &bytes),
                    }
                }
            }
        }
    }

    /// The fingerprint of a class, given as in `Class.getName`. What is none, such as a file of scenarios, may run
    /// whatever there is.
    pub fn of(&self, class: &str) -> String {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let internal = class.replace('.', "/");
        let mut pending: Vec<&str> = match self.classes.get_key_value(&internal) {
            Some((key, _)) => vec![key],
            None => self.classes.keys().map(String::as_str).collect(),
        };
        while let Some(at) = pending.pop() {
            if let Some((key, node)) = self.classes.get_key_value(at)
                && reached.insert(key)
            {
                pending.extend(node.uses.iter().map(String::as_str));
            }
        }
        let mut hasher = ContentHasher::default();
        hasher.hash(self.rest);
        for name in reached {
            hasher.text(name);
            hasher.hash(self.classes[name].hash);
        }
        hasher.finish().to_string()
    }
}

fn add(rest: &mut ContentHasher, name: Option<&Path>, content: &[u8]) {
    rest.bytes(name.unwrap_or(Path::new("")).as_os_str().as_encoded_bytes());
    rest.hash(ContentHash::of(content));
}

/// The classes that a class names, in internal form.
pub(crate) fn class_names(class: &ClassFile<'_>) -> Vec<String> {
    class.pool.class_names().map(name).chain(described(class)).collect()
}

/// Classes in descriptors: of fields, of methods, and of annotations, which appear nowhere else.
fn described(class: &ClassFile<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for text in class.pool.texts() {
        for part in text.split(|&byte| byte == b';') {
            if let Some(start) = part.iter().position(|&byte| byte == b'L') {
                found.push(String::from_utf8_lossy(&part[start + 1..]).into_owned());
            }
        }
    }
    found
}

/// An internal name; of an array type, its element's.
fn name(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.trim_start_matches('[').strip_prefix('L').and_then(|rest| rest.strip_suffix(';')) {
        Some(element) if text.starts_with('[') => element.to_owned(),
        _ => text.into_owned(),
    }
}
