//! What a class changed is put back when it ends: of all dependencies that the fixtures of detection have, none is left
//! between classes, and the suites under `fixtures/isolate` come to the same as in a JVM for each class.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{class_path_of, compile, each, feature_version, fresh, java_files, jdks, repository, scratch, untether};
use untether_analysis::{dependencies, detect};
use untether_model::{DependencyKind, Trace, class_of, outermost};
use untether_project::Config;
use untether_runner::{Launcher, WatchRequest, Watching, WorkerRequest, watch, worker_command};
use untether_wire::Isolation;

fn folders(root: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository().join("fixtures").join(root)).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| support::is_wanted(&name_of(folder)));
    folders.sort();
    folders
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn compiled(home: &Path, folders: &[PathBuf], libraries: &str, name: &str) -> PathBuf {
    let classes = scratch(&format!("{name}-{}", feature_version(home)));
    let sources: Vec<PathBuf> = folders.iter().flat_map(|folder| java_files(folder)).collect();
    compile(home, libraries, &sources, &classes);
    classes
}

/// The test classes of a fixture, in order.
fn test_classes(folder: &Path, package: &str) -> Vec<String> {
    let stem = |file: PathBuf| file.file_stem().unwrap().to_string_lossy().into_owned();
    let mut names: Vec<String> =
        java_files(folder).into_iter().map(stem).filter(|name| name.ends_with("Test")).collect();
    names.sort();
    names.into_iter().map(|name| format!("{package}.{}.{name}", name_of(folder))).collect()
}

/// What was watched of the classes, which are isolated, in one JVM.
fn watched(home: &Path, class_path: &str, plan: Vec<String>, directory: &Path) -> Trace {
    let request = WorkerRequest {
        java: home.join("bin/java"),
        class_path: class_path.to_owned(),
        jvm_arguments: Vec::new(),
        plan,
        directory: directory.to_path_buf(),
    };
    let config = Config::load(directory).unwrap();
    let watched = watch(
        WatchRequest {
            launcher: Launcher::Jvm(worker_command(&request).unwrap()),
            config: &config,
            directory,
            timeout: None,
            captures_output: true,
            watching: Watching::ToCheckIsolation(Isolation::Class),
        },
        |_| {},
    );
    watched.unwrap().traces.into_iter().next().unwrap()
}

/// Dependencies between classes, unless the JVM said that it was not as before.
fn left_behind(folder: &Path, home: &Path, class_path: &str) -> Vec<String> {
    let name = name_of(folder);
    let directory = fresh("isolation-traces", &format!("{name}-{}", feature_version(home)));
    let trace = watched(home, class_path, test_classes(folder, "fixture"), &directory);
    let detection = detect(&trace);
    let replaced: BTreeSet<&str> = trace.not_restored.iter().map(|one| outermost(&one.class)).collect();
    let class = |unit: u32| outermost(class_of(&detection.unit(unit).name));
    dependencies(&detection, &[DependencyKind::Data], |_| true, |_| true)
        .iter()
        .filter(|found| class(found.from) != class(found.to) && !replaced.contains(class(found.from)))
        .map(|found| {
            let (from, to) = (&detection.unit(found.from).name, &detection.unit(found.to).name);
            format!("{name}: {to} still reads what {from} left in {}", detection.resource(found.resource).name)
        })
        .collect()
}

fn check_fixtures_of_detection(home: &Path) {
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let folders: Vec<PathBuf> = ["jupiter", "junit4", "junit3"].into_iter().flat_map(folders).collect();
    let classes = compiled(home, &folders, &libraries, "isolation-classes");
    let class_path = format!("{}:{libraries}", classes.display());
    let says = |folder: &PathBuf, text: &str| {
        java_files(folder).iter().any(|file| std::fs::read_to_string(file).unwrap().contains(text))
    };
    let dependent = folders.into_iter().filter(|folder| says(folder, "// expect: data")).collect();
    each(dependent, |folder| left_behind(&folder, home, &class_path));
}

#[test]
fn no_dependency_between_classes_is_left_on_the_oldest_jdk() {
    check_fixtures_of_detection(jdks().first().unwrap());
}

#[test]
fn no_dependency_between_classes_is_left_on_the_newest_jdk() {
    if let [_, .., newest] = jdks().as_slice() {
        check_fixtures_of_detection(newest);
    }
}

/// What the sources of a fixture say of isolation.
#[derive(Default)]
struct Expected {
    needed: BTreeSet<String>,
    replaced: BTreeSet<String>,
    is_restored: bool,
}

fn expected(folder: &Path) -> Expected {
    let mut expected = Expected::default();
    let full = |name: &str| format!("isolate.{}.{}", name_of(folder), name.trim());
    for file in java_files(folder) {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let Some((_, text)) = line.split_once("// isolate: ") else { continue };
            if let Some(test) = text.strip_prefix("needed ") {
                expected.needed.insert(full(test));
            } else if let Some(class) = text.strip_prefix("replaced after ") {
                expected.replaced.insert(full(class));
            } else {
                assert_eq!(text.trim(), "restored", "{}", folder.display());
                expected.is_restored = true;
            }
        }
    }
    expected
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = untether(directory, arguments);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Without isolation the tests fail that say so; with it all pass, as in JVMs of their own, which it takes only where said.
fn rule(folder: &Path, home: &Path, class_path: &str) -> Vec<String> {
    let name = name_of(folder);
    let expected = expected(folder);
    let directory = fresh("isolation-rules", &format!("{name}-{}", feature_version(home)));
    let (java, include) = (home.display().to_string(), format!("isolate.{name}.*Test"));
    untether(&directory, &["detect", "--quiet", "--classpath", class_path, "--java", &java, "--include", &include]);
    let mut wrong = Vec::new();
    let plain = json(&directory, &["deps", "--format", "json"]);
    let failed: BTreeSet<String> = plain["tests"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|test| test["outcome"] == "failed")
        .map(|test| text(&test["id"]))
        .collect();
    if failed != expected.needed || expected.needed.is_empty() {
        wrong.push(format!("{name}: without isolation {failed:?} failed, not {:?}", expected.needed));
    }
    let isolated = json(&directory, &["run", "--isolate", "--check", "--jobs", "1", "--format", "json", "--quiet"]);
    let mut replaced = BTreeSet::new();
    for class in isolated["classes"].as_array().unwrap() {
        if class["left_behind"].is_string() {
            replaced.insert(text(&class["class"]));
        }
        for test in class["tests"].as_array().unwrap() {
            if test["outcome"] != "passed" {
                wrong.push(format!("{name}: {} {}: {}", test["id"], test["outcome"], test["message"]));
            }
        }
    }
    if replaced != expected.replaced || expected.is_restored != expected.replaced.is_empty() {
        wrong.push(format!("{name}: the JVM was replaced after {replaced:?}, not {:?}: {isolated}", expected.replaced));
    }
    if isolated["check"]["differences"] != serde_json::json!([]) {
        wrong.push(format!("{name}: {}", isolated["check"]["differences"]));
    }
    wrong
}

/// Its second test finds what the first one did, unless tests are isolated.
const COUNTS: &[(&str, &str)] = &[(
    "CountsTest.java",
    "import org.junit.jupiter.api.*; @TestMethodOrder(MethodOrderer.MethodName.class) class CountsTest {
        static int count;
        @BeforeAll static void begin() { count = 10; }
        @Test void aCounts() { count++; }
        @Test void bFindsItAsTheFixtureLeftIt() { Assertions.assertEquals(10, count); }
        @Nested class Inner {
            @Test void findsItSoToo() { Assertions.assertEquals(10, count++); }
            @Test void findsItSoAgain() { Assertions.assertEquals(10, count++); }
        }
    }",
)];

#[test]
fn tests_are_isolated_from_each_other_where_that_is_asked_for() {
    let folder = fresh("isolation-rules", "counts");
    let class_path = support::class_path_with(&folder, COUNTS);
    untether(&folder, &["detect", "--quiet", "--classpath", &class_path]);
    let failed = |isolation: &str| {
        let document = json(&folder, &["run", isolation, "--check", "--jobs", "1", "--format", "json"]);
        let differences = document["check"]["differences"].as_array().unwrap().len();
        let classes = document["classes"].as_array().unwrap().iter();
        let tests = classes.flat_map(|class| class["tests"].as_array().unwrap().iter());
        (tests.filter(|test| test["outcome"] != "passed").count(), differences)
    };
    // In a JVM of their class's own they are not isolated either.
    assert_eq!(failed("--isolate=class"), (3, 0));
    assert_eq!(failed("--isolate=test"), (0, 3));
}

fn check_rules(home: &Path) {
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let folders = folders("isolate");
    if folders.is_empty() && std::env::var_os("UNTETHER_FIXTURES").is_some() {
        return;
    }
    let classes = compiled(home, &folders, &libraries, "isolation-rule-classes");
    let class_path = format!("{}:{libraries}", classes.display());
    each(folders, |folder| rule(&folder, home, &class_path));
}

#[test]
fn isolated_classes_come_to_what_they_come_to_alone_on_the_oldest_jdk() {
    check_rules(jdks().first().unwrap());
}

#[test]
fn isolated_classes_come_to_what_they_come_to_alone_on_the_newest_jdk() {
    if let [_, .., newest] = jdks().as_slice() {
        check_rules(newest);
    }
}
