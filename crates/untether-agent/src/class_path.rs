//! Looks classes up on the class path before they are loaded, to learn which fields are final.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use zip::ZipArchive;

enum Entry {
    Folder(PathBuf),
    Archive(ZipArchive<BufReader<File>>),
}

/// The class path, with what the manifests of its jars add (Surefire passes a jar of only a manifest).
#[derive(Default)]
pub(crate) struct ClassPath {
    entries: Vec<Entry>,
}

impl ClassPath {
    pub(crate) fn parse(text: &str) -> Self {
        let mut class_path = ClassPath::default();
        let mut seen = HashSet::new();
        for part in text.split(':').filter(|part| !part.is_empty()) {
            class_path.add(Path::new(part), &mut seen);
        }
        class_path
    }

    fn add(&mut self, path: &Path, seen: &mut HashSet<PathBuf>) {
        if !seen.insert(path.to_path_buf()) {
            return;
        }
        if path.is_dir() {
            self.entries.push(Entry::Folder(path.to_path_buf()));
            // A folder of the module path may hold jars.
            for jar in fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()) {
                if jar.extension().is_some_and(|extension| extension == "jar") {
                    self.add(&jar, seen);
                }
            }
            return;
        }
        let Some(mut archive) = open(path) else { return };
        let named = named_by_manifest(path, &mut archive);
        self.entries.push(Entry::Archive(archive));
        for target in named {
            self.add(&target, seen);
        }
    }

    /// The bytes of a class given by its internal name.
    pub(crate) fn class(&mut self, name: &str) -> Option<Vec<u8>> {
        let resource = format!("{name}.class");
        self.entries.iter_mut().find_map(|entry| match entry {
            Entry::Folder(folder) => fs::read(folder.join(&resource)).ok(),
            Entry::Archive(archive) => {
                let mut file = archive.by_name(&resource).ok()?;
                let mut bytes = Vec::with_capacity(usize::try_from(file.size()).ok()?);
                file.read_to_end(&mut bytes).ok()?;
                Some(bytes)
            }
        })
    }
}

fn open(path: &Path) -> Option<ZipArchive<BufReader<File>>> {
    ZipArchive::new(BufReader::new(File::open(path).ok()?)).ok()
}

/// The entries of a class path. That of a lone jar, as build tools pass it, includes what its manifest
/// names: the jar itself may be gone when somebody wants to start this JVM again.
pub(crate) fn expanded(text: &str) -> Vec<String> {
    let mut entries: Vec<PathBuf> = text.split(':').filter(|part| !part.is_empty()).map(PathBuf::from).collect();
    if let [lone] = entries.as_slice()
        && let Some(mut archive) = open(lone)
    {
        let named = named_by_manifest(lone, &mut archive);
        entries.extend(named);
    }
    // Resolved now: the way to an entry may lead through a folder that the build tool removes.
    let absolute = |path: PathBuf| fs::canonicalize(&path).or_else(|_| std::path::absolute(&path)).unwrap_or(path);
    entries.into_iter().map(|path| absolute(path).display().to_string()).collect()
}

/// What the manifest of a jar adds to the class path.
fn named_by_manifest(path: &Path, archive: &mut ZipArchive<BufReader<File>>) -> Vec<PathBuf> {
    let mut manifest = String::new();
    if let Ok(mut entry) = archive.by_name("META-INF/MANIFEST.MF") {
        // A manifest that is not text adds nothing.
        let _ = entry.read_to_string(&mut manifest);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    manifest_class_path(&manifest)
        .into_iter()
        .map(|location| match location.strip_prefix("file:") {
            // file:/a/b and file:///a/b are the same.
            Some(absolute) => decoded(absolute.strip_prefix("//").unwrap_or(absolute)),
            None => folder.join(decoded(&location)),
        })
        .collect()
}

/// The path that a location means: `%C3%BC` are two bytes of its name. What is not so written stands for itself.
fn decoded(location: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(location.len());
    let mut rest = location.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let code = match (first, after) {
            (b'%', &[high, low, ..]) => digit(high).zip(digit(low)).map(|(high, low)| (high * 16 + low) as u8),
            _ => None,
        };
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// The locations in `Class-Path`, whose lines are folded at 72 bytes.
fn manifest_class_path(manifest: &str) -> Vec<String> {
    let unfolded = manifest.replace("\r\n", "\n").replace("\n ", "");
    unfolded
        .lines()
        .find_map(|line| line.strip_prefix("Class-Path:"))
        .map(|list| list.split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_decoded_byte_by_byte() {
        assert_eq!(decoded("/home/k%C3%BCche/a%20b/100%25.jar"), Path::new("/home/küche/a b/100%.jar"));
        assert_eq!(decoded("/odd%zz/%2"), Path::new("/odd%zz/%2"));
    }
}
