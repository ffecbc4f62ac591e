//! Tests that are left out one by one, while others of their class run. Each case through real JVMs, and what ran is told by the
//! tests themselves.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use serde_json::Value;
use support::command;
use support::small::{SmallProject, Told, set};

/// Says that a test runs.
const NOTE: &str = r#"package lib;
    import java.nio.file.*;
    public class Note {
        public static void of(String test) {
            try {
                Files.write(Path.of(System.getenv("SMALL_NOTES"), "tests"), (test + "\n").getBytes(),
                    StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (java.io.IOException error) { throw new IllegalStateException(error); }
        }
    }"#;

/// `lib.X.get()` for each of the names.
fn library(values: &[(&str, usize)]) -> Vec<(String, String)> {
    let class = |(name, value): &(&str, usize)| {
        let text = format!("package lib; public class {name} {{ public static int get() {{ return {value}; }} }}");
        (format!("lib/{name}.java"), text)
    };
    values.iter().map(class).chain([("lib/Note.java".to_owned(), NOTE.to_owned())]).collect()
}

const TESTS: &[(&str, &str)] = &[
    (
        "UsersTest.java",
        r#"import org.junit.jupiter.api.*;
        import org.junit.jupiter.params.ParameterizedTest;
        import org.junit.jupiter.params.provider.ValueSource;
        class UsersTest {
            @BeforeAll static void begins() { lib.Fixture.get(); }
            @Test void usesA() { lib.Note.of("usesA"); lib.A.get(); }
            @Test void usesB() { lib.Note.of("usesB"); lib.B.get(); }
            @ParameterizedTest @ValueSource(ints = {1, 2}) void usesBTwice(int time) { lib.Note.of("usesBTwice"); lib.B.get(); }
            @Nested class Inner { @Test void usesA() { lib.Note.of("inner"); lib.A.get(); } }
        }"#,
    ),
    (
        "ChainTest.java",
        r#"import org.junit.jupiter.api.*;
        @TestMethodOrder(MethodOrderer.MethodName.class)
        class ChainTest {
            static int value;
            @Test void aPuts() { lib.Note.of("aPuts"); value = lib.Put.get(); }
            @Test void bGets() { lib.Note.of("bGets"); lib.Get.get(); Assertions.assertTrue(value > 0); }
            @Test void cUsesNothing() { lib.Note.of("cUsesNothing"); }
        }"#,
    ),
    ("OtherTest.java", r#"class OtherTest { @org.junit.jupiter.api.Test void passes() { lib.Note.of("passes"); } }"#),
];

const ROOTS: &[&str] = &["classes", "library"];
const ALL: &[&str] = &["usesA", "usesB", "usesBTwice", "inner", "aPuts", "bGets", "cUsesNothing", "passes"];
const VALUES: &[(&str, usize)] = &[("A", 1), ("B", 1), ("Fixture", 1), ("Put", 1), ("Get", 1)];

fn compile(project: &SmallProject, values: &[(&str, usize)], tests: &[(&str, &str)]) {
    let library = library(values);
    let library: Vec<(&str, &str)> = library.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    project.compile("library", &[], &library);
    project.compile("classes", &["library"], tests);
}

fn run(project: &SmallProject, command_name: &[&str]) -> Told {
    let mut run = command(&project.folder, command_name);
    run.arg("--").args(project.build(ROOTS, &[]));
    project.told_by(project.with_notes(run))
}

/// Runs what is selected now: exactly these tests.
fn must_run(project: &SmallProject, tests: &[&str], after: &str) -> Value {
    let told = run(project, &["run", "--granularity", "test", "--format", "json"]);
    assert_eq!(project.noted("tests"), set(tests), "after {after}: {} {}", told.document, told.said);
    told.document
}

fn project(name: &str) -> SmallProject {
    let project = SmallProject::new("selection-tests", name);
    compile(&project, VALUES, TESTS);
    project
}

/// Detected, so that it is known what tests leave for each other, and recorded.
fn recorded(name: &str) -> SmallProject {
    let project = project(name);
    assert_eq!(run(&project, &["detect", "-q"]).code, Some(0));
    must_run(&project, ALL, "nothing is known");
    must_run(&project, &[], "all is known");
    project
}

/// With another value in one of the library's classes.
fn with(changed: &str) -> Vec<(&str, usize)> {
    VALUES.iter().map(|&(name, value)| (name, if name == changed { 2 } else { value })).collect()
}

#[test]
fn only_the_tests_that_use_what_changed_are_run() {
    let project = recorded("uses");
    compile(&project, &with("A"), TESTS);
    let document = must_run(&project, &["usesA", "inner"], "a change of A");
    let selected: BTreeSet<&str> =
        document["selected"].as_array().unwrap().iter().map(|it| it["test"].as_str().unwrap()).collect();
    assert_eq!(selected, BTreeSet::from(["UsersTest#usesA", "UsersTest$Inner#usesA"]));
    must_run(&project, &[], "a run of them");
    compile(&project, &[("A", 2), ("B", 2), ("Fixture", 1), ("Put", 1), ("Get", 1)], TESTS);
    must_run(&project, &["usesB", "usesBTwice"], "a change of B");
    // Each state has been seen, though never all of it at once.
    compile(&project, &with("B"), TESTS);
    must_run(&project, &[], "a return to the first A");
}

#[test]
fn what_a_fixture_uses_counts_for_all_tests_of_its_class() {
    let project = recorded("fixture");
    compile(&project, &with("Fixture"), TESTS);
    must_run(&project, &["usesA", "usesB", "usesBTwice", "inner"], "a change of what the fixture uses");
}

#[test]
fn a_test_that_others_of_its_class_need_is_run_with_them() {
    let project = recorded("chain");
    compile(&project, &with("Get"), TESTS);
    must_run(&project, &["aPuts", "bGets"], "a change of what the second uses");
    compile(&project, &[("A", 1), ("B", 1), ("Fixture", 1), ("Put", 2), ("Get", 2)], TESTS);
    must_run(&project, &["aPuts", "bGets"], "a change of what the first uses");
}

#[test]
fn a_test_class_that_changes_is_run_as_a_whole_with_new_tests() {
    let project = recorded("changed");
    let mut tests = TESTS.to_vec();
    tests[2].1 = r#"class OtherTest { @org.junit.jupiter.api.Test void passes() { lib.Note.of("passes"); }
        @org.junit.jupiter.api.Test void isNew() { lib.Note.of("isNew"); } }"#;
    compile(&project, VALUES, &tests);
    must_run(&project, &["passes", "isNew"], "a new test");
}

#[test]
fn a_test_that_failed_is_run_again_and_its_neighbours_are_not() {
    let project = project("failed");
    let mut tests = TESTS.to_vec();
    tests[2].1 = r#"class OtherTest {
        @org.junit.jupiter.api.Test void passes() { lib.Note.of("passes"); }
        @org.junit.jupiter.api.Test void fails() { lib.Note.of("fails");
            if (java.nio.file.Files.exists(java.nio.file.Path.of("broken"))) throw new IllegalStateException(); } }"#;
    compile(&project, VALUES, &tests);
    std::fs::write(project.folder.join("broken"), "").unwrap();
    run(&project, &["detect", "-q"]);
    let all: Vec<&str> = ALL.iter().copied().chain(["fails"]).collect();
    must_run(&project, &all, "nothing is known");
    must_run(&project, &["fails"], "a failure");
    std::fs::remove_file(project.folder.join("broken")).unwrap();
    must_run(&project, &["fails"], "a failure that is mended");
    must_run(&project, &[], "it has passed");
}

#[test]
fn without_a_detection_classes_are_run_as_a_whole() {
    let project = project("undetected");
    must_run(&project, ALL, "nothing is known");
    compile(&project, &with("A"), TESTS);
    must_run(&project, &["usesA", "usesB", "usesBTwice", "inner"], "a change of A");
}

#[test]
fn without_a_build_tool_only_the_tests_that_are_selected_are_run() {
    let project = recorded("workers");
    compile(&project, &with("B"), TESTS);
    project.forget();
    let mut run = command(&project.folder, &["run", "--granularity", "test"]);
    run.env("SMALL_NOTES", project.folder.with_extension("notes"));
    let output = run.output().unwrap();
    assert!(output.status.success(), "{}", support::text(&output.stderr));
    assert_eq!(project.noted("tests"), set(&["usesB", "usesBTwice"]));
    let said = support::text(&output.stderr);
    assert!(
        said.contains("1 of 3 test classes selected") && said.contains("2 unaffected, and 2 tests of the others"),
        "{said}"
    );
}

/// Runs everything that is selected by class.
fn by_class(project: &SmallProject) -> BTreeSet<String> {
    run(project, &["run", "--format", "json"]);
    project.noted("tests")
}

#[test]
fn what_was_recorded_before_a_detection_says_nothing_of_single_tests() {
    let project = project("late");
    must_run(&project, ALL, "nothing is known");
    assert_eq!(run(&project, &["detect", "-q"]).code, Some(0));
    compile(&project, &with("Put"), TESTS);
    must_run(&project, &["aPuts", "bGets", "cUsesNothing"], "a change of what the first of a chain uses");
}

#[test]
fn a_class_that_no_detection_has_seen_as_it_is_is_run_as_a_whole() {
    let project = recorded("unseen");
    let mut tests = TESTS.to_vec();
    tests[1].1 = r#"import org.junit.jupiter.api.*;
        @TestMethodOrder(MethodOrderer.MethodName.class)
        class ChainTest {
            static int value;
            @Test void aPuts() { lib.Note.of("aPuts"); }
            @Test void bGets() { lib.Note.of("bGets"); lib.Get.get(); Assertions.assertEquals(0, value); }
            @Test void cUsesNothing() { lib.Note.of("cUsesNothing"); value = lib.Put.get(); }
        }"#;
    compile(&project, VALUES, &tests);
    let chain = ["aPuts", "bGets", "cUsesNothing"];
    must_run(&project, &chain, "a change of the class");
    compile(&project, &with("Get"), &tests);
    must_run(&project, &chain, "a change of what one of its tests uses");
}

#[test]
fn a_failure_that_is_seen_by_class_is_not_hidden_by_what_was_known_of_its_tests() {
    let project = project("hidden");
    let mut tests = TESTS.to_vec();
    tests[2].1 = r#"class OtherTest {
        @org.junit.jupiter.api.Test void passes() { lib.Note.of("passes"); lib.A.get(); }
        @org.junit.jupiter.api.Test void fails() { lib.Note.of("fails");
            // Not a file that is watched.
            if (System.currentTimeMillis() % 1 == 0 && new java.io.File("/proc/self/cwd/../hidden.broken").exists())
                throw new IllegalStateException(); } }"#;
    compile(&project, VALUES, &tests);
    assert_eq!(run(&project, &["detect", "-q"]).code, Some(0));
    let all: Vec<&str> = ALL.iter().copied().chain(["fails"]).collect();
    must_run(&project, &all, "nothing is known");
    // Whoever runs all of them sees it fail, by class.
    let broken = project.folder.with_extension("broken");
    std::fs::write(&broken, "").unwrap();
    let ran = run(&project, &["run", "--all", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.said);
    compile(&project, &with("A"), &tests);
    let told = run(&project, &["run", "--granularity", "test", "--format", "json"]);
    std::fs::remove_file(&broken).unwrap();
    assert!(project.noted("tests").contains("fails"), "{}", told.document);
    assert!(by_class(&project).contains("fails"));
}

#[test]
fn a_class_that_its_jvm_did_not_come_to_has_not_passed() {
    let project = project("ended");
    let mut tests = TESTS.to_vec();
    // It comes before the others, and ends the JVM when it is told to.
    tests.push((
        "AEndsTest.java",
        r#"class AEndsTest { @org.junit.jupiter.api.Test void ends() { lib.Note.of("ends"); if (lib.Fixture.get() == 2) Runtime.getRuntime().halt(7); } }"#,
    ));
    compile(&project, VALUES, &tests);
    assert_eq!(run(&project, &["detect", "-q"]).code, Some(0));
    let all: Vec<&str> = ALL.iter().copied().chain(["ends"]).collect();
    must_run(&project, &all, "nothing is known");
    let mut both = with("Fixture");
    both[0].1 = 2;
    compile(&project, &both, &tests);
    must_run(&project, &["ends"], "changes of what ends the JVM, and of A");
    both[2].1 = 1;
    compile(&project, &both, &tests);
    let told = run(&project, &["run", "--granularity", "test", "--format", "json"]);
    assert!(project.noted("tests").is_superset(&set(&["usesA", "inner"])), "{}", told.document);
}
