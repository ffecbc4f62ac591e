//! Suites that no `class#method` names, watched and refined: engines of the JUnit Platform under `fixtures/engines`, JVMs
//! that were started from argument files, and what is said of suites that cannot be run like that.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use support::{class_path_of, compile, java_files, jdks, repository, scratch, untether};

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = untether(directory, arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", errors(&output)))
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn fresh(name: &str) -> PathBuf {
    let folder = scratch("engines").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The class path of the engine's suite, compiled, with files that are no classes.
fn suite(engine: &str, folder: &Path) -> String {
    let home = jdks().into_iter().next().unwrap();
    let libraries = class_path_of(&repository().join("fixtures/engines/pom.xml"), "engines");
    let source = repository().join("fixtures/engines").join(engine);
    let classes = folder.join("classes");
    compile(&home, &libraries, &java_files(&source), &classes);
    let package = Path::new("engines").join(engine);
    for entry in std::fs::read_dir(source.join(&package)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "feature") {
            std::fs::copy(&path, classes.join(&package).join(path.file_name().unwrap())).unwrap();
        }
    }
    format!("{}:{libraries}", classes.display())
}

fn detect(folder: &Path, class_path: &str) {
    let output = untether(folder, &["detect", "--quiet", "--classpath", class_path]);
    assert!(folder.join(".untether").exists(), "{}", errors(&output));
}

/// The tests that were watched, in their order, and the findings as 'role test other'.
fn watched_and_refined(engine: &str) -> (Vec<String>, Vec<String>) {
    let folder = fresh(engine);
    detect(&folder, &suite(engine, &folder));
    let watched = json(&folder, &["deps", "--format", "json"]);
    let tests = watched["tests"].as_array().unwrap().iter().map(|test| test["id"].as_str().unwrap().to_owned());
    let refined = json(&folder, &["refine", "--quiet", "--format", "json"]);
    for key in ["nondeterministic", "unconfirmed", "differing", "failing"] {
        assert_eq!(refined[key], serde_json::json!([]), "{engine} {key}: a worker names and runs what was watched");
    }
    assert_eq!(refined["unrunnable"], serde_json::json!({}), "{engine}");
    let findings = refined["manifest"].as_array().unwrap().iter().map(|finding| {
        let others = if finding["role"] == "brittle" { &finding["setters"] } else { &finding["polluters"] };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        format!("{} {} after {}", text(&finding["role"]), text(&finding["test"]), text(&others[0]))
    });
    (tests.collect(), findings.collect())
}

#[test]
fn properties_of_jqwik_are_tests() {
    let (tests, findings) = watched_and_refined("jqwik");
    let package = "engines.jqwik.";
    for test in ["AFillsTest#fills", "AFillsTest$Inner#isGrouped", "BNeedsTest#needs"] {
        assert!(tests.contains(&format!("{package}{test}")), "{tests:?}");
    }
    assert_eq!(findings, [format!("brittle {package}BNeedsTest#needs after {package}AFillsTest#fills")]);
}

#[test]
fn rules_of_archunit_are_tests() {
    let (tests, findings) = watched_and_refined("archunit");
    let class = "engines.archunit.RulesTest";
    assert_eq!(tests, ["registryIsOpen", "MoreRules > isTakenIn", "freezes"].map(|rule| format!("{class}#{rule}")));
    // The engine runs fields first; workers can turn that round.
    assert_eq!(findings, [format!("victim {class}#registryIsOpen after {class}#freezes")]);
}

#[test]
fn scenarios_of_cucumber_are_tests() {
    let (tests, findings) = watched_and_refined("cucumber");
    let cart = "engines/cucumber/cart.feature";
    let mut expected: Vec<String> = [
        "An item is put in",
        "An item is still there",
        "Nothing happens at <place> (twice) > Examples > Example #1.1",
        "Nothing happens at <place> (twice) > Examples > Example #1.2",
        "Names may be used again > The same name (19)",
        "Names may be used again > The same name (22)",
    ]
    .map(|scenario| format!("{cart}#{scenario}"))
    .to_vec();
    expected.push("engines/cucumber/empty.feature#Nothing # here".to_owned());
    assert_eq!(tests, expected);
    assert_eq!(findings, [format!("brittle {cart}#An item is still there after {cart}#An item is put in")]);
}

#[test]
fn a_test_that_an_engine_does_not_find_again_is_named_with_the_reason() {
    let folder = fresh("gone");
    detect(&folder, &suite("cucumber", &folder));
    let feature = folder.join("classes/engines/cucumber/empty.feature");
    let text = std::fs::read_to_string(&feature).unwrap();
    // The scenario moves to another line, and with it the only name that the engine knows it by.
    std::fs::write(&feature, format!("\n\n{text}")).unwrap();
    let output = untether(&folder, &["refine"]);
    let said = "1 test could not be run in every order (its engine does not find it by itself): \
                engines/cucumber/empty.feature#Nothing # here";
    assert!(errors(&output).contains(said), "{}", errors(&output));
    let doctor = String::from_utf8_lossy(&untether(&folder, &["doctor"]).stdout).into_owned();
    assert!(doctor.contains("does not find it by itself") && doctor.contains("Nothing # here"), "{doctor}");
}

/// Like Gradle: the class path comes in a file that is gone when the JVM has ended, and the build tool's own classes are
/// in the JVM.
#[test]
fn what_was_started_from_an_argument_file_can_be_started_again() {
    let folder = fresh("argument file");
    let home = jdks().into_iter().next().unwrap();
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = folder.join("test classes");
    compile(&home, &libraries, &java_files(&repository().join("fixtures/refine/junit4_methods")), &classes);
    let options = format!("# options\n-ea -Dgreeting='good day'\n-cp \"{}:\\\n  {libraries}\"\n", classes.display());
    std::fs::write(folder.join("kept"), options).unwrap();
    let test_class = "refine.junit4_methods.OrderTest";
    assert!(classes.join(test_class.replace('.', "/")).with_extension("class").exists());
    let script = format!(
        "cp kept options && '{}/bin/java' @options org.junit.runner.JUnitCore {test_class}; rm options",
        home.display()
    );
    let output = untether(&folder, &["detect", "--quiet", "--", "sh", "-c", &script]);
    assert!(folder.join(".untether").exists(), "{}", errors(&output));
    let refined = json(&folder, &["refine", "--quiet", "--format", "json"]);
    assert!(!refined["manifest"].as_array().unwrap().is_empty(), "{refined}");
    assert_eq!(refined["differing"], serde_json::json!([]));
}

/// A folder with a pom of one dependency, and its class path.
fn library(name: &str, group: &str, artifact: &str, version: &str) -> (PathBuf, String) {
    let folder = scratch("engines").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let pom = folder.join("pom.xml");
    let text = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>dev.untether</groupId><artifactId>{name}</artifactId>\
         <version>1</version><packaging>pom</packaging><dependencies><dependency><groupId>{group}</groupId>\
         <artifactId>{artifact}</artifactId><version>{version}</version></dependency></dependencies></project>"
    );
    if std::fs::read_to_string(&pom).ok().as_deref() != Some(&text) {
        std::fs::write(&pom, text).unwrap();
    }
    let class_path = class_path_of(&pom, name);
    (fresh(&format!("{name}-run")), class_path)
}

/// Compiles one class and gives the class path to run it with.
fn compiled(folder: &Path, libraries: &str, name: &str, source: &str) -> String {
    let file = folder.join(format!("{name}.java"));
    std::fs::write(&file, source).unwrap();
    let classes = folder.join("classes");
    compile(&jdks()[0], libraries, &[file], &classes);
    format!("{}:{libraries}", classes.display())
}

#[test]
fn an_order_that_follows_reflection_is_said_to_be_no_order() {
    let (folder, libraries) = library("junit-4-10", "junit", "junit", "4.10");
    let source = "public class OldTest { @org.junit.Test public void one() {} @org.junit.Test public void two() {} }";
    let class_path = compiled(&folder, &libraries, "OldTest", source);
    let output = untether(&folder, &["detect", "--classpath", &class_path]);
    assert!(
        errors(&output).contains("JUnit before 4.11 runs the methods of a class in the order of reflection"),
        "{}",
        errors(&output)
    );
    let doctor = String::from_utf8_lossy(&untether(&folder, &["doctor"]).stdout).into_owned();
    assert!(doctor.contains("order of reflection"), "{doctor}");
}

#[test]
fn tests_of_testng_are_named_as_such() {
    let (folder, libraries) = library("testng-7", "org.testng", "testng", "7.10.2");
    let source = "public class OtherTest { @org.testng.annotations.Test public void one() {} }";
    let class_path = compiled(&folder, &libraries, "OtherTest", source);
    let direct = untether(&folder, &["detect", "--classpath", &class_path]);
    let java = jdks()[0].join("bin/java").display().to_string();
    let through =
        untether(&folder, &["detect", "--", &java, "-cp", &class_path, "org.testng.TestNG", "-testclass", "OtherTest"]);
    for output in [direct, through] {
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        assert!(errors(&output).contains("TestNG"), "{}", errors(&output));
    }
    assert_eq!(untether(&folder, &["refine"]).status.code(), Some(2));
}

#[test]
fn a_project_on_the_module_path_can_be_refined() {
    let project = scratch("engines").join("modular");
    let _ = std::fs::remove_dir_all(&project);
    let source = repository().join("examples/modular");
    assert!(Command::new("cp").arg("-r").arg(source).arg(&project).status().unwrap().success());
    let output = untether(&project, &["detect", "--quiet", "--", "mvn", "-q", "-B", "test"]);
    assert!(output.status.success(), "{}", errors(&output));
    let refined = json(&project, &["refine", "--quiet", "--format", "json"]);
    let finding = &refined["manifest"][0];
    assert_eq!(finding["test"], "till.BSellsTest#sellsFromTheOpenTill", "{refined}");
    assert_eq!(finding["setters"], serde_json::json!(["till.AOpensTest#opensTheTill"]));
    assert_eq!(refined["failing"], serde_json::json!([]));
}
