//! What suites compile and run against, by their coordinates, and an archive of those classes: with it, a JVM that
//! runs two tests starts in half of the time, and brute force is nothing but such JVMs.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use untether_runner::{WorkerRequest, worker_command};
use zip::write::SimpleFileOptions;

use super::generator::{self, Framework, Suite};
use super::java;
use super::oracle::JVM_ARGUMENTS;
use crate::class_path::resolve_all;
use crate::failure::Failure;

const JUNIT4: [&str; 1] = ["junit:junit:4.13.2"];
const JUPITER: [&str; 2] =
    ["org.junit.jupiter:junit-jupiter:5.11.4", "org.junit.platform:junit-platform-launcher:1.11.4"];
const MOCKITO: [&str; 1] = ["org.mockito:mockito-core:4.11.0"];
const MOCKITO_JUPITER: [&str; 1] = ["org.mockito:mockito-junit-jupiter:4.11.0"];

/// Those of one framework, with or without mocks.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// As `java -cp` takes it.
    pub(crate) class_path: String,
    /// The same, and what has to stand before anything else for the archive to be used.
    pub(crate) archived_class_path: String,
    /// The archive, where one could be made, and the worker's classes.
    folder: PathBuf,
    archive: Option<PathBuf>,
}

/// Suites of the same name need the same libraries.
pub(crate) fn name_of(suite: &Suite) -> &'static str {
    match (suite.framework, suite.has_mocks) {
        (Framework::JUnit4, false) => "junit4",
        (Framework::JUnit4, true) => "junit4-mockito",
        (Framework::Jupiter, false) => "jupiter",
        (Framework::Jupiter, true) => "jupiter-mockito",
    }
}

impl Libraries {
    /// Those that a suite needs. Class paths are remembered in `known`, archives are made anew in `scratch`.
    pub(crate) fn of(suite: &Suite, java: &Path, known: &Path, scratch: &Path) -> Result<Self, Failure> {
        let coordinates: Vec<&str> = match (suite.framework, suite.has_mocks) {
            (Framework::JUnit4, false) => JUNIT4.to_vec(),
            (Framework::JUnit4, true) => [JUNIT4, MOCKITO].concat(),
            (Framework::Jupiter, false) => JUPITER.to_vec(),
            (Framework::Jupiter, true) => [&JUPITER[..], &MOCKITO_JUPITER[..]].concat(),
        };
        let class_path = resolve_all(&coordinates, &known.join(name_of(suite)))?;
        let folder = scratch.join(name_of(suite));
        fs::create_dir_all(&folder).map_err(Failure::io("create", &folder))?;
        let mut libraries =
            Libraries { archived_class_path: class_path.clone(), class_path, folder: folder.clone(), archive: None };
        // Without it, all takes longer and comes to the same.
        if let Ok((jar, archive)) = libraries.make_archive(suite, java) {
            libraries.archived_class_path = format!("{}:{}", libraries.class_path, jar.display());
            libraries.archive = Some(archive);
        }
        Ok(libraries)
    }

    /// Where the worker's classes have to be for the archive to be used.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn jvm_arguments(&self) -> Vec<String> {
        let archive = self.archive.iter().map(|archive| format!("-XX:SharedArchiveFile={}", archive.display()));
        JVM_ARGUMENTS.iter().map(|&argument| argument.to_owned()).chain(archive).collect()
    }

    /// Runs a suite of another package once; its jar and what the JVM loaded.
    fn make_archive(&self, suite: &Suite, java: &Path) -> Result<(PathBuf, PathBuf), Failure> {
        let suite = generator::suite(0, suite.number, None);
        let sources = java::sources(&suite)
            .into_iter()
            .map(|(name, text)| (name, text.replacen("package truth;", "package warm;", 1)));
        let classes = self.folder.join("classes");
        compile(sources.collect(), &self.folder.join("src"), &classes, &self.class_path)?;
        let jar = self.folder.join("warm.jar");
        pack(&classes, &jar)?;
        let archive = self.folder.join("classes.jsa");
        let mut jvm_arguments = self.jvm_arguments();
        jvm_arguments.push(format!("-XX:ArchiveClassesAtExit={}", archive.display()));
        let request = WorkerRequest {
            java: java.to_path_buf(),
            class_path: format!("{}:{}", self.class_path, jar.display()),
            jvm_arguments,
            plan: suite.tests().iter().map(|test| test.replacen("truth.", "warm.", 1)).collect(),
            directory: self.folder.clone(),
        };
        let mut command = worker_command(&request).map_err(|error| Failure::new(error.to_string()))?.into_command();
        command.arg(self.folder.join("results.txt")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().map_err(Failure::io("start", java))?;
        if archive.exists() { Ok((jar, archive)) } else { Err(Failure::new("no archive was written")) }
    }
}

/// Writes and compiles the files.
pub(crate) fn compile(
    files: Vec<(String, String)>,
    sources: &Path,
    classes: &Path,
    class_path: &str,
) -> Result<(), Failure> {
    for path in [sources, classes] {
        fs::create_dir_all(path).map_err(Failure::io("create", path))?;
    }
    let mut written = Vec::new();
    for (name, text) in files {
        let file = sources.join(name);
        fs::write(&file, text).map_err(Failure::io("write", &file))?;
        written.push(file);
    }
    let compiled = Command::new("javac")
        .args(["-g", "-nowarn", "-J-XX:TieredStopAtLevel=1", "-cp", class_path, "-d"])
        .arg(classes)
        .args(&written)
        .output()
        .map_err(|error| Failure::new(format!("cannot start javac, is a JDK installed? {error}")))?;
    if compiled.status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("javac: {}", String::from_utf8_lossy(&compiled.stderr).trim())))
}

/// The classes of the one package.
fn pack(classes: &Path, jar: &Path) -> Result<(), Failure> {
    let package = classes.join("warm");
    let unwritable = |error: zip::result::ZipError| Failure::new(format!("cannot write {}: {error}", jar.display()));
    let mut writer = zip::ZipWriter::new(File::create(jar).map_err(Failure::io("create", jar))?);
    for entry in fs::read_dir(&package).map_err(Failure::io("read", &package))? {
        let entry = entry.map_err(Failure::io("read", &package))?;
        let content = fs::read(entry.path()).map_err(Failure::io("read", &entry.path()))?;
        let name = format!("warm/{}", entry.file_name().to_string_lossy());
        writer.start_file(name, SimpleFileOptions::default()).map_err(unwritable)?;
        writer.write_all(&content).map_err(Failure::io("write", jar))?;
    }
    writer.finish().map_err(unwritable)?;
    Ok(())
}
