//! What the integration tests share: JDKs, class paths, the built program, runs of suites.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

pub mod expectations;
pub mod manifests;
pub mod small;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder for files that tests make, kept between runs.
pub fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The agent library as the program unpacks it.
pub fn agent() -> &'static Path {
    static AGENT: OnceLock<PathBuf> = OnceLock::new();
    AGENT.get_or_init(|| {
        let output = untether(&scratch("doctor"), &["doctor", "--format", "json"]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        PathBuf::from(document["agent"].as_str().unwrap())
    })
}

pub fn untether(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().unwrap()
}

/// The program about to be started, for tests that give it an environment or do not wait for it.
pub fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_untether"));
    command.args(arguments).current_dir(directory).env_remove("JAVA_TOOL_OPTIONS").env_remove("UNTETHER_AGENT_LIBRARY");
    // The cache of whoever runs the tests is not theirs to fill.
    command.env("XDG_CACHE_HOME", scratch("cache"));
    command
}

/// Whether `UNTETHER_FIXTURES` has a part of this name, or says nothing: parts of names, separated by commas.
pub fn is_wanted(fixture: &str) -> bool {
    let parts = std::env::var("UNTETHER_FIXTURES").unwrap_or_default();
    parts.split(',').any(|part| fixture.contains(part))
}

/// An empty folder.
pub fn fresh(group: &str, name: &str) -> PathBuf {
    let path = scratch(group).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Compiles sources of the unnamed package, and gives a class path with them and the fixtures' libraries.
pub fn class_path_with(folder: &Path, sources: &[(&str, &str)]) -> String {
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let files: Vec<PathBuf> = sources
        .iter()
        .map(|(name, source)| {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, source).unwrap();
            file
        })
        .collect();
    let classes = folder.join("classes");
    compile(jdks().first().unwrap(), &libraries, &files, &classes);
    format!("{}:{libraries}", classes.display())
}

/// A fresh copy of an example project, without build output.
pub fn copy_of(example: &str, name: &str) -> PathBuf {
    let target = scratch("examples").join(name);
    let _ = std::fs::remove_dir_all(&target);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    let status =
        Command::new("cp").arg("-r").arg(repository().join("examples").join(example)).arg(&target).status().unwrap();
    assert!(status.success());
    target
}

/// Waits for something that is bound to come, however busy the machine is.
pub fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(300);
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process runs; one that has ended but was not waited for does not.
pub fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every JDK of 17 or newer on this machine: `JAVA_HOME`, then the usual folder.
pub fn jdks() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    if let Ok(entries) = std::fs::read_dir("/usr/lib/jvm") {
        homes.extend(entries.flatten().map(|entry| entry.path()));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for home in homes {
        let Ok(home) = home.canonicalize() else { continue };
        if home.join("bin/javac").exists() && !found.contains(&home) && feature_version(&home) >= 17 {
            found.push(home);
        }
    }
    assert!(!found.is_empty(), "no JDK of 17 or newer found: install one or set JAVA_HOME");
    found.sort_by_key(|home| feature_version(home));
    found
}

pub fn feature_version(home: &Path) -> u32 {
    let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\"")).unwrap_or("0");
    version.split(['.', '"', '-']).next().and_then(|feature| feature.parse().ok()).unwrap_or(0)
}

/// The class path of a pom, resolved by Maven once.
pub fn class_path_of(pom: &Path, name: &str) -> String {
    let file = scratch("class-paths").join(format!("{name}.txt"));
    let pom_time = std::fs::metadata(pom).unwrap().modified().unwrap();
    let is_fresh = std::fs::metadata(&file).and_then(|m| m.modified()).is_ok_and(|time| time > pom_time);
    let is_usable =
        is_fresh && std::fs::read_to_string(&file).is_ok_and(|cp| cp.split(':').all(|jar| Path::new(jar).exists()));
    if !is_usable {
        let status = Command::new("mvn")
            .args(["-q", "-B", "-f"])
            .arg(pom)
            .arg("dependency:build-classpath")
            .arg(format!("-Dmdep.outputFile={}", file.display()))
            .status()
            .expect("Maven is needed: ./dev test installs it");
        assert!(status.success(), "Maven cannot resolve {}", pom.display());
    }
    std::fs::read_to_string(&file).unwrap().trim().to_owned()
}

pub fn compile(home: &Path, class_path: &str, sources: &[PathBuf], out: &Path) {
    let _ = std::fs::remove_dir_all(out);
    std::fs::create_dir_all(out).unwrap();
    let output = Command::new(home.join("bin/javac"))
        .args([
            "-nowarn",
            "-Xlint:none",
            "-source",
            "11",
            "-target",
            "11",
            "-parameters",
            "-g",
            "-cp",
            class_path,
            "-d",
        ])
        .arg(out)
        .args(sources)
        .output()
        .unwrap();
    assert!(output.status.success(), "javac: {}", String::from_utf8_lossy(&output.stderr));
}

pub fn java_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(java_files(&path));
        } else if path.extension().is_some_and(|e| e == "java") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The ids of the tests and classes in the JSON of `deps`, by their indices.
pub fn party_ids(document: &serde_json::Value) -> BTreeMap<u64, String> {
    let rows = ["tests", "classes"].iter().flat_map(|table| document[table].as_array().unwrap());
    rows.map(|row| (row["index"].as_u64().unwrap(), row["id"].as_str().unwrap().to_owned())).collect()
}

/// Runs each of the tasks, two at a time, and fails with all that they complain of.
pub fn each<T: Send>(tasks: Vec<T>, check: impl Fn(T) -> Vec<String> + Sync) {
    let (queue, failures) = (Mutex::new(tasks), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(task) = queue.lock().unwrap().pop() else { return };
                    let wrong = check(task);
                    failures.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
