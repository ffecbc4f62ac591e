//! What the user sees when something is wrong: a message that says what to do, an exit code of 2 or 3, and
//! nothing lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};

use support::{class_path_of, compile, java_files, jdks, repository, scratch, untether};

fn folder(name: &str) -> PathBuf {
    let path = scratch("bad-input").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Runs in `directory` and checks the exit code and a part of the message.
fn fails(directory: &Path, arguments: &[&str], code: i32, message: &str) {
    let output = untether(directory, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(text.contains(message), "{arguments:?}: '{message}' is not in: {text}");
}

/// A class path with one small suite.
fn suite() -> String {
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = scratch("bad-input-classes");
    let sources = java_files(&repository().join("fixtures/jupiter/static_primitive"));
    if !classes.join("fixture").exists() {
        compile(jdks().first().unwrap(), &libraries, &sources, &classes);
    }
    format!("{}:{libraries}", classes.display())
}

#[test]
fn wrong_input_is_named_and_nothing_stored_is_lost() {
    let directory = folder("sequence");
    fails(&directory, &["deps"], 2, "run 'untether detect' first");
    let class_path = suite();
    let detected = untether(&directory, &["detect", "--classpath", &class_path]);
    assert!(detected.status.success(), "{}", String::from_utf8_lossy(&detected.stderr));
    let before = untether(&directory, &["deps", "--format", "json"]).stdout;

    fails(&directory, &["detect", "--classpath", "/no/such/place"], 2, "does not exist");
    fails(&directory, &["detect", "--classpath", &class_path, "--include", "Nothing*"], 2, "no test class found");
    fails(&directory, &["detect", "--classpath", &class_path, "--order", "missing.txt"], 2, "missing.txt");
    fails(&directory, &["detect", "--classpath", &class_path, "--java", "/no/jdk"], 2, "no JDK found");
    fails(&directory, &["detect", "--", "no-such-build-tool"], 2, "no-such-build-tool");
    fails(&directory, &["detect", "--", "true"], 0, "no test was seen");
    fails(&directory, &["detect", "--", "sh", "-c", "exit 7"], 7, "exit code 7 and no test was seen");
    fails(&directory, &["detect"], 2, "untether detect -- mvn test");
    fails(&directory, &["why", "--format", "dot", "AWritesTest", "BReadsTest"], 2, "possible values: table, json");
    fails(&directory, &["refine", "--budget", "10x"], 2, "90s, 10m or 2h");
    fails(&directory, &["deps", "--test", "NoSuchTest"], 2, "no test or class named 'NoSuchTest'");
    fails(&directory, &["deps", "--test", "BReadTest"], 2, "no test or class");
    fails(&directory, &["why", "AWritesTest#writesInt", "Nobody"], 2, "Nobody");
    std::fs::write(directory.join("empty.txt"), "\n").unwrap();
    fails(&directory, &["detect", "--classpath", &class_path, "--order", "empty.txt"], 2, "names no test");
    std::fs::write(directory.join("odd.txt"), "two words\n").unwrap();
    fails(&directory, &["detect", "--classpath", &class_path, "--order", "odd.txt"], 2, "two words");
    std::fs::write(directory.join("untether.toml"), "[detect]\nignroe = []\n").unwrap();
    fails(&directory, &["detect", "--classpath", &class_path], 2, "ignroe");
    std::fs::remove_file(directory.join("untether.toml")).unwrap();

    assert_eq!(untether(&directory, &["deps", "--format", "json"]).stdout, before);
    let leftovers = std::fs::read_dir(directory.join(".untether")).unwrap().flatten();
    let runs = leftovers.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-")).count();
    assert_eq!(runs, 0, "failed runs leave no folders behind");
}

#[test]
fn a_run_without_tests_or_without_a_way_to_run_them_says_so() {
    let directory = folder("run");
    fails(&directory, &["run"], 2, "run 'untether run -- mvn test' first");
    fails(&directory, &["run", "--isolate"], 2, "run 'untether detect' first");
    fails(&directory, &["run", "--isolate", "mvn", "test"], 2, "comes after '--': untether run --isolate -- mvn test");
    fails(&directory, &["run", "--isolate=module", "--", "true"], 2, "[possible values: class, test]");
    fails(&directory, &["run", "--isolate", "--", "no-such-program"], 2, "is it installed");
    fails(&directory, &["run", "--isolate", "--", "true"], 0, "no test was seen");
    fails(&directory, &["run", "--isolate", "--", "false"], 1, "no test was seen");
    assert!(!directory.join(".untether").exists(), "there is nothing to store");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let directory = folder("newer");
    assert!(untether(&directory, &["detect", "--classpath", &suite()]).status.success());
    let store = directory.join(".untether/store.sqlite");
    let connection = rusqlite::Connection::open(&store).unwrap();
    connection.pragma_update(None, "user_version", 9999).unwrap();
    drop(connection);
    fails(&directory, &["deps"], 2, "newer untether");
    fails(&directory, &["detect", "--classpath", &suite()], 2, "newer untether");
}

#[test]
fn a_jvm_that_dies_in_a_test_is_reported_and_its_tests_are_kept() {
    let directory = folder("dies");
    let source = directory.join("DiesTest.java");
    std::fs::write(
        &source,
        "import org.junit.jupiter.api.*;
         @TestMethodOrder(MethodOrderer.MethodName.class)
         class DiesTest {
             @Test void a() {}
             @Test void b() { Runtime.getRuntime().halt(7); }
         }",
    )
    .unwrap();
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = directory.join("classes");
    compile(jdks().first().unwrap(), &libraries, &[source], &classes);
    let class_path = format!("{}:{libraries}", classes.display());
    let output = untether(&directory, &["detect", "--classpath", &class_path]);
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the JVM ended during DiesTest#b"));
    let deps = untether(&directory, &["deps", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&deps.stdout).unwrap();
    let tests = document["tests"].as_array().unwrap();
    assert_eq!((tests.len(), &tests[0]["outcome"], &tests[1]["outcome"]), (2, &"passed".into(), &"aborted".into()));
}

#[test]
fn tests_that_hang_are_ended_and_what_they_did_is_kept() {
    let directory = folder("hangs");
    let source = directory.join("HangsTest.java");
    std::fs::write(
        &source,
        "import org.junit.jupiter.api.*;
         @TestMethodOrder(MethodOrderer.MethodName.class)
         class HangsTest {
             @Test void a() {}
             @Test void b() throws Exception { new java.util.concurrent.CountDownLatch(1).await(); }
         }",
    )
    .unwrap();
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = directory.join("classes");
    compile(jdks().first().unwrap(), &libraries, &[source], &classes);
    // A folder that a killed run left behind goes away with the next run.
    std::fs::create_dir_all(directory.join(".untether/run-999999999-1")).unwrap();
    let class_path = format!("{}:{libraries}", classes.display());
    // Long enough for a JVM to come to the second test, however busy the machine is.
    let (limit, outcomes) = (3..12)
        .map(|power| 1u32 << power)
        .find_map(|limit| {
            let arguments = ["detect", "--timeout", &limit.to_string(), "--classpath", &class_path];
            let output = untether(&directory, &arguments);
            assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
            let deps = untether(&directory, &["deps", "--format", "json"]);
            let document: serde_json::Value = serde_json::from_slice(&deps.stdout).ok()?;
            let outcomes: Vec<String> =
                document["tests"].as_array()?.iter().map(|test| test["outcome"].to_string()).collect();
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            (outcomes.len() == 2).then(|| {
                assert!(message.contains(&format!("did not end within {limit} s")), "{message}");
                (limit, outcomes)
            })
        })
        .unwrap();
    assert_eq!(outcomes, ["\"passed\"", "\"aborted\""], "within {limit} s");
    assert!(!directory.join(".untether/run-999999999-1").exists());
}

#[test]
fn two_runs_at_once_share_a_store() {
    let directory = folder("two-at-once");
    let class_path = suite();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(untether(&directory, &["detect", "--classpath", &class_path]).status.success()));
        }
    });
    let connection = rusqlite::Connection::open(directory.join(".untether/store.sqlite")).unwrap();
    let runs: i64 = connection.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(runs, 2);
}
