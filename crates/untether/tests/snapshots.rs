//! What the commands print, word for word: help, errors, and every view of one suite that was watched and refined. What
//! differs from run to run or from machine to machine is filtered out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Output;

use insta::{Settings, assert_snapshot};
use support::{class_path_of, command, compile, fresh, java_files, jdks, repository, text, untether};

/// Everything that a command prints, with its exit code.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let mut command = command(folder, arguments);
    command.env("COLUMNS", "100").env("JAVA_HOME", jdks().first().unwrap()).env_remove("CLICOLOR_FORCE");
    let Output { status, stdout, stderr } = command.output().unwrap();
    let mut all = format!("exit code {}\n", status.code().unwrap());
    for (title, stream) in [("stdout", stdout), ("stderr", stderr)] {
        if !stream.is_empty() {
            all.push_str(&format!("----- {title}\n{}", text(&stream)));
        }
    }
    all
}

fn settings() -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings
}

/// Times, counts that follow from the search, ids that follow from paths, versions, lines of code that is not ours.
fn suite_settings(folder: &Path, home: &Path) -> Settings {
    let mut settings = settings();
    let mut filter = |pattern: &str, with: &str| settings.add_filter(pattern, with);
    // Neighbours in a stack of JSON, then the first or last of them.
    let line = r#"\{\s+"class": "(java|jdk|org\.junit)[^}]*\}"#;
    filter(&format!(r"{line},\s+"), "");
    filter(&format!(r",\s+{line}"), "");
    filter(&regex_of(folder), "[FOLDER]");
    filter(&regex_of(home), "[JDK]");
    filter(r"(?m)^(agent: |  .agent.: .).*libuntether_agent[-0-9a-f]*.so", "$1[AGENT]");
    filter(r"(?m)^java:  .*", "java:  [JAVA]");
    filter(r#"(?m)^  "java": .*"#, r#"  "java": "[JAVA]","#);
    filter(r"(?m)^store: [\d.]+ MB", "store: [SIZE] MB");
    filter(r#""bytes": \d+"#, r#""bytes": [SIZE]"#);
    filter(r"JVM \d[^ ]*", "JVM [VERSION]");
    filter(r#""java_version": .*"#, r#""java_version": "[VERSION]","#);
    filter(r"(?m)^untether: \d+ s, .*\n", "");
    filter(r"\d+\.\d s \(", "[TIME] s (");
    filter(r"\d+ test executions in \d+ JVMs", "[N] test executions in [N] JVMs");
    filter(r#""(executions|jvm_starts|seconds)": [\d.e-]+"#, r#""$1": [N]"#);
    filter(r#""duration_ms":[\d.]+"#, r#""duration_ms":[TIME]"#);
    filter(r#""id": "[0-9a-f]{16}""#, r#""id": "[ID]""#);
    filter(r"(?m)^  [0-9a-f]{6}  ", "  [ID]  ");
    filter(r"replay [0-9a-f]{6}", "replay [ID]");
    filter(r"there are [0-9a-f, ]{32,}", "there are [IDS]");
    settings
}

fn regex_of(path: &Path) -> String {
    path.display().to_string().replace('.', r"\.").replace('+', r"\+")
}

/// Two fixtures as one suite: a brittle test, and a victim with a cleaner.
fn suite(home: &Path) -> (PathBuf, String) {
    let folder = fresh("snapshots", "suite");
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let fixtures = repository().join("fixtures/refine");
    let sources: Vec<PathBuf> =
        ["brittle", "cleaner"].iter().flat_map(|name| java_files(&fixtures.join(name))).collect();
    let classes = folder.join("classes");
    compile(home, &libraries, &sources, &classes);
    (folder, format!("{}:{libraries}", classes.display()))
}

#[test]
fn a_suite_from_detect_to_doctor() {
    let home = jdks().into_iter().next().unwrap();
    let (folder, class_path) = suite(&home);
    let java = home.display().to_string();
    let _bound = suite_settings(&folder, &home).bind_to_scope();
    let shown = |arguments: &[&str]| printed(&folder, arguments);
    assert_snapshot!("detect", shown(&["detect", "--classpath", &class_path, "--java", &java]));
    assert_snapshot!("manifest_before_refine", shown(&["deps", "--kind", "manifest"]));
    assert_snapshot!("deps", shown(&["deps"]));
    assert_snapshot!("deps_candidates_of_one_class", shown(&["deps", "--kind", "candidate", "--test", "CExpectsTest"]));
    assert_snapshot!("deps_classes_dot", shown(&["deps", "--class-level", "--format", "dot"]));
    assert_snapshot!("deps_unknown", shown(&["deps", "--test", "UseTest"]));
    assert_snapshot!("why", shown(&["why", "ALoadsTest", "BUsesTest#uses"]));
    assert_snapshot!("why_not", shown(&["why", "BUsesTest#uses", "ALoadsTest"]));
    assert_snapshot!("why_unknown", shown(&["why", "Test", "BUsesTest"]));
    // However busy the machine is, no test takes that long.
    let timeout = ["--test-timeout", "10m"];
    assert_snapshot!("refine", shown(&["refine", "-j", "2", timeout[0], timeout[1]]));
    assert_snapshot!("refine_again_as_json", shown(&["refine", "--format", "json"]));
    assert_snapshot!("refine_again", shown(&["refine", "--fail-on", "any"]));
    assert_snapshot!("manifest", shown(&["deps", "--kind", "manifest", "--kind", "data"]));
    assert_snapshot!("manifest_dot", shown(&["deps", "--kind", "manifest", "--format", "dot"]));
    let manifest = text(&untether(&folder, &["deps", "--kind", "manifest"]).stdout);
    let id = manifest.lines().find_map(|line| line.strip_prefix("  ")?.split("  ").next()).unwrap().to_owned();
    assert_snapshot!("replay", shown(&["replay", &id, timeout[0], timeout[1]]));
    assert_snapshot!("replay_as_json", shown(&["replay", &id, "--format", "json", timeout[0], timeout[1]]));
    assert_snapshot!("replay_unknown", shown(&["replay", "xyz"]));
    assert_snapshot!("doctor", shown(&["doctor"]));
    assert_snapshot!("doctor_as_json", shown(&["doctor", "--format", "json"]));
}

#[test]
fn help() {
    let folder = fresh("snapshots", "help");
    let _bound = settings().bind_to_scope();
    assert_snapshot!("help", printed(&folder, &["--help"]));
    for name in ["detect", "deps", "refine", "replay", "run", "why", "store", "doctor", "config", "completions"] {
        assert_snapshot!(format!("help_{name}"), printed(&folder, &[name, "--help"]));
    }
    // All of the rules are known from their file.
    let config = text(&untether(&folder, &["config"]).stdout);
    assert_eq!(
        config,
        std::fs::read_to_string(repository().join("crates/untether-project/src/defaults.toml")).unwrap()
    );
}

#[test]
fn errors_say_what_to_do() {
    let folder = fresh("snapshots", "errors");
    let _bound = settings().bind_to_scope();
    std::fs::write(folder.join("bad-order"), "no test at all\n").unwrap();
    std::fs::create_dir(folder.join("empty")).unwrap();
    let commands: &[&[&str]] = &[
        &["deps"],
        &["why", "ATest", "BTest"],
        &["refine"],
        &["replay", "7b"],
        &["detect"],
        &["detect", "mvn", "test"],
        &["detect", "--timeout", "never", "--", "true"],
        &["detect", "--", "true"],
        &["detect", "--", "false"],
        &["detect", "--", "sh", "-c", "kill -9 $$"],
        &["detect", "--", "no-such-program"],
        &["detect", "--timeout", "1s", "--", "sleep", "60"],
        &["detect", "--classpath", "no-such-folder"],
        &["detect", "--classpath", "empty"],
        &["detect", "--classpath", "empty", "--order", "no-such-file"],
        &["detect", "--classpath", "empty", "--order", "bad-order"],
        &["detect", "--classpath", "empty", "--order", "empty"],
        &["refine", "--strategy", "hope"],
        &["deps"],
    ];
    let all: String = commands
        .iter()
        .map(|arguments| format!("$ untether {}\n{}\n", arguments.join(" "), printed(&folder, arguments)))
        .collect();
    assert_snapshot!("errors", all);
}
