//! The command line of a JVM of ours that runs a plan of tests.

use std::ffi::OsString;
use std::io::{self, Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use untether_wire::MAVEN_EXTENSION;
use zip::write::SimpleFileOptions;

use crate::command::JvmCommand;
use crate::error::RunnerError;

include!(concat!(env!("OUT_DIR"), "/worker_files.rs"));

/// What a worker runs and how.
#[derive(Debug, Clone)]
pub struct WorkerRequest {
    pub java: PathBuf,
    pub class_path: String,
    pub jvm_arguments: Vec<String>,
    /// Test classes, or tests as `class#method`, in order.
    pub plan: Vec<String>,
    /// A folder for the plan and the worker's jar.
    pub directory: PathBuf,
}

/// The `java` to use: the given one, that of `JAVA_HOME`, or that of the `PATH`.
pub fn find_java(given: Option<&Path>) -> Result<PathBuf, RunnerError> {
    let java = match (given, std::env::var_os("JAVA_HOME")) {
        (Some(path), _) if path.is_dir() => path.join("bin/java"),
        (Some(path), _) => path.to_path_buf(),
        (None, Some(home)) if Path::new(&home).join("bin/java").exists() => Path::new(&home).join("bin/java"),
        (None, _) => PathBuf::from("java"),
    };
    let started =
        Command::new(&java).arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match started {
        Ok(_) => Ok(java),
        Err(source) => Err(RunnerError::NoJava { java, source }),
    }
}

/// A command that runs the plan; the tests' exit code is 1 where one fails, 4 where none ran.
pub fn worker_command(request: &WorkerRequest) -> Result<JvmCommand, RunnerError> {
    let plan = request.directory.join("plan.txt");
    let cannot_write = |path: &Path, source| RunnerError::CannotWrite { path: path.to_path_buf(), source };
    std::fs::write(&plan, request.plan.join("\n") + "\n").map_err(|e| cannot_write(&plan, e))?;
    let jar = request.directory.join("worker.jar");
    write_jar(&jar).map_err(|e| cannot_write(&jar, e))?;
    let mut arguments: Vec<OsString> = request.jvm_arguments.iter().map(OsString::from).collect();
    arguments.extend([
        format!("-Xbootclasspath/a:{}", jar.display()).into(),
        "-cp".into(),
        request.class_path.clone().into(),
        "untether.Worker".into(),
        plan.into(),
    ]);
    Ok(JvmCommand { java: request.java.clone(), arguments, directory: None, environment: None })
}

/// The jar with the worker's classes.
pub(crate) fn write_jar(path: &Path) -> io::Result<()> {
    write_files(path, WORKER_FILES)
}

/// The extension that has Maven run all classes of a module in one JVM, where the agent finds it beside its options.
pub(crate) fn write_extension(directory: &Path) -> io::Result<()> {
    write_files(&directory.join(MAVEN_EXTENSION), EXTENSION_FILES)
}

/// Leaves a jar alone that has the same content already: archives of classes go by its time.
fn write_files(path: &Path, files: &[(&str, &[u8])]) -> io::Result<()> {
    let mut jar = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in files {
        jar.start_file(*name, options).map_err(io::Error::other)?;
        jar.write_all(content)?;
    }
    let content = jar.finish().map_err(io::Error::other)?.into_inner();
    if std::fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    std::fs::write(path, content)
}
