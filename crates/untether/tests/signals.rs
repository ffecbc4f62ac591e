//! Whoever ends `untether` ends the JVMs as well, and what was seen until then is kept.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use support::{class_path_with, command, copy_of, fresh, is_alive, text, untether, wait_for};

/// Says which process it is in, and stays there.
const HANG: &str = r#"
    static void hang() throws Exception {
        java.nio.file.Path file = java.nio.file.Paths.get("hanging.tmp");
        java.nio.file.Files.write(file, Long.toString(ProcessHandle.current().pid()).getBytes());
        java.nio.file.Files.move(file, java.nio.file.Paths.get("hanging"));
        new java.util.concurrent.CountDownLatch(1).await();
    }
"#;

/// Processes that must be gone when the test is over, whatever came of it.
struct Processes(Vec<u32>);

impl Processes {
    /// The JVM that hangs in `folder`, and those between it and the one that we started.
    fn hanging_in(folder: &Path, below: u32) -> Self {
        let text = wait_for("the test that hangs", || std::fs::read_to_string(folder.join("hanging")).ok());
        let mut found = Vec::new();
        let mut at: u32 = text.parse().unwrap();
        while at != below {
            found.push(at);
            let stat = std::fs::read_to_string(format!("/proc/{at}/stat")).unwrap();
            at = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
            assert!(at > 1, "{found:?} do not belong to {below}");
        }
        Processes(found)
    }

    fn wait_until_gone(&self) {
        wait_for("the end of the JVMs", || (!self.0.iter().any(|&process| is_alive(process))).then_some(()));
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in self.0.iter().filter(|&&process| is_alive(process)) {
            send("KILL", *process);
        }
    }
}

fn send(signal: &str, process: u32) {
    assert!(Command::new("kill").arg(format!("-{signal}")).arg(process.to_string()).status().unwrap().success());
}

fn started(folder: &Path, arguments: &[&str]) -> Child {
    command(folder, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Kills it, without waiting for others that write where it would have.
fn killed(mut child: Child) {
    drop((child.stdout.take(), child.stderr.take()));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

#[test]
fn a_signal_to_untether_alone_ends_the_tests_and_keeps_what_was_seen() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let folder = fresh("signals", &format!("detect-{signal}"));
        let source = format!(
            "import org.junit.jupiter.api.*;
             @TestMethodOrder(MethodOrderer.MethodName.class)
             class HangsTest {{
                 @Test void a() {{}}
                 @Test void b() throws Exception {{ hang(); }}
                 {HANG}
             }}"
        );
        let class_path = class_path_with(&folder, &[("HangsTest.java", &source)]);
        let child = started(&folder, &["detect", "--classpath", &class_path]);
        let processes = Processes::hanging_in(&folder, child.id());
        send(signal, child.id());
        let output = ended(child);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("what they did until then was stored"), "{}", text(&output.stderr));
        processes.wait_until_gone();
        let deps = untether(&folder, &["deps", "--format", "json"]);
        let document: serde_json::Value = serde_json::from_slice(&deps.stdout).unwrap();
        assert_eq!(document["tests"][0]["outcome"], "passed");
        assert_eq!(document["tests"][1]["outcome"], "aborted");
    }
}

/// Watched; its first test hangs when it comes last.
fn suite_that_hangs_in_another_order(name: &str) -> std::path::PathBuf {
    let folder = fresh("signals", name);
    let first = format!(
        "class AFirstTest {{
             @org.junit.jupiter.api.Test void isFirst() throws Exception {{ if (BLaterTest.hasRun) hang(); }}
             {HANG}
         }}"
    );
    let later = "class BLaterTest {
                     static boolean hasRun;
                     @org.junit.jupiter.api.Test void runs() { hasRun = true; }
                 }";
    let class_path = class_path_with(&folder, &[("AFirstTest.java", &first), ("BLaterTest.java", later)]);
    let output = untether(&folder, &["detect", "--classpath", &class_path]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    folder
}

const REFINE: &[&str] = &["refine", "--quiet", "--format", "json", "--jobs", "1", "--test-timeout", "2h"];

#[test]
fn a_refinement_that_is_interrupted_ends_its_workers_and_keeps_what_was_run() {
    let folder = suite_that_hangs_in_another_order("refine-interrupted");
    let child = started(&folder, REFINE);
    let processes = Processes::hanging_in(&folder, child.id());
    send("TERM", child.id());
    let output = ended(child);
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("'untether refine' goes on from here"), "{}", text(&output.stderr));
    processes.wait_until_gone();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["is_complete"], false);
    assert!(document["executions"].as_u64().unwrap() >= 2, "the original order was run: {document}");
}

#[test]
fn no_worker_survives_a_killed_refinement() {
    let folder = suite_that_hangs_in_another_order("refine-killed");
    let child = started(&folder, REFINE);
    let processes = Processes::hanging_in(&folder, child.id());
    killed(child);
    processes.wait_until_gone();
}

#[test]
fn no_jvm_of_a_build_survives_a_killed_untether() {
    let project = copy_of("bookshop", "bookshop-killed");
    let tests = project.join("src/test/java/bookshop");
    let source = format!(
        "package bookshop;
         class AHangsTest {{
             @org.junit.jupiter.api.Test void hangs() throws Exception {{ hang(); }}
             {HANG}
         }}"
    );
    std::fs::write(tests.join("AHangsTest.java"), source).unwrap();
    // The shell stands between us and Maven.
    let child = started(&project, &["detect", "--", "sh", "-c", "mvn -q -B test; true"]);
    let processes = Processes::hanging_in(&project, child.id());
    let is_java = |process: &&u32| {
        std::fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|program| program.ends_with("java"))
    };
    assert_eq!(processes.0.iter().filter(is_java).count(), 2, "Maven's and the tests': {:?}", processes.0);
    killed(child);
    processes.wait_until_gone();
}
