//! How the program behaves towards people: what it finds by itself, says once, colours, and explains.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{class_path_with, command, fresh, text, untether};

const SUITE: &[(&str, &str)] = &[
    ("AWritesTest.java", "class AWritesTest { static int x; @org.junit.jupiter.api.Test void writes() { x = 1; } }"),
    (
        "BReadsTest.java",
        "class BReadsTest { @org.junit.jupiter.api.Test void reads() { if (AWritesTest.x == 2) throw new Error(); } }",
    ),
];

/// A folder with a store.
fn watched(name: &str) -> (PathBuf, String) {
    let folder = fresh("manners", name);
    let class_path = class_path_with(&folder, SUITE);
    let output = untether(&folder, &["detect", "--classpath", &class_path]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    (folder, class_path)
}

/// Somebody without any rights, where we have all of them.
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() == "0"
}

fn freeze(path: &Path, mode: u32) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_store_that_cannot_be_written_to_can_be_read() {
    // Outside of the build folder, which may be nobody else's to enter.
    let folder = std::env::temp_dir().join(format!("untether manners? {}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let program = folder.join("untether");
    std::fs::copy(env!("CARGO_BIN_EXE_untether"), &program).unwrap();
    let class_path = class_path_with(&fresh("manners", "read-only"), SUITE);
    let output = untether(&folder, &["detect", "--classpath", &class_path]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = untether(&folder, &["deps", "--format", "json"]);
    let store = folder.join(".untether");
    freeze(&store.join("store.sqlite"), 0o400);
    freeze(&store, 0o500);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(&folder);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap()
    };
    let deps = run(&["deps", "--format", "json"]);
    let why = run(&["why", "AWritesTest", "BReadsTest"]);
    let refine = run(&["refine"]);
    std::fs::set_permissions(&store, Permissions::from_mode(0o700)).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(text(&deps.stdout), text(&expected.stdout), "{}", text(&deps.stderr));
    assert!(text(&why.stdout).contains("AWritesTest.x"), "{}", text(&why.stderr));
    assert!(text(&refine.stderr).contains("cannot be written to"), "{}", text(&refine.stderr));
}

#[test]
fn the_store_is_found_from_folders_below() {
    let (folder, _) = watched("below");
    let below = folder.join("module/src/test");
    std::fs::create_dir_all(&below).unwrap();
    let expected = untether(&folder, &["deps"]);
    let deps = untether(&below, &["deps"]);
    assert!(deps.status.success(), "{}", text(&deps.stderr));
    assert_eq!(text(&deps.stdout), text(&expected.stdout));
    // Refinement goes by the configuration of the project, not of the folder that one happens to be in.
    std::fs::write(folder.join("untether.toml"), "[detect]\nignroe = []\n").unwrap();
    let refine = untether(&below, &["refine"]);
    assert_eq!(refine.status.code(), Some(2), "{}", text(&refine.stderr));
    assert!(text(&refine.stderr).contains("ignroe"), "{}", text(&refine.stderr));
}

#[test]
fn a_command_without_dashes_before_it_gets_a_hint() {
    let folder = fresh("manners", "dashes");
    for (arguments, hint) in [
        (&["detect", "mvn", "test"][..], "untether detect -- mvn test"),
        (&["detect", "--quiet", "mvn", "-B", "verify"][..], "untether detect --quiet -- mvn -B verify"),
    ] {
        let output = untether(&folder, arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(hint), "{}", text(&output.stderr));
    }
    let other = untether(&folder, &["detect", "--no-such-option", "--", "mvn", "test"]);
    assert!(text(&other.stderr).contains("--no-such-option"), "{}", text(&other.stderr));
}

#[test]
fn every_help_text_has_examples() {
    let folder = fresh("manners", "help");
    let help = text(&untether(&folder, &["--help"]).stdout);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() >= 8, "{commands:?}");
    assert!(help.contains("Examples:"));
    for command in commands {
        for form in ["--help", "-h"] {
            let help = text(&untether(&folder, &[command, form]).stdout);
            assert!(help.contains("Examples:\n  untether "), "{command}: {help}");
        }
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let (folder, _) = watched("colours");
    let doctor = |names: &[&str]| {
        let mut command = command(&folder, &["doctor"]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "xterm");
        names.iter().for_each(|name| {
            command.env(name, "1");
        });
        text(&command.output().unwrap().stdout)
    };
    assert!(doctor(&["CLICOLOR_FORCE"]).contains("\x1b["));
    assert!(!doctor(&[]).contains('\x1b'));
    assert!(!doctor(&["CLICOLOR_FORCE", "NO_COLOR"]).contains('\x1b'));
}

#[test]
fn the_doctor_says_a_thing_once_however_many_jvms_there_were() {
    let folder = fresh("manners", "doctor");
    let source = |name: &str| format!("class {name} {{ @org.junit.jupiter.api.Test void m() {{}} }}");
    let main = "import org.junit.platform.launcher.core.*;
                import org.junit.platform.engine.discovery.DiscoverySelectors;
                public class Main {
                    public static void main(String[] names) {
                        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
                            .selectors(DiscoverySelectors.selectClass(names[0])).build());
                    }
                }";
    let (one, two) = (source("OneTest"), source("TwoTest"));
    let class_path = class_path_with(&folder, &[("OneTest.java", &one), ("TwoTest.java", &two), ("Main.java", main)]);
    let java = support::jdks().first().unwrap().join("bin/java").display().to_string();
    // Each asks for parallel execution, which is noted.
    let script = ["OneTest", "TwoTest"]
        .map(|test| format!("{java} -Djunit.jupiter.execution.parallel.enabled=true -cp {class_path} Main {test}\n"));
    let output = untether(&folder, &["detect", "--", "sh", "-c", &script.concat()]);
    assert!(text(&output.stderr).contains("in 2 JVMs"), "{}", text(&output.stderr));
    let doctor = text(&untether(&folder, &["doctor"]).stdout);
    assert_eq!(doctor.matches("sequential:").count(), 1, "{doctor}");
    assert_eq!(doctor.lines().filter(|line| line.starts_with("JVM ")).count(), 1, "{doctor}");
    assert!(doctor.contains("(2 times)"), "{doctor}");
}
