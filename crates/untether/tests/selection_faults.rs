//! Whatever goes wrong with a selective run: tests are run rather than skipped, it is said, and the next run selects right.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use support::small::programs::Chance;
use support::small::{SmallProject, Told, set};
use support::{is_alive, text, wait_for};

const ALL: &[&str] = &["AUserTest", "BHangsTest", "CUserTest", "DOtherTest"];
const USERS: &[&str] = &["AUserTest", "BHangsTest", "CUserTest"];
const ROOTS: &[&str] = &["classes", "library"];

/// All but the last use `lib.Value`; the second hangs where there is a pipe "gate", until somebody writes into it, and says in which
/// process.
const TESTS: &[(&str, &str)] = &[
    ("AUserTest.java", "class AUserTest { @org.junit.jupiter.api.Test void uses() { lib.Value.get(); } }"),
    (
        "BHangsTest.java",
        "import java.nio.file.*;
         class BHangsTest {
             @org.junit.jupiter.api.Test void hangs() throws Exception {
                 lib.Value.get();
                 if (!Files.exists(Path.of(\"gate\"))) return;
                 // Opened for both, it does not wait for somebody at its other end.
                 try (var gate = new java.io.RandomAccessFile(\"gate\", \"rw\")) {
                     Files.write(Path.of(\"hanging.tmp\"), Long.toString(ProcessHandle.current().pid()).getBytes());
                     Files.move(Path.of(\"hanging.tmp\"), Path.of(\"hanging\"));
                     gate.read();
                 }
             }
         }",
    ),
    ("CUserTest.java", "class CUserTest { @org.junit.jupiter.api.Test void uses() { lib.Value.get(); } }"),
    ("DOtherTest.java", "class DOtherTest { @org.junit.jupiter.api.Test void passes() {} }"),
];

fn give(project: &SmallProject, value: usize) {
    let source = format!("package lib; public class Value {{ public static int get() {{ return {value}; }} }}");
    project.compile("library", &[], &[("Value.java", &source)]);
}

fn recorded(name: &str) -> SmallProject {
    let project = SmallProject::new("selection-faults", name);
    give(&project, 0);
    project.compile("classes", &["library"], TESTS);
    project.record(ROOTS, &[], ALL);
    project
}

fn send(signal: &str, process: u32) {
    // It may be gone already.
    let _ = Command::new("kill").arg(format!("-{signal}")).arg(process.to_string()).stderr(Stdio::null()).status();
}

fn started(project: &SmallProject) -> Child {
    project.forget();
    project.command(ROOTS, &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

/// Starts a run that comes to the test that hangs, and gives the process of its JVM.
fn hanging(project: &SmallProject) -> (Child, u32) {
    let _ = fs::remove_file(project.folder.join("hanging"));
    let _ = fs::remove_file(project.folder.join("gate"));
    assert!(Command::new("mkfifo").arg(project.folder.join("gate")).status().unwrap().success());
    let child = started(project);
    let text = wait_for("the test that hangs", || fs::read_to_string(project.folder.join("hanging")).ok());
    (child, text.parse().unwrap())
}

/// The test that hangs goes on, and later ones do not hang.
fn release(project: &SmallProject) {
    let gate = project.folder.join("gate");
    fs::write(&gate, "go").unwrap();
    fs::remove_file(gate).unwrap();
}

/// It was killed; later ones do not hang.
fn clear(project: &SmallProject) {
    fs::remove_file(project.folder.join("gate")).unwrap();
}

/// What was not understood, or crashed, is no clear message.
fn assert_clear(said: &str) {
    assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{said}");
}

/// Runs what is selected, and then nothing.
fn assert_goes_on(project: &SmallProject, tests: &[&str]) {
    let told = project.must_run(ROOTS, &[], tests);
    assert_eq!(told.code, Some(0), "{}", told.said);
    project.must_run(ROOTS, &[], &[]);
}

// ---- interrupted

#[test]
fn what_a_killed_jvm_had_begun_or_not_yet_begun_is_run_again() {
    let project = recorded("killed-jvm");
    give(&project, 1);
    let (child, jvm) = hanging(&project);
    send("KILL", jvm);
    let (code, said) = ended(child);
    clear(&project);
    assert_ne!(code, Some(0), "{said}");
    assert_clear(&said);
    // As it was when all had passed: still it is not known what became of them.
    give(&project, 0);
    let told = project.select();
    assert_eq!(told.selected, set(&["BHangsTest", "CUserTest"]), "{:?}", told.document);
    give(&project, 1);
    let told = project.select();
    assert_eq!(told.selected, set(&["BHangsTest", "CUserTest"]), "{:?}", told.document);
    assert_eq!((told.reasons_of("BHangsTest"), told.reasons_of("CUserTest")), (vec!["unfinished"], vec!["unfinished"]));
    assert_goes_on(&project, &["BHangsTest", "CUserTest"]);
}

#[test]
fn what_ran_when_untether_was_killed_is_run_again() {
    let project = recorded("killed-untether");
    give(&project, 1);
    let (mut child, jvm) = hanging(&project);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the end of the JVM", || (!is_alive(jvm)).then_some(()));
    clear(&project);
    give(&project, 0);
    assert_eq!(project.select().selected, set(USERS));
    assert_goes_on(&project, USERS);
}

#[test]
fn what_ran_when_untether_was_interrupted_is_run_again_and_what_had_passed_is_not() {
    let project = recorded("interrupted");
    give(&project, 1);
    let (child, jvm) = hanging(&project);
    send("TERM", child.id());
    let (code, said) = ended(child);
    assert_eq!(code, Some(143), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    wait_for("the end of the JVM", || (!is_alive(jvm)).then_some(()));
    clear(&project);
    assert_eq!(project.select().selected, set(&["BHangsTest", "CUserTest"]));
    assert_goes_on(&project, &["BHangsTest", "CUserTest"]);
}

/// The JVMs below a process.
fn jvms_below(process: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|number| number.parse::<u32>().ok()));
    }
    found
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_nothing_to_be_wrongly_skipped() {
    const MOMENTS: u32 = 50;
    // The same each time, so that what passed here passes elsewhere.
    let mut chance = Chance::new(20_261_119);
    let project = recorded("any-moment");
    give(&project, 1);
    let start = Instant::now();
    project.must_run(ROOTS, &[], USERS);
    let whole = start.elapsed();
    let mut killed = 0;
    for number in 0..MOMENTS {
        let value = number as usize + 2;
        give(&project, value);
        let mut child = started(&project);
        let begun = Instant::now();
        let moment = whole.mul_f64(chance.below(1000) as f64 / 1000.0);
        // Nothing depends on when this is; only where it hits differs.
        while begun.elapsed() < moment && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let jvms = jvms_below(child.id());
        let is_over = child.try_wait().unwrap().is_some();
        match jvms.first().filter(|_| number % 2 == 1) {
            Some(&jvm) => send("KILL", jvm),
            None => send("KILL", child.id()),
        }
        let (_, said) = ended(child);
        assert_clear(&said);
        killed += usize::from(!is_over);
        wait_for("the end of the JVMs", || (!jvms.iter().any(|&jvm| is_alive(jvm))).then_some(()));
        let passed = project.ended();
        let told = project.select();
        assert_eq!(told.code, Some(0), "{}", told.said);
        for test in set(USERS).difference(&told.selected) {
            assert!(passed.contains(test), "{test} was not run, and is skipped after {moment:?}: {:?}", told.document);
        }
        let selected: Vec<&str> = told.selected.iter().map(String::as_str).collect();
        let again = project.must_run(ROOTS, &[], &selected);
        assert_eq!(again.code, Some(0), "{}", again.said);
        assert_eq!(project.select().selected, set(&[]));
    }
    assert!(killed > 0, "every run was over before it was to be killed");
}

#[test]
fn two_runs_at_once_on_one_store_both_run_what_changed_and_both_are_kept() {
    let project = recorded("two-at-once");
    for value in 1..4 {
        give(&project, value);
        project.forget();
        let children: Vec<Child> =
            (0..2).map(|_| project.command(ROOTS, &[]).stdout(Stdio::piped()).spawn().unwrap()).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        }
        assert_eq!(project.ran(), set(USERS));
        project.must_run(ROOTS, &[], &[]);
        let store = Connection::open(project.folder.join(".untether/store.sqlite")).unwrap();
        let state: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(state, "ok");
    }
}

#[test]
fn a_run_beside_one_that_is_killed_says_nothing_of_what_that_one_ran() {
    let project = recorded("beside-another");
    give(&project, 1);
    let (child, jvm) = hanging(&project);
    fs::rename(project.folder.join("gate"), project.folder.join("other-gate")).unwrap();
    give(&project, 2);
    let beside = project.run(ROOTS, &[]);
    assert_eq!((beside.code, beside.ran), (Some(0), set(USERS)), "{}", beside.said);
    send("KILL", jvm);
    let (code, said) = ended(child);
    assert_ne!(code, Some(0), "{said}");
    assert_clear(&said);
    give(&project, 1);
    assert_goes_on(&project, &["BHangsTest", "CUserTest"]);
    give(&project, 2);
    project.must_run(ROOTS, &[], &[]);
}

#[test]
fn what_is_compiled_while_tests_run_does_not_count_as_what_they_used() {
    let project = recorded("compiled-meanwhile");
    give(&project, 1);
    let (child, _) = hanging(&project);
    give(&project, 2);
    release(&project);
    let (code, said) = ended(child);
    assert_eq!((code, project.ended()), (Some(0), set(USERS)), "{said}");
    assert_goes_on(&project, USERS);
}

#[test]
fn a_store_that_is_deleted_while_tests_run_costs_no_test() {
    let project = recorded("deleted-meanwhile");
    give(&project, 1);
    let (child, _) = hanging(&project);
    fs::remove_dir_all(project.folder.join(".untether")).unwrap();
    release(&project);
    let (code, said) = ended(child);
    assert_clear(&said);
    assert!(said.contains("was removed meanwhile"), "{said}");
    assert_eq!((code, project.ended()), (Some(0), set(USERS)), "{said}");
    assert_goes_on(&project, ALL);
}

// ---- the store

#[test]
fn without_its_store_everything_is_run() {
    let project = recorded("deleted");
    fs::remove_dir_all(project.folder.join(".untether")).unwrap();
    let told = project.select();
    assert_eq!(told.code, Some(2), "{}", told.said);
    assert!(told.said.contains("no store in"), "{}", told.said);
    assert!(!project.folder.join(".untether").exists());
    assert_goes_on(&project, ALL);
}

/// What the first version of all would have left of it.
fn make_older(store: &Connection) {
    store.pragma_update(None, "foreign_keys", false).unwrap();
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let tables: Vec<String> =
        store.prepare(tables).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    tables.iter().for_each(|table| store.execute_batch(&format!("DROP TABLE {table}")).unwrap());
    store.pragma_update(None, "user_version", 0).unwrap();
}

fn make_newer(store: &Connection) {
    store.pragma_update(None, "user_version", 1000).unwrap();
}

#[test]
fn with_a_store_of_an_older_version_everything_is_run_and_it_is_of_this_one_then() {
    let project = recorded("older");
    make_older(&Connection::open(project.folder.join(".untether/store.sqlite")).unwrap());
    assert_goes_on(&project, ALL);
}

#[test]
fn a_store_of_a_newer_version_is_left_alone_and_everything_is_run() {
    let project = recorded("newer");
    make_newer(&Connection::open(project.folder.join(".untether/store.sqlite")).unwrap());
    let selected = project.select();
    assert!(selected.said.contains("written by a newer untether"), "{}", selected.said);
    assert_eq!(selected.code, Some(2), "{}", selected.said);
    for _ in 0..2 {
        let told = project.run(ROOTS, &[]);
        assert_eq!((told.code, &told.ran), (Some(0), &set(ALL)), "{}", told.said);
        assert!(told.said.contains("written by a newer untether"), "{}", told.said);
    }
}

/// The store as one file, without a log beside it.
fn settled(project: &SmallProject) -> Vec<u8> {
    let path = project.folder.join(".untether/store.sqlite");
    let store = Connection::open(&path).unwrap();
    store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(store);
    fs::read(path).unwrap()
}

fn put(project: &SmallProject, store: &[u8]) {
    for file in ["store.sqlite-wal", "store.sqlite-shm"] {
        let _ = fs::remove_file(project.folder.join(".untether").join(file));
    }
    fs::write(project.folder.join(".untether/store.sqlite"), store).unwrap();
}

/// Whoever uses what changed is run, or else it is said clearly why nothing is.
fn assert_runs_users(told: &Told, what: &str) {
    assert_clear(&told.said);
    for test in USERS {
        assert!(told.ran.contains(*test), "{what}: {test} is skipped: {} {}", told.document, told.said);
    }
    assert_eq!(told.code, Some(0), "{what}: {}", told.said);
}

#[test]
fn with_a_store_that_is_damaged_nothing_is_wrongly_skipped() {
    let project = recorded("damaged");
    let whole = settled(&project);
    give(&project, 1);
    let mut damaged: Vec<(String, Vec<u8>)> = vec![
        ("empty".to_owned(), Vec::new()),
        ("a text".to_owned(), b"this is no database\n".repeat(300)),
        ("half of it".to_owned(), whole[..whole.len() / 2].to_vec()),
        ("its first page".to_owned(), whole[..4096].to_vec()),
    ];
    for (number, byte) in [0u8, 1, 255].into_iter().cycle().take(9).enumerate() {
        let mut bytes = whole.clone();
        let at = whole.len() * number / 9;
        let end = (at + 3000).min(bytes.len());
        bytes[at..end].fill(byte);
        damaged.push((format!("{byte} from {at}"), bytes));
    }
    for (what, bytes) in damaged {
        put(&project, &bytes);
        let selected = project.select();
        assert_clear(&selected.said);
        if selected.code == Some(0) {
            assert!(set(USERS).is_subset(&selected.selected), "{what}: {} {}", selected.document, selected.said);
        } else {
            assert!(!selected.said.is_empty(), "{what}");
        }
        assert_runs_users(&project.run(ROOTS, &[]), &what);
    }
}

/// Damages a store in many ways; a store that is refused is no mistake. How many were read all the same, and how many refused.
fn assert_none_skips(
    project: &SmallProject,
    whole: &[u8],
    damages: impl Iterator<Item = (usize, usize, u8)>,
) -> (usize, usize) {
    let (mut understood, mut refused) = (0, 0);
    for (at, end, by) in damages {
        let mut bytes = whole.to_vec();
        bytes[at..end].iter_mut().enumerate().for_each(|(place, byte)| *byte = byte.wrapping_add(by + place as u8));
        put(project, &bytes);
        let told = project.select();
        assert_clear(&told.said);
        if told.code == Some(0) {
            understood += 1;
            let missed: Vec<_> = told.skipped.intersection(&set(USERS)).cloned().collect();
            assert!(missed.is_empty(), "damaged from {at} to {end} by {by}: {missed:?} skipped");
        } else {
            refused += 1;
            assert!(told.said.contains("store"), "damaged from {at} to {end} by {by}: {}", told.said);
        }
    }
    (understood, refused)
}

#[test]
fn no_damage_to_the_store_makes_selection_skip_what_changed() {
    let project = recorded("damaged-anywhere");
    let whole = settled(&project);
    give(&project, 1);
    let step = (whole.len() / 400).max(1);
    let places = (100..whole.len()).step_by(step).enumerate();
    let damages = places.map(|(number, at)| (at, (at + 1 + number % 40).min(whole.len()), 1));
    let (understood, refused) = assert_none_skips(&project, &whole, damages);
    assert!(understood > 0 && refused > 0, "{understood} stores were read, {refused} refused");
}

/// What is damaged in a list of classes are numbers of other classes, which are as they were.
#[test]
fn damage_to_a_record_is_noticed() {
    let project = SmallProject::new("selection-faults", "damaged-records");
    give(&project, 0);
    let names: Vec<String> = (0..40).map(|number| format!("Part{number}")).collect();
    let uses: String = names.iter().map(|name| format!("new {name}();")).collect();
    let other = format!("class DOtherTest {{ @org.junit.jupiter.api.Test void uses() {{ {uses} }} }}");
    let parts: String = names.iter().map(|name| format!("class {name} {{}}\n")).collect();
    let mut sources = TESTS.to_vec();
    sources[3] = ("DOtherTest.java", &other);
    sources.push(("Parts.java", &parts));
    project.compile("classes", &["library"], &sources);
    project.record(ROOTS, &[], ALL);
    let whole = settled(&project);
    let store = Connection::open(project.folder.join(".untether/store.sqlite")).unwrap();
    let of_test = "SELECT states FROM use_record WHERE class = 'AUserTest'";
    let states: Vec<u8> = store.query_row(of_test, [], |row| row.get(0)).unwrap();
    drop(store);
    give(&project, 1);
    let found = whole.windows(states.len()).enumerate().filter(|(_, window)| *window == states);
    let places: Vec<usize> = found.flat_map(|(at, _)| at..at + states.len()).collect();
    assert!(!places.is_empty());
    let by = [1u8, 2, 3, 5, 8, 13, 255];
    let damages = places.iter().flat_map(|&at| by.map(|by| (at, at + 1, by)));
    let (understood, refused) = assert_none_skips(&project, &whole, damages);
    assert_eq!((understood, refused), (0, places.len() * by.len()));
    let told = project.run(ROOTS, &[]);
    assert_runs_users(&told, "the last of them");
    assert!(told.said.contains("everything is run") && told.said.contains("delete its folder"), "{}", told.said);
}

// ---- the disk

#[test]
fn a_file_in_place_of_the_stores_folder_is_told_and_everything_is_run() {
    let project = recorded("file");
    fs::remove_dir_all(project.folder.join(".untether")).unwrap();
    fs::write(project.folder.join(".untether"), "something else").unwrap();
    for _ in 0..2 {
        let told = project.run(ROOTS, &[]);
        assert_eq!((told.code, &told.ran), (Some(0), &set(ALL)), "{}", told.said);
        assert!(told.said.contains("all tests are run"), "{}", told.said);
    }
    assert_eq!(fs::read_to_string(project.folder.join(".untether")).unwrap(), "something else");
}

/// The command with its folder mounted so that nothing can be written there, which root could otherwise; none where mounting is
/// not allowed.
fn read_only(command: &Command, folder: &Path) -> Option<Command> {
    let mounted = |script: &str| {
        let mut shell = Command::new("unshare");
        let mount = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && cd \"$0\" && ! touch probe 2>&-";
        shell.args(["--mount", "sh", "-c", &format!("{mount} && {script}")]).arg(folder);
        shell
    };
    let probe = mounted("true").output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut inside = mounted("exec \"$@\"");
    inside.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    Some(inside)
}

#[test]
fn in_a_checkout_that_cannot_be_written_to_everything_is_run_and_it_is_said_why() {
    let project = recorded("read-only");
    settled(&project);
    give(&project, 1);
    let Some(run) = read_only(&project.command(ROOTS, &[]), &project.folder) else {
        eprintln!("nothing can be mounted here");
        return;
    };
    let told = project.told_by(run);
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(set(USERS).is_subset(&told.ran), "{:?} {}", told.ran, told.said);
    assert!(told.said.contains("store"), "{}", told.said);
    let select = support::command(&project.folder, &["select", "--format", "json"]);
    let told = project.told_by(read_only(&select, &project.folder).unwrap());
    assert_eq!((told.code, told.selected), (Some(0), set(USERS)), "{}", told.said);
    assert_goes_on(&project, USERS);
    fs::remove_dir_all(project.folder.join(".untether")).unwrap();
    let told = project.told_by(read_only(&project.command(ROOTS, &[]), &project.folder).unwrap());
    assert_eq!((told.code, &told.ran), (Some(0), &set(ALL)), "{}", told.said);
    assert!(told.said.contains("all tests are run"), "{}", told.said);
}

#[test]
fn where_the_disk_is_full_tests_are_run_and_the_next_run_selects_right() {
    let project = recorded("full");
    // Blocks of 512 bytes that a file may have: what is written beyond fails, as on a full disk.
    for (number, blocks) in [1u32, 40, 64, 72, 100, 140, 180, 220, 300].into_iter().enumerate() {
        settled(&project);
        give(&project, number + 1);
        let run = project.command(ROOTS, &["-XX:-UsePerfData"]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
        limited.arg(run.get_program()).args(run.get_args()).current_dir(&project.folder);
        for (name, value) in run.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        let told = project.told_by(limited);
        assert_clear(&told.said);
        // What cannot even begin says so; nothing was skipped then.
        if told.code == Some(0) {
            assert!(set(USERS).is_subset(&told.ran), "{blocks}: {:?} {}", told.ran, told.said);
        } else {
            assert!(!told.said.is_empty() && told.skipped.is_empty(), "{blocks}: {}", told.said);
        }
        let selected = project.run(ROOTS, &["-XX:-UsePerfData"]);
        assert_eq!(selected.code, Some(0), "{blocks}: {}", selected.said);
        let missed: Vec<_> =
            set(USERS).difference(&selected.ran).filter(|it| !told.ran.contains(*it)).cloned().collect();
        assert!(missed.is_empty(), "{blocks}: {missed:?} ran in neither: {}", selected.document);
        assert_eq!(project.run(ROOTS, &["-XX:-UsePerfData"]).ran, set(&[]), "{blocks}");
    }
}
