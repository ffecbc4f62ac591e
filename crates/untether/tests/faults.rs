//! What goes wrong around the agent is said, and costs no test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{class_path_with, command, fresh, jdks, text, untether};

#[test]
fn an_agent_that_cannot_start_leaves_the_jvm_alone_and_says_so() {
    let folder = fresh("faults", "unwatched");
    let source = "public class Main { public static void main(String[] a) { System.out.println(\"has run\"); } }";
    let class_path = class_path_with(&folder, &[("Main.java", source)]);
    let java = jdks().first().unwrap().join("bin/java").display().to_string();
    let script = format!("echo of another version > \"$UNTETHER_OPTIONS\"; exec {java} -cp {class_path} Main");
    let output = untether(&folder, &["detect", "--", "sh", "-c", &script]);
    assert_eq!(text(&output.stdout), "has run\n", "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("the first line is not of this version"), "{}", text(&output.stderr));
}

#[test]
fn a_jvm_whose_run_is_over_starts_as_if_nobody_had_wanted_to_watch_it() {
    let folder = fresh("faults", "over");
    let source = "public class Main { public static void main(String[] a) { System.out.println(\"has run\"); } }";
    let class_path = class_path_with(&folder, &[("Main.java", source)]);
    let output = std::process::Command::new(jdks().first().unwrap().join("bin/java"))
        .arg(format!("-agentpath:{}={}", support::agent().display(), folder.join("gone/agent-options").display()))
        .args(["-cp", &class_path, "Main"])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "has run\n".to_owned()));
}

#[test]
fn a_framework_without_a_method_that_is_hooked_is_reported() {
    let folder = fresh("faults", "framework");
    let sources = [
        ("org/junit/runners/ParentRunner.java", "package org.junit.runners; public class ParentRunner {}"),
        (
            "OddTest.java",
            "class OddTest { @org.junit.jupiter.api.Test void m() { new org.junit.runners.ParentRunner(); } }",
        ),
    ];
    let class_path = class_path_with(&folder, &sources);
    // Without JUnit 4, whose class of that name would be a second one.
    let class_path: Vec<&str> = class_path.split(':').filter(|entry| !entry.contains("/junit/junit/")).collect();
    let class_path = class_path.into_iter().filter(|e| !e.contains("vintage")).collect::<Vec<_>>().join(":");
    let output = untether(&folder, &["detect", "--classpath", &class_path]);
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("org.junit.runners.ParentRunner has no method run("), "{errors}");
    let doctor = text(&untether(&folder, &["doctor"]).stdout);
    assert!(doctor.contains("org.junit.runners.ParentRunner has no method setScheduler("), "{doctor}");
}

#[test]
fn tests_that_are_watched_again_have_the_environment_of_the_workers() {
    let folder = fresh("faults", "environment");
    // They meet in a file only, so that refinement watches them once more.
    let first = r#"
        import java.nio.file.*;
        class AExpectsNoneTest {
            static Path path() {
                return Paths.get(System.getProperty("java.io.tmpdir"), "mark-" + ProcessHandle.current().pid());
            }
            @org.junit.jupiter.api.Test void isAbsent() throws Exception {
                byte[] line = (System.getenv("COLOUR") + " " + System.getenv("LATER") + "\n").getBytes();
                Files.write(Paths.get("../seen-by-workers"), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                if (Files.exists(path())) throw new IllegalStateException();
            }
        }"#;
    let second = "class BCreatesTest {
                      @org.junit.jupiter.api.Test void creates() throws Exception {
                          java.nio.file.Files.createFile(AExpectsNoneTest.path()).toFile().deleteOnExit();
                      }
                  }";
    let class_path = class_path_with(&folder, &[("AExpectsNoneTest.java", first), ("BCreatesTest.java", second)]);
    // Neither below the project nor in the folder for temporary files, of which the clone may be a part: what a test made there
    // would be gone with each schedule.
    let elsewhere = fresh("faults", "environment-temporary");
    let command = |arguments: &[&str]| {
        let mut command = command(&folder, arguments);
        command.env("TMPDIR", &elsewhere);
        command
    };
    let detected = command(&["detect", "--classpath", &class_path]).env("COLOUR", "red").output().unwrap();
    assert!(detected.status.success(), "{}", text(&detected.stderr));
    let seen = folder.join("../seen-by-workers");
    std::fs::remove_file(&seen).unwrap();
    let refined = command(&["refine", "--quiet", "--format", "json", "-j", "1"])
        .env("COLOUR", "green")
        .env("LATER", "1")
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&refined.stdout).unwrap();
    assert_eq!(document["manifest"][0]["test"], "AExpectsNoneTest#isAbsent", "{document}");
    let seen = std::fs::read_to_string(&seen).unwrap();
    assert!(seen.lines().count() > 1 && seen.lines().all(|line| line == "red null"), "{seen}");
}

#[test]
fn what_cannot_be_recorded_as_the_heap_is_full_is_counted_and_fails_no_test() {
    let folder = fresh("faults", "heap");
    let source = r#"
        import java.util.*;
        class FullTest {
            static final int[][] ROWS = new int[40][1];
            @org.junit.jupiter.api.Test void writesAlthoughTheHeapIsFull() {
                List<byte[]> all = new ArrayList<>(1 << 20);
                int size = 1 << 20;
                while (size > 8) {
                    try { all.add(new byte[size]); } catch (OutOfMemoryError full) { size /= 2; }
                }
                for (int[] row : ROWS) row[0]++;
                all.clear();
            }
            @org.junit.jupiter.api.Test void writesLater() { ROWS[0][0]++; }
        }"#;
    let class_path = class_path_with(&folder, &[("FullTest.java", source)]);
    let output = untether(&folder, &["detect", "--classpath", &class_path, "--jvm-arg=-Xmx64m"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let doctor = text(&untether(&folder, &["doctor"]).stdout);
    assert!(doctor.contains("accesses were not recorded: java.lang.OutOfMemoryError"), "{doctor}");
}

#[test]
fn the_jvms_own_check_of_native_code_has_nothing_to_say() {
    let folder = fresh("faults", "checked");
    let source = "class QuietTest {
                      static int[] numbers = new int[3];
                      @org.junit.jupiter.api.Test void one() { numbers[1]++; }
                      @org.junit.jupiter.api.Test void two() { numbers[1]++; }
                  }";
    let class_path = class_path_with(&folder, &[("QuietTest.java", source)]);
    for home in jdks() {
        let java = home.display().to_string();
        let arguments = ["detect", "--classpath", &class_path, "--jvm-arg=-Xcheck:jni", "--java", &java];
        let output = untether(&folder, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout) + &text(&output.stderr);
        let warnings: Vec<&str> = said.lines().filter(|line| line.contains("WARNING")).take(5).collect();
        assert_eq!(warnings, Vec::<&str>::new(), "on {java}");
    }
}
