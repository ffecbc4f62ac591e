//! The executable is all that has to be installed: copied alone to another folder, it unpacks the agent by itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{class_path_with, fresh, jdks, text};

const SUITE: &[(&str, &str)] = &[
    ("AWritesTest.java", "class AWritesTest { static int x; @org.junit.jupiter.api.Test void writes() { x = 1; } }"),
    (
        "BReadsTest.java",
        "class BReadsTest { @org.junit.jupiter.api.Test void reads() { if (AWritesTest.x == 2) throw new Error(); } }",
    ),
    (
        "Main.java",
        "import org.junit.platform.launcher.core.*;
         import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
         public class Main {
             public static void main(String[] names) {
                 LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
                     .selectors(selectClass(\"AWritesTest\"), selectClass(\"BReadsTest\")).build());
             }
         }",
    ),
];

/// A copy of the executable in a folder of its own, with the environment of somebody who has just installed it.
struct Installed {
    folder: PathBuf,
    class_path: String,
}

impl Installed {
    fn new(name: &str) -> Self {
        let folder = fresh("alone", name);
        let class_path = class_path_with(&folder.join("suite"), SUITE);
        std::fs::create_dir(folder.join("bin")).unwrap();
        // By another process: what this one has open for writing, a child of another test's may have open a while longer, and
        // then it cannot be executed.
        let copied =
            Command::new("cp").args([env!("CARGO_BIN_EXE_untether").as_ref(), folder.join("bin").as_os_str()]).status();
        assert!(copied.unwrap().success());
        for empty in ["project", "home", "tmp"] {
            std::fs::create_dir(folder.join(empty)).unwrap();
        }
        Installed { folder, class_path }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join("bin/untether"));
        command.args(arguments).current_dir(self.folder.join("project"));
        command.env_remove("JAVA_TOOL_OPTIONS").env_remove("UNTETHER_AGENT_LIBRARY").env_remove("XDG_CACHE_HOME");
        command.env("HOME", self.folder.join("home")).env("TMPDIR", self.folder.join("tmp"));
        command
    }

    fn detect(&self) -> Command {
        self.command(&["detect", "--classpath", &self.class_path])
    }

    fn assert_finds(&self, detected: &Output) {
        assert!(detected.status.success(), "{}", text(&detected.stderr));
        let deps = text(&self.command(&["deps"]).output().unwrap().stdout);
        assert!(deps.contains("AWritesTest#writes -> BReadsTest#reads"), "{deps}\n{}", text(&detected.stderr));
    }
}

/// The one file in a folder for libraries.
fn library_in(folder: &Path) -> PathBuf {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [library] = &files[..] else { panic!("{files:?}") };
    library.clone()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_executable_works_without_any_other_file() {
    let installed = Installed::new("works");
    installed.assert_finds(&installed.detect().output().unwrap());
    let cache = installed.folder.join("home/.cache/untether");
    let library = library_in(&cache);
    assert_eq!((mode(&cache), mode(&library)), (0o700, 0o600));

    // As a build tool would start it: preloaded. What somebody has put in the library's place does not get there.
    std::fs::write(&library, "not a library").unwrap();
    let java = jdks().first().unwrap().join("bin/java").display().to_string();
    let detect = ["detect", "--", &java, "-cp", &installed.class_path, "Main"];
    installed.assert_finds(&installed.command(&detect).output().unwrap());
    assert_eq!(library_in(&cache), library);
}

#[test]
fn without_a_cache_folder_it_uses_the_temporary_one_and_without_that_it_says_what_to_do() {
    let installed = Installed::new("no-cache");
    let blocked = installed.folder.join("a file");
    std::fs::write(&blocked, "").unwrap();
    installed.assert_finds(&installed.detect().env("XDG_CACHE_HOME", &blocked).output().unwrap());
    library_in(&library_in(&installed.folder.join("tmp")));

    let stuck = installed.detect().env("XDG_CACHE_HOME", &blocked).env("TMPDIR", &blocked).output().unwrap();
    let said = text(&stuck.stderr);
    assert_eq!(stuck.status.code(), Some(3), "{said}");
    assert!(said.contains("a file/untether: ") && said.contains("set XDG_CACHE_HOME"), "{said}");
    let doctor = installed.command(&["doctor"]).env("XDG_CACHE_HOME", &blocked).env("TMPDIR", &blocked).output();
    assert!(text(&doctor.unwrap().stdout).contains("set XDG_CACHE_HOME"));
}
