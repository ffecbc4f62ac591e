//! Finding test classes on a class path by their names.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use untether_wire::glob_matches;
use zip::ZipArchive;

#[derive(Debug, thiserror::Error)]
pub enum ClassPathError {
    #[error("the class path entry {path} does not exist")]
    Missing { path: PathBuf },
    #[error("cannot read the class path entry {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "no test class found: looked for {patterns} in {looked_in}; use --include to name them differently or \
         --scan to look elsewhere"
    )]
    NoTests { patterns: String, looked_in: String },
}

/// Surefire's default names.
const DEFAULT_PATTERNS: &[&str] =
    &["**.*Test", "**.Test*", "**.*Tests", "**.*TestCase", "*Test", "Test*", "*Tests", "*TestCase"];

/// Names of test classes, sorted. Looks in `scan`, or else in the folders of the class path and in jars
/// whose name says that they hold tests. Nested classes are left to their outer class.
pub fn find_test_classes(
    class_path: &str,
    scan: &[PathBuf],
    include: &[String],
    exclude: &[String],
) -> Result<Vec<String>, ClassPathError> {
    let entries: Vec<PathBuf> = class_path.split(':').filter(|e| !e.is_empty()).map(PathBuf::from).collect();
    if let Some(missing) = entries.iter().chain(scan).find(|path| !path.exists()) {
        return Err(ClassPathError::Missing { path: missing.clone() });
    }
    let searched: Vec<PathBuf> = if scan.is_empty() {
        entries.into_iter().filter(|path| path.is_dir() || is_test_jar(path)).collect()
    } else {
        scan.to_vec()
    };
    let patterns: Vec<&str> =
        if include.is_empty() { DEFAULT_PATTERNS.to_vec() } else { include.iter().map(String::as_str).collect() };
    let mut found = BTreeSet::new();
    for path in &searched {
        let unreadable = |source| ClassPathError::Unreadable { path: path.clone(), source };
        let names = if path.is_dir() { classes_in_folder(path) } else { classes_in_jar(path) };
        for name in names.map_err(unreadable)? {
            let is_meant = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, &name));
            let excluded: Vec<&str> = exclude.iter().map(String::as_str).collect();
            if !name.contains('$') && is_meant(&patterns) && !is_meant(&excluded) {
                found.insert(name);
            }
        }
    }
    if found.is_empty() {
        let list = searched.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(ClassPathError::NoTests {
            patterns: patterns.join(", "),
            looked_in: if list.is_empty() { "no folder or test jar of the class path".into() } else { list },
        });
    }
    Ok(found.into_iter().collect())
}

/// The names of all classes in folders of the class path: the project's own, where a build tool made it. What cannot
/// be read has none.
pub fn classes_in_folders(class_path: &[String]) -> HashSet<String> {
    let folders = class_path.iter().map(Path::new).filter(|path| path.is_dir());
    folders.flat_map(|folder| classes_in_folder(folder).unwrap_or_default()).collect()
}

/// A pattern without a dot is about the simple name.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern = pattern.replace('/', ".");
    let simple = name.rsplit('.').next().unwrap_or(name);
    glob_matches(&pattern, name) || (!pattern.contains('.') && glob_matches(&pattern, simple))
}

fn is_test_jar(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with("tests.jar") || name.ends_with("test.jar") || name.ends_with("test-classes.jar")
}

fn classes_in_folder(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(relative) = path.strip_prefix(root) {
                names.extend(class_name(&relative.to_string_lossy()));
            }
        }
    }
    Ok(names)
}

fn classes_in_jar(path: &Path) -> io::Result<Vec<String>> {
    let archive = ZipArchive::new(io::BufReader::new(File::open(path)?)).map_err(io::Error::other)?;
    Ok(archive.file_names().filter_map(|name| class_name(&name.ok()?)).collect())
}

fn class_name(file: &str) -> Option<String> {
    let stem = file.strip_suffix(".class")?;
    (!stem.ends_with("-info") && !stem.starts_with("META-INF")).then(|| stem.replace('/', "."))
}
