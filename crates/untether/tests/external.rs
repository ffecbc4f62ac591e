//! Every suite under `fixtures/external` (tests that meet outside the heap) is watched on every JDK, those under
//! `fixtures/external_refine` are refined as well, and what is found is compared with what their sources say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use support::expectations::{Evidence, Fixture, complaints, fixtures, in_groups};
use support::{
    class_path_of, command, compile, each, feature_version, fresh, java_files, jdks, manifests, repository, scratch,
};

fn libraries() -> String {
    class_path_of(&repository().join("fixtures/external/pom.xml"), "external")
}

/// Classes of the fixtures in a folder below `fixtures/`. It is asked for once per JDK, by one test.
fn compiled(home: &Path, root: &str) -> PathBuf {
    let classes = scratch(&format!("{root}-classes-{}", feature_version(home)));
    compile(home, &libraries(), &java_files(&repository().join("fixtures").join(root)), &classes);
    classes
}

/// Held while a fixture runs that needs what the machine has one of, such as a port.
fn machine(group: &[&Fixture]) -> Option<MutexGuard<'static, ()>> {
    static MACHINE: Mutex<()> = Mutex::new(());
    let is_needed = group.iter().any(|fixture| fixture.needs_machine());
    is_needed.then(|| MACHINE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A fresh working directory in which fixtures were watched, and what the program said. The folders that the fixtures use
/// are there before the JVM is: who makes them is no part of what is tested.
fn watched(group: &[&Fixture], home: &Path, classes: &Path) -> Result<(PathBuf, String), String> {
    let first = group.first().unwrap();
    let run = fresh(first.package, &format!("{}-{}", first.name, feature_version(home)));
    for fixture in group {
        std::fs::create_dir_all(run.join("target").join(fixture.package).join(&fixture.name)).unwrap();
    }
    let class_path = format!("{}:{}", classes.display(), libraries());
    let java = home.display().to_string();
    let includes: Vec<String> = group.iter().map(|fixture| fixture.include()).collect();
    let mut arguments = vec!["detect", "--classpath", &class_path, "--java", &java];
    arguments.extend(includes.iter().flat_map(|include| ["--include", include]));
    // Java can only say names that the locale can.
    let output = command(&run, &arguments).env("LC_ALL", "C.UTF-8").output().unwrap();
    let messages = support::text(&output.stderr);
    if output.status.success() {
        return Ok((run, messages));
    }
    Err(format!("{} and the {} after it: {}: {messages}", first.name, group.len() - 1, output.status))
}

fn check_all(home: &Path) {
    let classes = compiled(home, "external");
    each(in_groups(fixtures(&["external"], "external")), |group| {
        let group: Vec<&Fixture> = group.iter().collect();
        let _machine = machine(&group);
        let wrong = match watched(&group, home, &classes) {
            Ok((run, messages)) => complaints(&group, &run, &messages, Evidence::Nothing),
            Err(message) => vec![message],
        };
        wrong.into_iter().map(|text| format!("(JDK {}) {text}", feature_version(home))).collect()
    });
}

#[test]
fn every_external_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_oldest_jdk() {
    check_all(jdks().first().unwrap());
}

#[test]
fn every_external_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_newest_jdk() {
    let jdks = jdks();
    if jdks.len() > 1 {
        check_all(jdks.last().unwrap());
    }
}

#[test]
fn every_external_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_jdks_between() {
    let jdks = jdks();
    for home in jdks.iter().skip(1).take(jdks.len().saturating_sub(2)) {
        check_all(home);
    }
}

#[test]
fn every_external_fixture_has_exactly_the_manifest_dependencies_that_its_source_says() {
    let home = jdks().into_iter().next().unwrap();
    let classes = compiled(&home, "external_refine");
    each(fixtures(&["external_refine"], "external_refine"), |fixture| {
        let name = &fixture.name;
        let _machine = machine(&[&fixture]);
        let run = match watched(&[&fixture], &home, &classes) {
            Ok((run, _)) => run,
            Err(message) => return vec![message],
        };
        let arguments = ["refine", "--format", "json", "--quiet", "--fresh", "--jobs", "1", "--test-timeout", "10m"];
        let document = manifests::json(&run, &arguments);
        let expected = manifests::expected(&fixture.folder, fixture.package);
        let mut wrong = manifests::differences(&expected, &document);
        if document["is_complete"] != true {
            wrong.push("is not complete".to_owned());
        }
        wrong.into_iter().map(|text| format!("{name}: {text}")).collect()
    });
}
