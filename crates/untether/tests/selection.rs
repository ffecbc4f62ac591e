//! What is selected after a change: each folder of `fixtures/selection` is a program before and after it. All but those that
//! disturb others share their JVMs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{class_path_of, feature_version, fresh, java_files, jdks, repository, text, untether};

struct Case {
    name: String,
    folder: PathBuf,
}

impl Case {
    fn is_alone(&self) -> bool {
        self.folder.join("alone").exists()
    }

    /// Sources of one state, without the folder that they lie in.
    fn sources(&self, is_after: bool) -> Vec<PathBuf> {
        let (before, after) = (self.folder.join("before"), self.folder.join("after"));
        let changed: Vec<PathBuf> = if after.is_dir() { java_files(&after) } else { Vec::new() };
        if !is_after {
            return java_files(&before);
        }
        let removed = fs::read_to_string(self.folder.join("removed")).unwrap_or_default();
        let is_replaced = |file: &PathBuf| {
            let name = file.strip_prefix(&before).unwrap();
            removed.lines().any(|line| Path::new(line.trim()) == name) || after.join(name).exists()
        };
        java_files(&before).into_iter().filter(|file| !is_replaced(file)).chain(changed).collect()
    }

    /// Full names of the test classes that have to be selected.
    fn expected(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(self.folder.join("expected")).unwrap();
        let names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        names.map(|name| format!("selection.{}.{name}", self.name)).collect()
    }
}

fn cases() -> Vec<Case> {
    let entries = fs::read_dir(repository().join("fixtures/selection")).unwrap();
    let case = |path: PathBuf| Case { name: path.file_name().unwrap().to_string_lossy().into_owned(), folder: path };
    let mut cases: Vec<Case> = entries.map(|entry| case(entry.unwrap().path())).collect();
    cases.retain(|case| case.folder.is_dir() && support::is_wanted(&case.name));
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// Compiles one state of the cases in place of what is there. Files that are no sources are copied.
fn compile(home: &Path, libraries: &str, cases: &[&Case], is_after: bool, classes: &Path) {
    let _ = fs::remove_dir_all(classes);
    fs::create_dir_all(classes).unwrap();
    for case in cases {
        let status = Command::new("sh")
            .args(["-c", "cd \"$0\" && find . -type f ! -name '*.java' -exec cp --parents {} \"$1\" \\;"])
            .arg(case.folder.join("before"))
            .arg(classes)
            .status();
        assert!(status.unwrap().success());
    }
    let sources: Vec<PathBuf> = cases.iter().flat_map(|case| case.sources(is_after)).collect();
    let output = Command::new(home.join("bin/javac"))
        .args(["-nowarn", "-Xlint:none", "--release", "17", "-g", "-cp", libraries, "-d"])
        .arg(classes)
        .args(&sources)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn selected(project: &Path) -> BTreeSet<String> {
    let output = untether(project, &["select", "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tests = document["selected"].as_array().unwrap().iter();
    tests.map(|selected| selected["test"].as_str().unwrap().to_owned()).collect()
}

/// Runs all before the change, and says where what is selected after it is not what has to be.
fn check(home: &Path, cases: &[&Case], name: &str) -> Vec<String> {
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let project = fresh("selection", &format!("{name}-{}", feature_version(home)));
    let classes = project.join("classes");
    let class_path = format!("{}:{libraries}", classes.display());
    compile(home, &libraries, cases, false, &classes);
    let java = home.display().to_string();
    let detected = untether(&project, &["detect", "-q", "--java", &java, "--classpath", &class_path]);
    assert!(detected.status.success(), "{}{}", text(&detected.stdout), text(&detected.stderr));
    let ran = untether(&project, &["run", "-q"]);
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
    let unclear = selected(&project);
    assert!(unclear.is_empty(), "selected without a change: {unclear:?}");
    compile(home, &libraries, cases, true, &classes);
    let selected = selected(&project);
    let mut wrong = Vec::new();
    for case in cases {
        let prefix = format!("selection.{}.", case.name);
        let of_case: BTreeSet<&String> =
            selected.iter().filter(|test| test.starts_with(&prefix) && test.ends_with("Test")).collect();
        let expected = case.expected();
        let expected: BTreeSet<&String> = expected.iter().collect();
        let missed: Vec<_> = expected.difference(&of_case).collect();
        let needless: Vec<_> = of_case.difference(&expected).collect();
        if !missed.is_empty() || !needless.is_empty() {
            wrong.push(format!("{}: missed {missed:?}, needlessly selected {needless:?}", case.name));
        }
    }
    wrong
}

#[test]
fn what_a_change_can_affect_is_selected_and_nothing_else() {
    let cases = cases();
    let mut wrong = Vec::new();
    for home in jdks() {
        let together: Vec<&Case> = cases.iter().filter(|case| !case.is_alone()).collect();
        if !together.is_empty() {
            wrong.extend(check(&home, &together, "together"));
        }
        for case in cases.iter().filter(|case| case.is_alone()) {
            wrong.extend(check(&home, &[case], &case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
