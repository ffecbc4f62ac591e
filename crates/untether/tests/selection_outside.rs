//! What test classes read outside of their code: files, folders, properties, variables, also in other programs. In each case
//! one test class reads, and another one reads something else; it must not be selected with the first.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use support::small::{SmallProject, Told, set};
use support::{scratch, text};

const ROOTS: &[&str] = &["classes", "resources"];
const NOBODY: &[&str] = &[];
const READER: &[&str] = &["ReaderTest"];
const BOTH: &[&str] = &["OtherTest", "ReaderTest"];

/// What is read in all the ways that are known to be seen, so that a change of something else is not its.
const OTHER: &str = r#"
    java.nio.file.Files.readString(java.nio.file.Path.of("other/read.txt"));
    new java.io.File("other").list();
    System.getProperty("other.property");
    System.getenv("OTHER_VARIABLE");"#;

/// The source of a test class with one test.
fn test_class(name: &str, body: &str) -> (String, String) {
    let source = format!(
        "import java.io.*; import java.nio.file.*; import java.util.*; import org.junit.jupiter.api.*;
         class {name} {{ @Test void test() throws Exception {{ {body} }} }}"
    );
    (format!("{name}.java"), source)
}

/// Compiles the reader with this body, the bystander, and further sources.
fn compile(project: &SmallProject, body: &str, more: &[(String, String)]) {
    let all = [test_class("ReaderTest", body), test_class("OtherTest", OTHER)];
    let all: Vec<(&str, &str)> = all.iter().chain(more).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    project.compile("classes", &[], &all);
}

/// A project with the reader and the bystander, compiled.
fn project(name: &str, body: &str) -> SmallProject {
    let project = SmallProject::new("selection-outside", name);
    write(&project, "other/read.txt", "other");
    fs::create_dir_all(project.folder.join("resources")).unwrap();
    compile(&project, body, &[]);
    project
}

/// The same, recorded after `prepare` has put files there.
fn recorded(name: &str, body: &str, prepare: impl FnOnce(&SmallProject)) -> SmallProject {
    let project = project(name, body);
    prepare(&project);
    project.record(ROOTS, &[], BOTH);
    selects_nothing(&project, "at once");
    project
}

fn write(project: &SmallProject, file: &str, content: &str) {
    let path = project.folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn remove(project: &SmallProject, file: &str) {
    fs::remove_file(project.folder.join(file)).unwrap();
}

/// The kinds and names of the reasons for a class, in order.
fn reasons_of(told: &Told, test: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let selected = told.document["selected"].as_array().unwrap().iter().filter(|one| one["test"] == test);
    let reasons = selected.flat_map(|one| one["reasons"].as_array().unwrap());
    let mut found: Vec<_> = reasons.map(|reason| (text(&reason["kind"]), text(&reason["name"]))).collect();
    found.sort();
    found
}

fn assert_reason(told: &Told, test: &str, kind: &str, name: &str) {
    assert_eq!(reasons_of(told, test), [(kind.to_owned(), name.to_owned())], "{test}: {}", told.document);
}

fn selects_nothing(project: &SmallProject, after: &str) {
    let told = project.select();
    assert_eq!(told.selected, set(NOBODY), "{after}: {}", told.document);
    assert!(told.skipped.contains("OtherTest"), "{after}: {told:?}");
}

/// The dry run selects the reader alone, and all commands that tell why name this.
fn selects_reader(project: &SmallProject, kind: &str, name: &str) {
    let told = project.select();
    assert_eq!(told.selected, set(READER), "{kind} {name}: {}", told.document);
    assert_reason(&told, "ReaderTest", kind, name);
    let output = support::untether(&project.folder, &["explain", "ReaderTest"]);
    let explained = text(&output.stdout);
    assert!(explained.contains("ReaderTest is selected") && explained.contains(name), "{name}: {explained}");
}

/// The reader alone runs for this reason, and then no more.
fn runs_reader(project: &SmallProject, kind: &str, name: &str) {
    selects_reader(project, kind, name);
    let told = project.must_run(ROOTS, &[], READER);
    assert_reason(&told, "ReaderTest", kind, name);
    assert_eq!(told.code, Some(0), "{}", told.said);
    selects_nothing(project, &format!("after the run because of {name}"));
}

// ---- resources

#[test]
fn a_resource_that_appears_changes_or_goes_selects_who_reads_it() {
    let body = r#"try (InputStream in = ReaderTest.class.getResourceAsStream("/data.txt")) {
                      if (in != null) in.readAllBytes();
                  }"#;
    let project = recorded("resource", body, |_| {});
    let name = "resources/data.txt";
    write(&project, name, "first");
    runs_reader(&project, "file", name);
    write(&project, "resources/unread.txt", "first");
    selects_nothing(&project, "another resource came");
    write(&project, name, "other");
    runs_reader(&project, "file", name);
    remove(&project, name);
    let told = project.select();
    assert_eq!(told.selected, set(NOBODY), "it is as in the first run: {}", told.document);
    // As it is when that run is not known.
    fs::remove_dir_all(project.folder.join(".untether")).unwrap();
    write(&project, name, "third");
    project.record(ROOTS, &[], BOTH);
    remove(&project, name);
    runs_reader(&project, "file", name);
}

#[test]
fn a_resource_that_hides_another_selects_who_reads_it() {
    let body = r#"try (InputStream in = ReaderTest.class.getResourceAsStream("/data.txt")) { in.readAllBytes(); }"#;
    let project = recorded("hidden-resource", body, |project| write(project, "resources/data.txt", "first"));
    write(&project, "classes/data.txt", "other");
    runs_reader(&project, "file", "classes/data.txt");
}

#[test]
fn a_provider_that_is_named_in_a_class_folder_selects_who_looks_for_providers() {
    let body = "for (Runnable found : ServiceLoader.load(Runnable.class)) found.run();";
    let project = project("services", body);
    let provider = "public class Provider implements Runnable { @Override public void run() { } }";
    compile(&project, body, &[("Provider.java".to_owned(), provider.to_owned())]);
    project.record(ROOTS, &[], BOTH);
    let name = "resources/META-INF/services/java.lang.Runnable";
    write(&project, "resources/META-INF/services/java.lang.Comparable", "Provider");
    selects_nothing(&project, "another service");
    write(&project, name, "Provider");
    runs_reader(&project, "file", name);
}

// ---- files

#[test]
fn a_file_that_changes_selects_who_reads_it_however_it_is_read() {
    let ways = [
        ("stream.txt", "new FileInputStream(NAME).readAllBytes();"),
        ("reader.txt", "new BufferedReader(new FileReader(NAME)).readLine();"),
        ("scanner.txt", "new Scanner(new File(NAME)).nextLine();"),
        ("random.txt", "new RandomAccessFile(NAME, \"r\").read();"),
        ("both.txt", "new RandomAccessFile(NAME, \"rw\").read();"),
        ("string.txt", "Files.readString(Path.of(NAME));"),
        ("lines.txt", "Files.lines(Path.of(NAME)).count();"),
        ("nio.txt", "Files.newInputStream(Path.of(NAME)).read();"),
        ("channel.txt", "Files.newByteChannel(Path.of(NAME)).read(java.nio.ByteBuffer.allocate(9));"),
        (
            "mapped.txt",
            "var channel = java.nio.channels.FileChannel.open(Path.of(NAME));
             channel.map(java.nio.channels.FileChannel.MapMode.READ_ONLY, 0, 2).get();",
        ),
        ("copied.txt", "Files.copy(Path.of(NAME), new ByteArrayOutputStream());"),
        ("compared.txt", "Files.mismatch(Path.of(NAME), Path.of(\"data/nio.txt\"));"),
        ("../files.txt", "Files.readString(Path.of(NAME));"),
    ];
    let body: String = ways
        .iter()
        .map(|(name, code)| format!("{{ {} }}\n", code.replace("NAME", &format!("\"data/{name}\""))))
        .collect();
    let project = recorded("files", &body, |project| {
        fs::create_dir_all(project.folder.join("data")).unwrap();
        ways.iter().for_each(|(name, _)| write(project, &format!("data/{name}"), "first\n"));
    });
    for (name, _) in ways {
        let (file, told) = (format!("data/{name}"), format!("data/{name}").replace("data/../", ""));
        write(&project, &file, "other\n");
        selects_reader(&project, "file", &told);
        write(&project, &file, "first\n");
        selects_nothing(&project, &format!("{name} is as it was"));
        write(&project, &file, "longer than it was\n");
        selects_reader(&project, "file", &told);
        remove(&project, &file);
        selects_reader(&project, "file", &told);
        write(&project, &file, "first\n");
        selects_nothing(&project, &format!("{name} is as it was, once more"));
    }
    write(&project, "data/string.txt", "other\n");
    runs_reader(&project, "file", "data/string.txt");
}

/// The reader reads one of two files through a link.
fn linked(name: &str) -> SmallProject {
    recorded(name, "Files.readString(Path.of(\"link.txt\"));", |project| {
        write(project, "first.txt", "first");
        write(project, "second.txt", "second");
        std::os::unix::fs::symlink("first.txt", project.folder.join("link.txt")).unwrap();
    })
}

#[test]
fn a_file_that_is_read_through_a_link_counts_where_it_is() {
    let project = linked("link");
    write(&project, "second.txt", "other");
    selects_nothing(&project, "nobody read it");
    write(&project, "first.txt", "other");
    selects_reader(&project, "file", "first.txt");
    write(&project, "first.txt", "first");
    selects_nothing(&project, "it is as it was");
}

#[test]
fn a_file_that_was_touched_or_written_again_selects_nobody() {
    let project = recorded("touched", "Files.readString(Path.of(\"data.txt\"));", |project| {
        write(project, "data.txt", "first");
    });
    let path = project.folder.join("data.txt");
    for age in [5, 100_000] {
        let time = SystemTime::now() - Duration::from_secs(age);
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        selects_nothing(&project, "touched");
    }
    write(&project, "data.txt", "first");
    selects_nothing(&project, "written again");
    fs::copy(&path, project.folder.join("copy.txt")).unwrap();
    fs::rename(project.folder.join("copy.txt"), &path).unwrap();
    selects_nothing(&project, "replaced by an equal one");
    project.must_run(ROOTS, &[], NOBODY);
    // Its size and time are as they were, but not what is in it.
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    write(&project, "data.txt", "other");
    File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    runs_reader(&project, "file", "data.txt");
}

#[test]
fn what_a_test_looked_for_in_vain_selects_it_when_it_is_there() {
    let ways = [
        ("old.txt", "new File(NAME).exists();"),
        ("length.txt", "new File(NAME).length();"),
        ("readable.txt", "new File(NAME).canRead();"),
        ("new.txt", "Files.exists(Path.of(NAME));"),
        ("not.txt", "Files.notExists(Path.of(NAME));"),
        ("folder", "Files.isDirectory(Path.of(NAME));"),
        ("opened.txt", "try { new FileInputStream(NAME); } catch (FileNotFoundException absent) { }"),
        ("newly.txt", "try { Files.readString(Path.of(NAME)); } catch (NoSuchFileException absent) { }"),
        ("listed", "new File(NAME).list();"),
        ("below/deep.txt", "new File(NAME).isFile();"),
        ("maximal.txt", "Files.deleteIfExists(Path.of(NAME));"),
    ];
    let body: String =
        ways.iter().map(|(name, code)| format!("{{ {} }}\n", code.replace("NAME", &format!("\"{name}\"")))).collect();
    let project = recorded("absent", &body, |_| {});
    for (name, _) in ways {
        if name.contains('.') {
            write(&project, name, "there");
            selects_reader(&project, "file", name);
            remove(&project, name);
        } else {
            fs::create_dir(project.folder.join(name)).unwrap();
            let told = project.select();
            assert_eq!(told.selected, set(READER), "{name}");
            fs::remove_dir(project.folder.join(name)).unwrap();
        }
        selects_nothing(&project, &format!("{name} is absent again"));
    }
    write(&project, "old.txt", "there");
    runs_reader(&project, "file", "old.txt");
}

#[test]
fn a_path_that_cannot_be_resolved_selects_who_tried_when_it_can() {
    let ways = [
        ("real", "try { Path.of(\"absent.txt\").toRealPath(); } catch (IOException absent) { }"),
        ("canonical", "new File(\"absent.txt\").getCanonicalFile();"),
    ];
    for (name, body) in ways {
        let project = recorded(&format!("resolved-{name}"), body, |_| {});
        write(&project, "absent.txt", "there");
        runs_reader(&project, "file", "absent.txt");
    }
}

#[test]
fn a_file_that_may_be_run_no_longer_selects_who_asked_or_ran_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let ways = [
        ("asked", "Files.isExecutable(Path.of(\"tool.sh\"));"),
        ("ran", "try { new ProcessBuilder(\"./tool.sh\").start().waitFor(); } catch (IOException refused) { }"),
        ("shell", "new ProcessBuilder(\"sh\", \"-c\", \"./tool.sh || true\").start().waitFor();"),
    ];
    for (name, body) in ways {
        let mode = |project: &SmallProject, mode: u32| {
            fs::set_permissions(project.folder.join("tool.sh"), fs::Permissions::from_mode(mode)).unwrap();
        };
        let project = recorded(&format!("runnable-{name}"), body, |project| {
            write(project, "tool.sh", "#!/bin/sh\n");
            mode(project, 0o755);
        });
        mode(&project, 0o644);
        runs_reader(&project, "file", "tool.sh");
    }
}

#[test]
fn a_native_library_of_equal_length_selects_who_loads_it() {
    let body = "try { System.load(new File(\"libsome.so\").getAbsolutePath()); } catch (UnsatisfiedLinkError none) { }";
    let project = recorded("native-library", body, |project| write(project, "libsome.so", "first"));
    write(&project, "libsome.so", "other");
    runs_reader(&project, "file", "libsome.so");
}

#[test]
fn what_lies_in_a_folder_that_is_named_like_the_reports_of_a_build_counts() {
    let file = "resources/surefire-reports/TEST-a.xml";
    let body = format!("Files.readString(Path.of(\"{file}\"));");
    let project = recorded("like-reports", &body, |project| write(project, file, "first"));
    write(&project, file, "other");
    runs_reader(&project, "file", file);
}

#[test]
fn a_thousand_files_that_one_class_reads_all_count() {
    let body = "for (int i = 0; i < 1000; i++) Files.readString(Path.of(\"data/\" + i));";
    let project = recorded("many", body, |project| {
        (0..1000).for_each(|number| write(project, &format!("data/{number}"), "first"));
    });
    for number in [0, 1, 499, 998, 999] {
        let name = format!("data/{number}");
        write(&project, &name, "other");
        selects_reader(&project, "file", &name);
        write(&project, &name, "first");
    }
    selects_nothing(&project, "all is as it was");
    (0..1000).for_each(|number| write(&project, &format!("data/{number}"), "first"));
    project.must_run(ROOTS, &[], NOBODY);
    write(&project, "data/500", "other");
    runs_reader(&project, "file", "data/500");
}

// ---- folders

#[test]
fn a_folder_that_gains_or_loses_an_entry_selects_who_lists_it_and_a_changed_entry_does_not() {
    let ways = [
        ("old", "new File(NAME).list();"),
        ("files", "new File(NAME).listFiles();"),
        ("new", "Files.list(Path.of(NAME)).count();"),
        ("stream", "for (Path each : Files.newDirectoryStream(Path.of(NAME))) { }"),
        ("walked", "Files.walk(Path.of(NAME)).count();"),
        ("child", "new ProcessBuilder(\"ls\", NAME).start().waitFor();"),
    ];
    let body: String =
        ways.iter().map(|(name, code)| format!("{{ {} }}\n", code.replace("NAME", &format!("\"{name}\"")))).collect();
    let project = recorded("folders", &body, |project| {
        ways.iter().for_each(|(name, _)| write(project, &format!("{name}/entry"), "first"));
    });
    for (name, _) in ways {
        let (entry, other) = (format!("{name}/entry"), format!("{name}/other"));
        write(&project, &other, "");
        selects_reader(&project, "directory", name);
        remove(&project, &other);
        selects_nothing(&project, &format!("{name} is as it was"));
        write(&project, &entry, "other");
        selects_nothing(&project, &format!("only the content of an entry of {name} changed"));
        write(&project, &entry, "first");
        fs::rename(project.folder.join(&entry), project.folder.join("aside")).unwrap();
        let told = project.select();
        assert_eq!(told.selected, set(READER), "{name}");
        let reason = ("directory".to_owned(), name.to_owned());
        assert!(reasons_of(&told, "ReaderTest").contains(&reason), "{}", told.document);
        fs::rename(project.folder.join("aside"), project.folder.join(&entry)).unwrap();
    }
    write(&project, "new/other", "");
    runs_reader(&project, "directory", "new");
}

// ---- class initializers

#[test]
fn what_a_class_initializer_read_counts_for_all_who_use_its_class() {
    let project = project("initializer", "");
    let settings = r#"package lib;
        import java.io.*; import java.nio.file.*;
        public class Settings {
            static final String TEXT;
            static {
                try {
                    TEXT = Files.readString(Path.of("settings.txt")) + new File("absent.txt").exists()
                            + new File("listed").list().length + System.getProperty("mode") + System.getenv("MODE");
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            }
            public static String text() { return TEXT; }
        }"#;
    let first = test_class("FirstTest", "lib.Settings.text();");
    compile(&project, "lib.Settings.text();", &[("lib/Settings.java".to_owned(), settings.to_owned()), first]);
    write(&project, "settings.txt", "first");
    write(&project, "listed/entry", "first");
    project.record(ROOTS, &[], &["FirstTest", "OtherTest", "ReaderTest"]);
    selects_nothing(&project, "at once");
    let users = set(&["FirstTest", "ReaderTest"]);
    let mut wrong = Vec::new();
    let mut check = |kind: &str, name: &str| {
        let told = project.select();
        for test in ["FirstTest", "ReaderTest"] {
            if told.selected != users || reasons_of(&told, test) != [(kind.to_owned(), name.to_owned())] {
                wrong.push(format!("{name}: {test}: {}", told.document));
            }
        }
    };
    write(&project, "settings.txt", "other");
    check("file", "settings.txt");
    write(&project, "settings.txt", "first");
    write(&project, "absent.txt", "");
    check("file", "absent.txt");
    remove(&project, "absent.txt");
    write(&project, "listed/other", "");
    check("directory", "listed");
    remove(&project, "listed/other");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    selects_nothing(&project, "all is as it was");
    let told = project.run(ROOTS, &["-Dmode=fast"]);
    assert_eq!(told.ran, users, "{}", told.document);
    assert_reason(&told, "ReaderTest", "property", "mode");
    assert_reason(&told, "FirstTest", "property", "mode");
    let told = with_variable(&project, "MODE", "fast");
    assert_eq!(told.ran, users, "{}", told.document);
}

// ---- other programs

#[test]
fn what_a_child_process_reads_selects_who_started_it() {
    let body = r#"for (String[] words : new String[][] {
                          {"cat", "input.txt"}, {"sh", "-c", "cat < nested.txt | wc -l"}, {"sh", "script.sh"},
                          {"sh", "-c", "test -e absent.txt || true"}}) {
                      Process child = new ProcessBuilder(words).start();
                      child.getInputStream().readAllBytes();
                      Assertions.assertEquals(0, child.waitFor());
                  }"#;
    let project = recorded("child", body, |project| {
        write(project, "input.txt", "first");
        write(project, "nested.txt", "first");
        write(project, "script.sh", "echo first");
    });
    for (name, before) in [("input.txt", "first"), ("nested.txt", "first"), ("script.sh", "echo first")] {
        write(&project, name, "echo other");
        selects_reader(&project, "file", name);
        write(&project, name, before);
        selects_nothing(&project, &format!("{name} is as it was"));
    }
    write(&project, "absent.txt", "");
    selects_reader(&project, "file", "absent.txt");
    remove(&project, "absent.txt");
    write(&project, "input.txt", "other");
    runs_reader(&project, "file", "input.txt");
}

#[test]
fn a_variable_that_a_child_process_looks_at_selects_who_started_it() {
    let body = r#"Process child = new ProcessBuilder("sh", "-c", "echo $MODE").start();
                  child.getInputStream().readAllBytes();
                  child.waitFor();"#;
    let project = recorded("variable-of-child", body, |_| {});
    let told = with_variable(&project, "MODE", "fast");
    assert_eq!(told.ran, set(READER), "{}", told.document);
    assert_reason(&told, "ReaderTest", "variable", "*");
    assert_eq!(with_variable(&project, "MODE", "fast").ran, set(NOBODY));
    // What is another one in each shell says nothing.
    assert_eq!(with_variable(&project, "SHLVL", "77").ran, set(NOBODY));
}

// ---- what tests write

/// Runs everything, and sees twice that nothing is selected when nothing changed.
fn is_stable(name: &str, body: &str) {
    let project = project(name, body);
    project.record(ROOTS, &[], BOTH);
    for after in ["the first run", "the second run"] {
        selects_nothing(&project, after);
        project.must_run(ROOTS, &[], NOBODY);
    }
    let told = project.told_by(all_of(&project));
    assert_eq!((told.code, &told.ran), (Some(0), &set(BOTH)), "{}", told.said);
    selects_nothing(&project, "all ran once more");
}

/// Runs all, whatever is known.
fn all_of(project: &SmallProject) -> Command {
    let mut run = support::command(&project.folder, &["run", "--all", "--format", "json", "--"]);
    run.args(project.build(ROOTS, &[]));
    project.with_notes(run)
}

#[test]
fn a_file_that_a_test_writes_and_then_reads_is_its_own() {
    is_stable(
        "own-file",
        r#"Files.writeString(Path.of("made.txt"), "made");
           Files.readString(Path.of("made.txt"));
           new File("made.txt").length();
           try (FileOutputStream out = new FileOutputStream("streamed.txt")) { out.write(1); }
           try (FileInputStream in = new FileInputStream("streamed.txt")) { in.read(); }
           Files.deleteIfExists(Path.of("streamed.txt"));"#,
    );
}

#[test]
fn a_file_that_a_test_writes_through_a_child_process_and_then_reads_is_its_own() {
    is_stable(
        "own-file-of-child",
        r#"new ProcessBuilder("sh", "-c", "echo made > made.txt; cat made.txt").start().waitFor();
           Files.readString(Path.of("made.txt"));"#,
    );
}

#[test]
fn a_file_that_a_test_reads_changes_and_puts_back_counts_as_it_was() {
    let body = r#"String before = Files.readString(Path.of("data.txt"));
                  Files.writeString(Path.of("data.txt"), "changed meanwhile");
                  Files.readString(Path.of("data.txt"));
                  Files.writeString(Path.of("data.txt"), before);"#;
    let project = recorded("put-back", body, |project| write(project, "data.txt", "first"));
    write(&project, "data.txt", "other");
    runs_reader(&project, "file", "data.txt");
}

#[test]
fn temporary_files_are_nobodys_reason() {
    is_stable(
        "temporary",
        r#"Path file = Files.createTempFile("outside", ".txt");
           Files.writeString(file, "x");
           Files.readString(file);
           Files.delete(file);
           File old = File.createTempFile("outside", ".txt");
           try (FileOutputStream out = new FileOutputStream(old)) { out.write(1); }
           old.length();
           old.delete();"#,
    );
}

#[test]
fn temporary_files_that_are_left_behind_are_nobodys_reason() {
    is_stable("left-behind", r#"Files.writeString(Files.createTempFile("outside", ".txt"), "x");"#);
}

#[test]
fn temporary_folders_are_nobodys_reason() {
    let of_junit = r#"} @Test void own(@org.junit.jupiter.api.io.TempDir Path folder) throws Exception {
           Files.writeString(folder.resolve("made.txt"), "x");
           Files.list(folder).count();
           Files.walk(folder).forEach(each -> { });"#;
    is_stable("temporary-folder", of_junit);
    is_stable(
        "left-folder",
        r#"Path folder = Files.createTempDirectory("outside");
           Files.writeString(folder.resolve("made.txt"), "x");
           Files.list(folder).count();
           Files.createDirectories(folder.resolve("deep/deeper"));"#,
    );
}

/// Of two test classes the second reads what the first writes.
fn written(name: &str) -> SmallProject {
    let project = project(name, READS_SHARED);
    compile(&project, READS_SHARED, &[writer("first")]);
    project.record(ROOTS, &[], &["OtherTest", "AuthorTest", "ReaderTest"]);
    selects_nothing(&project, "at once");
    project
}

const READS_SHARED: &str = "Files.readString(Path.of(\"shared.txt\"));";

fn writer(text: &str) -> (String, String) {
    test_class("AuthorTest", &format!("Files.writeString(Path.of(\"shared.txt\"), \"{text}\");"))
}

#[test]
fn a_file_that_another_test_class_writes_selects_its_reader_when_the_writer_changes() {
    let project = written("written");
    project.must_run(ROOTS, &[], NOBODY);
    compile(&project, READS_SHARED, &[writer("other")]);
    project.must_run(ROOTS, &[], &["AuthorTest", "ReaderTest"]);
    selects_nothing(&project, "after both ran");
}

// ---- properties

#[test]
fn a_property_selects_who_asks_for_it_however_that_is_done() {
    let ways = [
        ("one.plain", "System.getProperty(NAME);"),
        ("one.otherwise", "System.getProperty(NAME, \"none\");"),
        ("one.number", "Integer.getInteger(NAME);"),
        ("one.long", "Long.getLong(NAME, 5);"),
        ("one.flag", "Boolean.getBoolean(NAME);"),
        ("one.table", "System.getProperties().getProperty(NAME);"),
        ("one.object", "System.getProperties().get(NAME);"),
        ("one.contained", "System.getProperties().containsKey(NAME);"),
        ("one.defaults", "new Properties(System.getProperties()).getProperty(NAME);"),
        ("one.put", "System.getProperties().putIfAbsent(NAME, \"x\");"),
        ("one.made", "System.getProperties().computeIfAbsent(NAME, name -> \"x\");"),
    ];
    let body: String =
        ways.iter().map(|(name, code)| format!("{{ {} }}\n", code.replace("NAME", &format!("\"{name}\"")))).collect();
    let project = recorded("properties", &body, |_| {});
    let told = project.must_run(ROOTS, &["-Dunread=1", "-Dunread.other=2"], NOBODY);
    assert_eq!(told.code, Some(0), "{}", told.said);
    let mut wrong = Vec::new();
    for (name, _) in ways {
        let option = format!("-D{name}=1");
        let told = project.run(ROOTS, &[&option]);
        // It is compared with the last run, in which another one was given.
        let is_named = reasons_of(&told, "ReaderTest").contains(&("property".to_owned(), name.to_owned()));
        if told.ran != set(READER) || !is_named {
            wrong.push(format!("{name}: {:?} {}", told.ran, told.document));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    project.must_run(ROOTS, &["-Done.plain=1", "-Dunread=1"], NOBODY);
    project.must_run(ROOTS, &["-Done.plain=2"], READER);
    let told = project.must_run(ROOTS, &["-Dother.property=1"], &["OtherTest"]);
    assert_reason(&told, "OtherTest", "property", "other.property");
    selects_nothing(&project, "at the end");
}

#[test]
fn a_property_that_is_read_from_a_table_put_in_place_of_the_first_counts() {
    let replaces = "System.setProperties((Properties) System.getProperties().clone());";
    let project = project("properties-replaced", "System.getProperty(\"read.later\");");
    compile(&project, "System.getProperty(\"read.later\");", &[test_class("AReplacesTest", replaces)]);
    let all: &[&str] = &["AReplacesTest", "OtherTest", "ReaderTest"];
    project.record(ROOTS, &[], all);
    // Who takes a copy of all properties is run for any.
    let told = project.must_run(ROOTS, &["-Dread.later=1"], &["AReplacesTest", "ReaderTest"]);
    assert_reason(&told, "ReaderTest", "property", "read.later");
}

#[test]
fn any_property_selects_who_asks_for_all() {
    let ways = [
        ("each", "System.getProperties().forEach((name, value) -> { });"),
        ("names", "System.getProperties().stringPropertyNames();"),
        ("entries", "for (Object each : System.getProperties().entrySet()) { }"),
        ("text", "System.getProperties().toString();"),
        ("size", "System.getProperties().size();"),
        ("stored", "System.getProperties().store(new ByteArrayOutputStream(), \"\");"),
        ("copied", "new HashMap<>(System.getProperties());"),
        ("cloned", "System.getProperties().clone();"),
        ("value", "System.getProperties().containsValue(\"x\");"),
    ];
    let mut wrong = Vec::new();
    for (name, body) in ways {
        let project = recorded(&format!("all-properties-{name}"), body, |_| {});
        let told = project.run(ROOTS, &["-Dnew.property=1"]);
        if told.ran != set(READER) || reasons_of(&told, "ReaderTest") != [("property".to_owned(), "*".to_owned())] {
            wrong.push(format!("{name}: {:?} {}", told.ran, told.document));
        }
        let told = project.run(ROOTS, &["-Dnew.property=1"]);
        if told.ran != set(NOBODY) {
            wrong.push(format!("{name}, unchanged: {:?} {}", told.ran, told.document));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// ---- variables

fn with_variable(project: &SmallProject, name: &str, value: &str) -> Told {
    let mut run = project.command(ROOTS, &[]);
    run.env(name, value);
    project.told_by(run)
}

#[test]
fn a_variable_selects_who_asks_for_it_however_that_is_done() {
    let ways = [
        ("ONE_PLAIN", "System.getenv(NAME);"),
        ("ONE_OF_MAP", "System.getenv().get(NAME);"),
        ("ONE_OTHERWISE", "System.getenv().getOrDefault(NAME, \"none\");"),
        ("ONE_CONTAINED", "System.getenv().containsKey(NAME);"),
    ];
    let body: String =
        ways.iter().map(|(name, code)| format!("{{ {} }}\n", code.replace("NAME", &format!("\"{name}\"")))).collect();
    let project = recorded("variables", &body, |_| {});
    assert_eq!(with_variable(&project, "UNREAD", "1").ran, set(NOBODY));
    for (name, _) in ways {
        let told = with_variable(&project, name, "1");
        assert_eq!(told.ran, set(READER), "{name}: {}", told.document);
        // It is compared with the last run, in which another one was given.
        let is_named = reasons_of(&told, "ReaderTest").contains(&("variable".to_owned(), name.to_owned()));
        assert!(is_named, "{name}: {}", told.document);
    }
    let told = with_variable(&project, "ONE_PLAIN", "2");
    assert_eq!(told.ran, set(READER), "{}", told.document);
    let told = with_variable(&project, "OTHER_VARIABLE", "1");
    assert_eq!(told.ran, set(&["OtherTest"]), "{}", told.document);
    assert_reason(&told, "OtherTest", "variable", "OTHER_VARIABLE");
}

#[test]
fn any_variable_selects_who_asks_for_all() {
    let ways = [
        ("each", "System.getenv().forEach((name, value) -> { });"),
        ("names", "for (String each : System.getenv().keySet()) { }"),
        ("copied", "new HashMap<>(System.getenv());"),
        ("text", "System.getenv().toString();"),
        ("size", "System.getenv().size();"),
        ("value", "System.getenv().containsValue(\"x\");"),
        ("child", "new ProcessBuilder(\"true\").environment().get(\"NEW_VARIABLE\");"),
    ];
    let mut wrong = Vec::new();
    for (name, body) in ways {
        let project = recorded(&format!("all-variables-{name}"), body, |_| {});
        let told = with_variable(&project, "NEW_VARIABLE", "1");
        if told.ran != set(READER) || reasons_of(&told, "ReaderTest").iter().any(|(kind, _)| kind != "variable") {
            wrong.push(format!("{name}: {:?} {}", told.ran, told.document));
        }
        let told = with_variable(&project, "NEW_VARIABLE", "1");
        if told.ran != set(NOBODY) {
            wrong.push(format!("{name}, unchanged: {:?} {}", told.ran, told.document));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// ---- elsewhere, and meanwhile

#[test]
fn a_checkout_that_was_moved_with_its_store_selects_nothing_new() {
    let body = r#"Files.readString(Path.of("data.txt"));
                  Files.readString(Path.of(System.getProperty("data")));
                  Files.readString(Path.of("data.txt").toAbsolutePath());
                  new File("absent.txt").exists();
                  new File("listed").list();
                  new ProcessBuilder("cat", "input.txt").start().waitFor();
                  ReaderTest.class.getResourceAsStream("/resource.txt").readAllBytes();
                  System.getProperty("mode");"#;
    let project = project("moved", body);
    for name in ["data.txt", "listed/entry", "input.txt", "resources/resource.txt"] {
        write(&project, name, "first");
    }
    let data = |project: &SmallProject| format!("-Ddata={}", project.folder.join("data.txt").display());
    project.record(ROOTS, &[&data(&project)], BOTH);
    let elsewhere = scratch("selection-outside").join("moved-elsewhere");
    let _ = fs::remove_dir_all(&elsewhere);
    let copied = Command::new("cp").arg("-r").args([&project.folder, &elsewhere]).status().unwrap();
    assert!(copied.success());
    fs::remove_dir_all(&project.folder).unwrap();
    let project = SmallProject { folder: elsewhere, home: project.home };
    project.must_run(ROOTS, &[&data(&project)], NOBODY);
    selects_nothing(&project, "moved");
    write(&project, "data.txt", "other");
    selects_reader(&project, "file", "data.txt");
    write(&project, "data.txt", "first");
    write(&project, "absent.txt", "");
    selects_reader(&project, "file", "absent.txt");
    remove(&project, "absent.txt");
    write(&project, "listed/other", "");
    selects_reader(&project, "directory", "listed");
}

/// Runs a reader, and then a class that waits until somebody else has done something: the reader is run next time.
fn is_selected_after(name: &str, body: &str, prepare: impl FnOnce(&SmallProject), meanwhile: impl FnOnce(&Path)) {
    let project = project(name, body);
    // Without a port it waits for nobody.
    let waits = r#"Integer port = Integer.getInteger("port");
                   if (port != null) try (var socket = new java.net.Socket("127.0.0.1", port)) {
                       socket.getInputStream().read();
                   }"#;
    compile(&project, body, &[test_class("WaitsTest", waits)]);
    prepare(&project);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("-Dport={}", listener.local_addr().unwrap().port());
    let run = project.command(ROOTS, &[&port]);
    let told = std::thread::scope(|scope| {
        let run = scope.spawn(|| project.told_by(run));
        let (mut stream, _) = listener.accept().unwrap();
        meanwhile(&project.folder);
        stream.write_all(b"!").unwrap();
        run.join().unwrap()
    });
    assert_eq!(told.code, Some(0), "{}", told.said);
    let next = project.run(ROOTS, &[]);
    assert_eq!(next.ran, set(&["ReaderTest", "WaitsTest"]), "{name}: {}", next.document);
    selects_nothing(&project, "all was seen");
}

#[test]
fn a_file_that_somebody_else_changes_while_the_tests_run_selects_its_reader_next_time() {
    let put = |file: &'static str| move |project: &SmallProject| write(project, file, "first");
    is_selected_after("meanwhile-read", "Files.readString(Path.of(\"data.txt\"));", put("data.txt"), |folder| {
        fs::write(folder.join("data.txt"), "other").unwrap();
    });
}

#[test]
fn a_file_that_somebody_else_removes_while_the_tests_run_selects_its_reader_next_time() {
    let put = |file: &'static str| move |project: &SmallProject| write(project, file, "first");
    let body = "if (Files.exists(Path.of(\"data.txt\"))) Files.readString(Path.of(\"data.txt\"));";
    is_selected_after("meanwhile-removed", body, put("data.txt"), |folder| {
        fs::remove_file(folder.join("data.txt")).unwrap();
    });
}

#[test]
fn a_file_that_somebody_else_makes_while_the_tests_run_selects_who_looked_for_it_next_time() {
    is_selected_after(
        "meanwhile-made",
        "new File(\"data.txt\").exists();",
        |_| {},
        |folder| {
            fs::write(folder.join("data.txt"), "there").unwrap();
        },
    );
}

#[test]
fn an_entry_that_somebody_else_makes_while_the_tests_run_selects_who_listed_its_folder_next_time() {
    let prepare = |project: &SmallProject| write(project, "listed/entry", "first");
    is_selected_after("meanwhile-listed", "new File(\"listed\").list();", prepare, |folder| {
        fs::write(folder.join("listed/other"), "").unwrap();
    });
}
