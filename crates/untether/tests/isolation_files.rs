//! Random changes of files, by Java and by child processes, isolated: each class finds the files exactly as the first one did,
//! and so does whoever looks when the run is over.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use support::small::SmallProject;
use support::small::programs::Chance;
use support::{command, text, wait_for};

const CLASSES: usize = 40;
const CHANGES: usize = 12;

/// Paths that are there at first, and paths that are not.
const PATHS: &[&str] = &[
    "a.txt",
    "b.txt",
    "d/c.txt",
    "d/e/f.txt",
    "d/e",
    "d",
    "g",
    "g/h.txt",
    "new.txt",
    "new/deep/i.txt",
    "link",
    "d/link",
];

/// What is there, and what it is, in one string: no two states have the same.
const FILES: &str = r#"
package files;
import java.io.*;
import java.nio.*;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.nio.file.attribute.*;
import java.util.*;
import java.util.stream.*;
public final class Files {
    private static final Path ROOT = Path.of("work");
    public static String state() throws IOException {
        StringBuilder text = new StringBuilder();
        for (Path root : List.of(ROOT, Path.of(System.getProperty("java.io.tmpdir")))) {
            try (Stream<Path> all = java.nio.file.Files.walk(root)) {
                // What watches the run has its files there, where it has no store.
                all.filter(path -> !path.toString().contains("untether-run-")).sorted().forEach(path -> text.append(of(path)).append('\n'));
            }
        }
        return text.toString();
    }
    private static String of(Path path) {
        try { return described(path); } catch (IOException error) { throw new UncheckedIOException(error); }
    }
    private static String described(Path path) throws IOException {
        if (java.nio.file.Files.isSymbolicLink(path)) return path + " -> " + java.nio.file.Files.readSymbolicLink(path);
        String mode = PosixFilePermissions.toString(java.nio.file.Files.getPosixFilePermissions(path));
        if (java.nio.file.Files.isDirectory(path)) return path + "/ " + mode;
        return path + " " + mode + " " + java.nio.file.Files.getLastModifiedTime(path) + " "
            + new String(java.nio.file.Files.readAllBytes(path), "ISO-8859-1").hashCode();
    }
    public static void check() throws IOException {
        Path known = Path.of(System.getenv("SMALL_NOTES"), "files");
        if (!java.nio.file.Files.exists(known)) java.nio.file.Files.writeString(known, state());
        org.junit.jupiter.api.Assertions.assertEquals(java.nio.file.Files.readString(known), state());
    }
    /** What cannot be done is not done. */
    public static void change(int kind, String first, String second) {
        Path from = ROOT.resolve(first), to = ROOT.resolve(second);
        try {
            switch (kind) {
                case 0 -> { if (from.getParent() != null) java.nio.file.Files.createDirectories(from.getParent()); java.nio.file.Files.writeString(from, "written " + second); }
                case 1 -> java.nio.file.Files.writeString(from, "more", StandardOpenOption.APPEND);
                case 2 -> java.nio.file.Files.delete(from);
                case 3 -> shell("rm -rf " + from);
                case 4 -> java.nio.file.Files.move(from, to, StandardCopyOption.REPLACE_EXISTING);
                case 5 -> shell("mv " + from + " " + to);
                case 6 -> from.toFile().setReadOnly();
                case 7 -> java.nio.file.Files.createSymbolicLink(from, Path.of("a.txt"));
                case 8 -> java.nio.file.Files.createLink(from, to);
                case 9 -> { try (RandomAccessFile file = new RandomAccessFile(from.toFile(), "rw")) { file.setLength(3); file.seek(1); file.write(65); } }
                case 10 -> { try (FileChannel channel = FileChannel.open(from, StandardOpenOption.READ, StandardOpenOption.WRITE)) { channel.map(FileChannel.MapMode.READ_WRITE, 0, 2).put((byte) 66); } }
                case 11 -> shell("printf " + second + " >> " + from);
                case 12 -> java.nio.file.Files.createDirectories(from);
                case 13 -> java.nio.file.Files.setLastModifiedTime(from, FileTime.fromMillis(1000));
                case 14 -> java.nio.file.Files.createTempFile("made", second.replace('/', '-'));
                case 15 -> shell("cp -r " + from + " " + to + "; ln -sfn b.txt " + from);
                case 16 -> java.nio.file.Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
                case 17 -> new ProcessBuilder("sed", "-i", "s/a/b/", from.toString()).start().waitFor();
                case 18 -> shell("sed -i s/e/x/ " + from + " > " + to);
                case 19 -> shell("cat " + from + " > " + to);
                default -> throw new IllegalArgumentException();
            }
        } catch (IOException | UncheckedIOException | InterruptedException impossible) { }
    }
    private static void shell(String command) throws IOException, InterruptedException {
        new ProcessBuilder("sh", "-c", command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
    }
}
"#;
const KINDS: usize = 20;

/// A class whose fixture checks what it finds, and that then changes files in each of its tests.
fn class(name: &str, chance: &mut Chance) -> String {
    let mut changes = || -> String {
        (0..1 + chance.below(CHANGES)).fold(String::new(), |mut text, _| {
            let (kind, first, second) =
                (chance.below(KINDS), PATHS[chance.below(PATHS.len())], PATHS[chance.below(PATHS.len())]);
            writeln!(text, "        files.Files.change({kind}, \"{first}\", \"{second}\");").unwrap();
            text
        })
    };
    let (fixture, first, second) = (changes(), changes(), changes());
    format!(
        "import org.junit.jupiter.api.*;\nclass {name} {{\n    @BeforeAll static void findsTheFilesAsTheyWere() throws Exception {{\n        \
         files.Files.check();\n{fixture}    }}\n    @Test void first() {{\n{first}    }}\n    @Test void second() {{\n{second}    }}\n}}\n"
    )
}

fn project(name: &str, seed: u64) -> SmallProject {
    let project = SmallProject::new("isolation-files", name);
    project.compile("helpers", &[], &[("files/Files.java", FILES)]);
    let mut chance = Chance::new(seed);
    let sources: Vec<(String, String)> = (0..CLASSES)
        .map(|number| (format!("T{number:02}Test.java"), class(&format!("T{number:02}Test"), &mut chance)))
        .collect();
    let sources: Vec<(&str, &str)> = sources.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    project.compile("classes", &["helpers"], &sources);
    let work = project.folder.join("work");
    fs::create_dir_all(work.join("d/e")).unwrap();
    fs::create_dir_all(project.folder.join("tmp")).unwrap();
    for (file, content) in [("a.txt", "first a"), ("b.txt", "second a"), ("d/c.txt", "third"), ("d/e/f.txt", "")] {
        fs::write(work.join(file), content).unwrap();
    }
    std::os::unix::fs::symlink("d/c.txt", work.join("link")).unwrap();
    project
}

/// How the tests are run: with a folder for temporary files of their own, as the clone may lie in the usual one.
fn run(project: &SmallProject, isolation: &[&str]) -> std::process::Output {
    let temporary = project.folder.join("tmp");
    let option = format!("-Djava.io.tmpdir={}", temporary.display());
    let mut run = command(&project.folder, &["run"]);
    run.args(isolation).arg("--").args(project.build(&["classes", "helpers"], &[&option])).env("TMPDIR", &temporary);
    project.with_notes(run).output().unwrap()
}

fn all_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(all_below(&path));
        }
        found.insert(path);
    }
    found
}

fn check(name: &str, isolation: &str) {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let project = project(name, seed);
    let (work, temporary) = (project.folder.join("work"), project.folder.join("tmp"));
    project.forget();
    let before = all_below(&work);
    let output = run(&project, &[isolation, "--isolate-files"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "seed {seed}: {said}");
    assert!(said.contains(&format!("{} passed; {CLASSES} isolated classes in 1 JVM", CLASSES * 2)), "{said}");
    assert!(!said.contains("not put back"), "{said}");
    assert_eq!(all_below(&work), before);
    assert_eq!(all_below(&temporary), BTreeSet::new());
}

#[test]
fn each_class_finds_the_files_that_the_first_one_found() {
    check("class", "--isolate=class");
}

#[test]
fn each_class_finds_them_so_where_tests_are_isolated_too() {
    check("test", "--isolate=test");
}

#[test]
fn without_being_asked_to_files_are_not_put_back() {
    let project = project("not", 7);
    project.forget();
    let output = run(&project, &["--isolate"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// A test finds what the fixture of its class made, and not what the test before it did.
const COUNTS: &str = r#"
import java.nio.file.*;
import org.junit.jupiter.api.*;
@TestMethodOrder(MethodOrderer.MethodName.class)
class CountsTest {
    static final Path FILE = Path.of("work/count.txt");
    @BeforeAll static void begins() throws Exception { Files.writeString(FILE, "0"); }
    @Test void aAdds() throws Exception { Files.writeString(FILE, "1", StandardOpenOption.APPEND); }
    @Test void bFindsItAsTheFixtureLeftIt() throws Exception {
        Assertions.assertEquals("0", Files.readString(FILE));
        Files.delete(FILE);
    }
    @Test void cFindsItSoToo() throws Exception { Assertions.assertEquals("0", Files.readString(FILE)); }
}
"#;

#[test]
fn tests_find_the_files_that_their_fixtures_made() {
    let project = project("fixtures", 1);
    project.compile("classes", &["helpers"], &[("CountsTest.java", COUNTS)]);
    let output = run(&project, &["--isolate=test", "--isolate-files"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!project.folder.join("work/count.txt").exists());
    let output = run(&project, &["--isolate=class", "--isolate-files"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_put_back_is_told() {
    let project = project("pipe", 1);
    let source = r#"class PipeTest { @org.junit.jupiter.api.Test void removes() throws Exception {
        java.nio.file.Files.delete(java.nio.file.Path.of("work/pipe")); } }"#;
    project.compile("classes", &["helpers"], &[("PipeTest.java", source)]);
    let made = std::process::Command::new("mkfifo").arg(project.folder.join("work/pipe")).status().unwrap();
    assert!(made.success());
    let output = run(&project, &["--isolate", "--isolate-files"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("work/pipe could not be put back"), "{said}");
}

#[test]
fn what_came_from_elsewhere_is_not_lost() {
    let project = project("elsewhere", 1);
    project.forget();
    let precious = project.folder.with_extension("notes").join("precious.txt");
    fs::write(&precious, "precious").unwrap();
    let source = r#"import java.nio.file.*;
        class MovesTest { @org.junit.jupiter.api.Test void moves() throws Exception {
            Files.move(Path.of(System.getenv("SMALL_NOTES"), "precious.txt"), Path.of("work/moved.txt")); } }"#;
    project.compile("classes", &["helpers"], &[("MovesTest.java", source)]);
    let output = run(&project, &["--isolate", "--isolate-files"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("work/moved.txt could not be put back: it came from elsewhere"), "{said}");
    assert_eq!(fs::read_to_string(project.folder.join("work/moved.txt")).unwrap(), "precious");
}

#[test]
fn what_no_class_did_stays() {
    let project = project("hook", 1);
    let source = r#"import java.nio.file.*;
        class HookTest { @org.junit.jupiter.api.Test void hooks() {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try { Files.writeString(Path.of("work/report.txt"), "at the end"); } catch (java.io.IOException error) { }
            })); } }"#;
    project.compile("classes", &["helpers"], &[("HookTest.java", source)]);
    let output = run(&project, &["--isolate", "--isolate-files"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(project.folder.join("work/report.txt")).unwrap(), "at the end");
}

#[test]
fn several_jvms_at_once_are_refused() {
    let project = project("several", 1);
    let output = support::untether(&project.folder, &["run", "--isolate", "--isolate-files", "-j", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("leave out -j"), "{}", text(&output.stderr));
}

/// Changes files, says so, and does not end.
const HANGS: &str = r#"
import java.nio.file.*;
class HangsTest {
    @org.junit.jupiter.api.Test void hangs() throws Exception {
        Files.writeString(Path.of("work/a.txt"), "changed");
        Files.delete(Path.of("work/d/c.txt"));
        Files.createDirectories(Path.of("work/new/deep"));
        Files.writeString(Path.of(System.getenv("SMALL_NOTES"), "hangs"), "");
        Thread.sleep(Long.MAX_VALUE);
    }
}
"#;

/// A run in which a test hangs that has changed files, and the files as they were.
fn hanging(name: &str) -> (SmallProject, std::process::Child, BTreeSet<PathBuf>) {
    let project = project(name, 1);
    project.compile("classes", &["helpers"], &[("HangsTest.java", HANGS)]);
    project.forget();
    // What watches the run has its files in the store.
    fs::create_dir_all(project.folder.join(".untether")).unwrap();
    let before = all_below(&project.folder.join("work"));
    let mut run = command(&project.folder, &["run", "--isolate", "--isolate-files"]);
    run.arg("--").args(project.build(&["classes", "helpers"], &[]));
    let child = project.with_notes(run).spawn().unwrap();
    let note = project.folder.with_extension("notes").join("hangs");
    wait_for("the test that hangs", || note.exists().then_some(()));
    assert_eq!(fs::read_to_string(project.folder.join("work/a.txt")).unwrap(), "changed");
    (project, child, before)
}

fn assert_as_before(project: &SmallProject, before: &BTreeSet<PathBuf>) {
    assert_eq!(all_below(&project.folder.join("work")), *before);
    assert_eq!(fs::read_to_string(project.folder.join("work/a.txt")).unwrap(), "first a");
    assert_eq!(fs::read_to_string(project.folder.join("work/d/c.txt")).unwrap(), "third");
}

#[test]
fn what_a_jvm_had_changed_that_is_interrupted_is_put_back() {
    let (project, mut child, before) = hanging("interrupted");
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap();
    assert_as_before(&project, &before);
}

#[test]
fn what_a_run_had_changed_that_was_killed_is_put_back_by_the_next_one() {
    let (project, mut child, before) = hanging("killed");
    child.kill().unwrap();
    child.wait().unwrap();
    let store = project.folder.join(".untether");
    let has_run =
        || fs::read_dir(&store).unwrap().any(|it| it.unwrap().file_name().to_string_lossy().starts_with("run-"));
    assert!(has_run());
    let source = "class PassesTest { @org.junit.jupiter.api.Test void passes() {} }";
    project.compile("classes", &["helpers"], &[("PassesTest.java", source)]);
    let next = run(&project, &["--isolate"]);
    assert!(next.status.success(), "{}", text(&next.stderr));
    assert!(!has_run());
    assert_as_before(&project, &before);
}

/// The second finds what the first has changed, unless that is put back.
const TWO: &[(&str, &str)] = &[
    (
        "AChangesTest.java",
        r#"import java.nio.file.*;
        class AChangesTest { @org.junit.jupiter.api.Test void changes() throws Exception {
            Files.writeString(Path.of("work/a.txt"), "changed"); Files.createTempFile("made", ".tmp"); } }"#,
    ),
    (
        "BFindsTest.java",
        r#"import java.nio.file.*;
        class BFindsTest { @org.junit.jupiter.api.Test void finds() throws Exception {
            org.junit.jupiter.api.Assertions.assertEquals("first a", Files.readString(Path.of("work/a.txt"))); } }"#,
    ),
];

#[test]
fn files_are_put_back_in_jvms_of_our_own_as_well() {
    let project = project("workers", 1);
    project.compile("classes", &["helpers"], TWO);
    let detect = |arguments: &[&str]| {
        let mut detect = command(&project.folder, arguments);
        detect.arg("--").args(project.build(&["classes", "helpers"], &[]));
        project.with_notes(detect).output().unwrap()
    };
    assert_eq!(detect(&["detect", "-q"]).status.code(), Some(1));
    fs::write(project.folder.join("work/a.txt"), "first a").unwrap();
    let run = command(&project.folder, &["run", "--isolate", "--isolate-files", "--check", "--test-timeout", "5m"]);
    let output = project.with_notes(run).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("2 passed; 2 isolated classes in 1 JVM"), "{said}");
    assert!(said.contains("(2 JVMs") && said.contains("every outcome was the same"), "{said}");
    assert_eq!(fs::read_to_string(project.folder.join("work/a.txt")).unwrap(), "first a");
}
