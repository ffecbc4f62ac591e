//! Every suite under `fixtures/` is watched on every JDK, and what is found is compared with what its
//! source says beside the line that causes it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use support::expectations::{self, Evidence, Fixture, complaints, in_groups};
use support::{class_path_of, compile, feature_version, java_files, jdks, repository, scratch, untether};

const ROOTS: [&str; 3] = ["jupiter", "junit4", "junit3"];

fn fixtures() -> Vec<Fixture> {
    expectations::fixtures(&ROOTS, "fixture")
}

/// What is wrong with the results of fixtures that ran in one JVM: each has what it says, and none has to do with another.
fn check(group: &[&Fixture], home: &Path, class_path: &str, way: &str) -> Vec<String> {
    let name = &group.first().unwrap().name;
    let run = scratch("fixtures").join(format!("{name}-{way}-{}", feature_version(home)));
    let _ = std::fs::remove_dir_all(&run);
    std::fs::create_dir_all(&run).unwrap();
    let java = home.display().to_string();
    let includes: Vec<String> = group.iter().map(|fixture| fixture.include()).collect();
    let mut arguments = vec!["detect", "--classpath", class_path, "--java", &java];
    arguments.extend(includes.iter().flat_map(|include| ["--include", include]));
    let output = untether(&run, &arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return vec![format!("{name} and the {} after it: {}: {messages}", group.len() - 1, output.status)];
    }
    complaints(group, &run, &messages, Evidence::Stacks)
}

/// Checks fixtures in the ways that `ways_of` gives them: a name, and the libraries to run with.
fn check_each(home: &Path, fixtures: Vec<Fixture>, ways_of: impl Fn(&Fixture) -> Vec<(&'static str, String)> + Sync) {
    assert!(!fixtures.is_empty() || std::env::var_os("UNTETHER_FIXTURES").is_some());
    let everything = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = scratch(&format!("fixture-classes-{}", feature_version(home)));
    static COMPILED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    {
        let mut compiled = COMPILED.lock().unwrap();
        if compiled.insert(classes.clone()) {
            let sources: Vec<PathBuf> =
                ROOTS.iter().flat_map(|root| java_files(&repository().join("fixtures").join(root))).collect();
            compile(home, &everything, &sources, &classes);
        }
    }
    let queue = Mutex::new(in_groups(fixtures));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(group) = queue.lock().unwrap().pop() else { return };
                    let mut ways: BTreeMap<(&'static str, String), Vec<&Fixture>> = BTreeMap::new();
                    for fixture in &group {
                        ways_of(fixture).into_iter().for_each(|way| ways.entry(way).or_default().push(fixture));
                    }
                    for ((way, libraries), fixtures) in ways {
                        let class_path = format!("{}:{libraries}", classes.display());
                        let wrong = check(&fixtures, home, &class_path, way);
                        failures.lock().unwrap().extend(wrong.into_iter().map(|text| format!("({way}) {text}")));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "on {}:\n{}", home.display(), failures.join("\n"));
}

fn is_jupiter(fixture: &Fixture) -> bool {
    fixture.folder.parent().unwrap().ends_with("jupiter")
}

fn check_all(home: &Path) {
    let everything = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    // JUnit 4 and 3 are found through the Platform (Vintage) and without it.
    let without_platform: Vec<&str> =
        everything.split(':').filter(|jar| jar.contains("/junit/junit/") || jar.contains("hamcrest")).collect();
    let without_platform = without_platform.join(":");
    check_each(home, fixtures(), |fixture| {
        let mut ways = vec![("platform", everything.clone())];
        if !is_jupiter(fixture) {
            ways.push(("plain", without_platform.clone()));
        }
        ways
    });
}

#[test]
fn every_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_oldest_jdk() {
    check_all(jdks().first().unwrap());
}

#[test]
fn every_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_newest_jdk() {
    let jdks = jdks();
    if jdks.len() > 1 {
        check_all(jdks.last().unwrap());
    }
}

#[test]
fn every_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_jdks_between() {
    let jdks = jdks();
    for home in jdks.iter().skip(1).take(jdks.len().saturating_sub(2)) {
        check_all(home);
    }
}

/// One for each kind of Jupiter test and fixture.
const KINDS_OF_JUPITER: &[&str] = &[
    "after_all_read_by_other",
    "before_all_reads",
    "before_each_leaks",
    "dynamic_tests",
    "extension_callbacks",
    "inherited_before_all",
    "nested_reset",
    "nested_tests",
    "parameterized",
    "per_class_instance",
    "per_class_reset",
    "per_method_instance",
    "repeated",
    "restored_after_all",
    "static_primitive",
    "test_constructor",
];

#[test]
fn junit_6_is_followed_like_junit_5() {
    let libraries = class_path_of(&repository().join("fixtures/versions/junit6.xml"), "junit6");
    let mut some = fixtures();
    some.retain(|fixture| KINDS_OF_JUPITER.contains(&fixture.name.as_str()) || fixture.name == "junit4_before_class");
    check_each(jdks().first().unwrap(), some, |_| vec![("junit-6", libraries.clone())]);
}

#[test]
fn junit_4_10_is_followed_like_later_ones() {
    let libraries = class_path_of(&repository().join("fixtures/versions/junit410.xml"), "junit410");
    let mut some = fixtures();
    // These need what came with 4.11: an order of methods, and parameters that are no arrays.
    let newer = ["junit4_same_class", "junit4_parameterized"];
    some.retain(|fixture| !is_jupiter(fixture) && !newer.contains(&fixture.name.as_str()));
    check_each(jdks().first().unwrap(), some, |_| vec![("junit-4.10", libraries.clone())]);
}

#[test]
fn junit_3_8_is_followed_where_no_later_one_is() {
    let libraries = class_path_of(&repository().join("fixtures/versions/junit38.xml"), "junit38");
    let mut some = fixtures();
    some.retain(|fixture| fixture.name.starts_with("junit3_"));
    check_each(jdks().first().unwrap(), some, |_| vec![("junit-3.8", libraries.clone())]);
}
