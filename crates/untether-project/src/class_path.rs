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

/// Whether a class of that name would be taken for a test class by default.
pub fn is_test_name(name: &str) -> bool {
    !name.contains('$') && DEFAULT_PATTERNS.iter().any(|pattern| matches(pattern, name))
}

/// The names of all classes in folders of the class path: the project's own, where a build tool made it. What cannot
/// be read has none.
pub fn classes_in_folders(class_path: &[String]) -> HashSet<String> {
    let folders = class_path.iter().map(Path::new).filter(|path| path.is_dir());
    folders.flat_map(|folder| classes_in_folder(folder).unwrap_or_default()).collect()
}

/// The same class path with jars before folders, and how many jars there are; none where there is no jar, or somebody could
/// tell: where a file of a folder is in a jar too, or a package has classes in both.
pub fn jars_first(class_path: &[String]) -> Option<(Vec<String>, usize)> {
    let (jars, rest): (Vec<&String>, Vec<&String>) = class_path.iter().partition(|entry| Path::new(entry).is_file());
    let mut files: HashSet<String> = HashSet::new();
    for folder in rest.iter().map(Path::new).filter(|path| path.is_dir()) {
        files.extend(files_in_folder(folder).ok()?);
    }
    let parent = |name: &str| name.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
    let is_package = |folder: &String| !folder.is_empty() && !folder.starts_with("META-INF");
    let packages: HashSet<String> = files.iter().map(|file| parent(file)).filter(is_package).collect();
    for jar in &jars {
        let archive = ZipArchive::new(io::BufReader::new(File::open(jar).ok()?)).ok()?;
        for name in archive.file_names() {
            let name = name.ok()?;
            if !name.ends_with('/') && (files.contains(name.as_ref()) || packages.contains(&parent(&name))) {
                return None;
            }
        }
    }
    let count = jars.len();
    (count > 0).then(|| (jars.into_iter().chain(rest).cloned().collect(), count))
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
    Ok(files_in_folder(root)?.iter().filter_map(|file| class_name(file)).collect())
}

/// Relative to the folder.
fn files_in_folder(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(relative) = path.strip_prefix(root) {
                names.push(relative.to_string_lossy().into_owned());
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn jars_come_first_only_where_nobody_can_tell() {
        let place = std::env::temp_dir().join(format!("untether-jars-first-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        let folder = |name: &str, file: &str| {
            let path = place.join(name).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            place.join(name).display().to_string()
        };
        let jar = |name: &str, files: &[&str]| {
            let path = place.join(name);
            let mut writer = zip::ZipWriter::new(File::create(&path).unwrap());
            for file in files {
                writer.start_file(*file, SimpleFileOptions::default()).unwrap();
                writer.write_all(b"content").unwrap();
            }
            writer.finish().unwrap();
            path.display().to_string()
        };
        let (tests, classes) = (folder("tests", "shop/CartTest.class"), folder("classes", "META-INF/services/Own"));
        let missing = place.join("missing").display().to_string();
        let library = jar("library.jar", &["lib/Tool.class", "shop/inner/Part.class", "META-INF/services/Other"]);
        let same_package = jar("package.jar", &["shop/Cart.class"]);
        let same_file = jar("file.jar", &["META-INF/services/Own"]);
        let path = |entries: &[&String]| entries.iter().map(|entry| (*entry).clone()).collect::<Vec<_>>();
        let first = jars_first(&path(&[&tests, &missing, &library, &classes]));
        assert_eq!(first, Some((path(&[&library, &tests, &missing, &classes]), 1)));
        assert_eq!(jars_first(&path(&[&tests, &library, &same_package])), None, "a package in both");
        assert_eq!(jars_first(&path(&[&classes, &same_file])), None, "a file in both");
        assert_eq!(jars_first(&path(&[&tests, &classes])), None, "no jar");
        fs::write(place.join("broken.jar"), "no archive").unwrap();
        assert_eq!(jars_first(&path(&[&tests, &place.join("broken.jar").display().to_string()])), None);
        fs::remove_dir_all(place).unwrap();
    }
}
