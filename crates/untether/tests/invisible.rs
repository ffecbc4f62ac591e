//! A watched program sees what it would see unwatched, and a suite that asks for threads is told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::Path;
use std::process::Command;

use support::{agent, class_path_of, compile, feature_version, jdks, repository, scratch, untether};

fn lines(output: &std::process::Output) -> Vec<String> {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text.lines().map(str::to_owned).collect()
}

/// What the program prints by itself, and with the agent, which must have seen `sight`.
fn plain_and_watched(name: &str, sources: &[&str], libraries: &str, main: &str, sight: &str) {
    for home in jdks() {
        let classes = scratch(&format!("{name}-{}", feature_version(&home)));
        let sources: Vec<_> = sources.iter().map(|source| repository().join("java/checks").join(source)).collect();
        compile(&home, libraries, &sources, &classes);
        let traces = scratch(&format!("{name}-traces"));
        let options = traces.join("options");
        let rules = untether_project::Config::default();
        let agent_options = untether_wire::AgentOptions {
            trace_directory: traces.clone(),
            ignore: rules.ignore.clone(),
            opaque: rules.opaque.clone(),
            immutable: rules.immutable.clone(),
            ..Default::default()
        };
        std::fs::write(&options, agent_options.to_text()).unwrap();
        let run = |extra: &[(&str, &Path)]| {
            let mut command = Command::new(home.join("bin/java"));
            command.arg("-cp").arg(format!("{}:{libraries}", classes.display())).arg(main).env_remove("LD_PRELOAD");
            for (name, value) in extra {
                command.env(name, value);
            }
            command.output().unwrap()
        };
        let plain = run(&[]);
        assert!(plain.status.success());
        assert!(lines(&plain).iter().any(|line| line.starts_with("order ")), "{:?}", lines(&plain));
        let watched = run(&[
            ("LD_PRELOAD", agent()),
            ("UNTETHER_AGENT", agent()),
            ("UNTETHER_OPTIONS", &options),
            ("UNTETHER_PRELOAD_BEFORE", Path::new("")),
        ]);
        assert_eq!(lines(&plain), lines(&watched), "on {}", home.display());
        let has_seen = |path: &Path| {
            let trace = std::fs::read(path).unwrap();
            trace.windows(sight.len()).any(|window| window == sight.as_bytes())
        };
        let mut entries = std::fs::read_dir(&traces).unwrap().flatten().map(|entry| entry.path());
        let was_watched = entries.any(|path| path.extension().is_some_and(|e| e == "trace") && has_seen(&path));
        assert!(was_watched, "the agent was not at work in the JVM");
        std::fs::remove_dir_all(&traces).unwrap();
    }
}

#[test]
fn a_program_prints_the_same_with_and_without_the_agent() {
    plain_and_watched("visible", &["Visible.java"], ".", "Visible", "Visible");
}

#[test]
fn a_test_prints_the_same_while_its_accesses_are_recorded() {
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    plain_and_watched(
        "visible-test",
        &["Visible.java", "VisibleTest.java"],
        &libraries,
        "VisibleTest",
        "VisibleTest#looks",
    );
}

#[test]
fn a_suite_that_asks_for_threads_is_run_sequentially_and_told() {
    let directory = scratch("parallel");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let source = directory.join("ParallelTest.java");
    std::fs::write(
        &source,
        "import org.junit.jupiter.api.*;
         class ParallelTest {
             @Test void a() { check(); }
             @Test void b() { check(); }
             void check() {
                 String thread = Thread.currentThread().getName();
                 Assertions.assertFalse(thread.contains(\"ForkJoinPool\"), thread);
             }
         }",
    )
    .unwrap();
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = directory.join("classes");
    compile(jdks().first().unwrap(), &libraries, &[source], &classes);
    std::fs::write(
        classes.join("junit-platform.properties"),
        "junit.jupiter.execution.parallel.enabled=true\njunit.jupiter.execution.parallel.mode.default=concurrent\n",
    )
    .unwrap();
    let output = untether(&directory, &["detect", "--classpath", &format!("{}:{libraries}", classes.display())]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("it was run sequentially"), "{errors}");
}
