//! Random changes of all kinds of state, isolated: each class finds the heap, walked from all static fields, exactly as the
//! first one did.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};

use support::{class_path_of, compile, feature_version, fresh, jdks, repository, text, untether};

/// Classes of one run, which change the state in an order of their own each.
const CLASSES: u64 = 60;

fn seed() -> u64 {
    std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// A class that checks the heap, then changes it, in each of its tests: what one test did the next one finds.
fn class(name: &str, seed: u64) -> String {
    format!(
        "package isolation;\n\nimport org.junit.jupiter.api.BeforeAll;\nimport org.junit.jupiter.api.Test;\n\nclass {name} {{\n    \
         @BeforeAll\n    static void findsTheHeapAsItWas() throws Exception {{\n        Heap.check();\n        \
         State.change({seed}L);\n    }}\n\n    @Test\n    void changesIt() {{\n        State.change({}L);\n    }}\n\n    \
         @Test\n    void changesItMore() {{\n        State.change({}L);\n    }}\n}}\n",
        seed + 1,
        seed + 2
    )
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let checks = repository().join("java/checks/isolation");
    let mut sources = vec![checks.join("Heap.java"), checks.join("State.java")];
    for number in 0..CLASSES {
        let name = format!("T{number:03}Test");
        let file = folder.join(format!("{name}.java"));
        std::fs::write(&file, class(&name, seed().wrapping_mul(1_000_003).wrapping_add(number * 10))).unwrap();
        sources.push(file);
    }
    sources
}

fn check(home: &Path, isolation: &str) {
    let folder = fresh("isolation-model", &format!("{isolation}-{}", feature_version(home)));
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = folder.join("classes");
    compile(home, &libraries, &sources(&folder), &classes);
    let class_path = format!("{}:{libraries}", classes.display());
    let known = folder.join("known");
    let opens = ["java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.lang"]
        .map(|package| format!("--jvm-arg=--add-opens=java.base/{package}=ALL-UNNAMED"));
    let (java, property) = (home.display().to_string(), format!("--jvm-arg=-Disolation.known={}", known.display()));
    let mut arguments = vec!["detect", "--quiet", "--classpath", &class_path, "--java", &java, &property];
    arguments.extend(opens.iter().map(String::as_str));
    let plain = untether(&folder, &arguments);
    assert_eq!(
        plain.status.code(),
        Some(1),
        "without isolation, classes find what others did: {}",
        text(&plain.stderr)
    );
    std::fs::remove_file(&known).unwrap();
    let output = untether(&folder, &["run", isolation, "--jobs", "1"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!("{} passed; {CLASSES} isolated classes in 1 JVM", CLASSES * 2)), "{said}");
}

#[test]
fn what_random_changes_leave_behind_is_nothing_on_the_oldest_jdk() {
    check(jdks().first().unwrap(), "--isolate=class");
}

#[test]
fn what_random_changes_leave_behind_is_nothing_on_the_newest_jdk() {
    if let [_, .., newest] = jdks().as_slice() {
        check(newest, "--isolate=class");
    }
}
