//! What native code does outside of the heap: a small library through JNI, processes that it forks without starting a program,
//! programs that cannot be watched, and a disk that is full.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{class_path_with, command, fresh, jdks, text, untether};

const LIBRARY: &str = r#"
#include <jni.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (file) { fputs(text, file); fclose(file); }
}

JNIEXPORT void JNICALL Java_Native_write(JNIEnv *env, jclass type, jstring path, jstring text) {
    const char *name = (*env)->GetStringUTFChars(env, path, 0), *content = (*env)->GetStringUTFChars(env, text, 0);
    put(name, content);
    (*env)->ReleaseStringUTFChars(env, path, name);
    (*env)->ReleaseStringUTFChars(env, text, content);
}

JNIEXPORT jint JNICALL Java_Native_first(JNIEnv *env, jclass type, jstring path) {
    const char *name = (*env)->GetStringUTFChars(env, path, 0);
    FILE *file = fopen(name, "r");
    int letter = file ? fgetc(file) : -1;
    if (file) fclose(file);
    (*env)->ReleaseStringUTFChars(env, path, name);
    return letter;
}

/* Two hundred copies of the process that end without having become another program. */
JNIEXPORT jint JNICALL Java_Native_fork(JNIEnv *env, jclass type, jstring path) {
    const char *name = (*env)->GetStringUTFChars(env, path, 0);
    int ended = 0;
    for (int number = 0; number < 200; number++) {
        pid_t child = fork();
        if (child == 0) {
            if (number == 7) put(name, "forked");
            _exit(0);
        }
        int status;
        if (child > 0 && waitpid(child, &status, 0) == child && status == 0) ended++;
    }
    (*env)->ReleaseStringUTFChars(env, path, name);
    return ended;
}
"#;

const NATIVE: &str = r#"final class Native {
    static { System.loadLibrary("small"); }
    static native void write(String path, String text);
    static native int first(String path);
    static native int fork(String path);
}"#;

fn test(name: &str, body: &str) -> (String, String) {
    (
        format!("{name}.java"),
        format!("class {name} {{ @org.junit.jupiter.api.Test void t() throws Exception {{ {body} }} }}"),
    )
}

/// A project with the library, watched.
fn watched(name: &str, tests: &[(String, String)]) -> (PathBuf, String) {
    let folder = fresh("external-native", name);
    let home = jdks().into_iter().next().unwrap();
    let include = home.join("include");
    let source = folder.join("small.c");
    fs::write(&source, LIBRARY).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.join("libsmall.so"))
        .arg(&source)
        .arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(include.join("linux"))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    let mut sources: Vec<(&str, &str)> = vec![("Native.java", NATIVE)];
    sources.extend(tests.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let class_path = class_path_with(&folder, &sources);
    (folder, class_path)
}

fn detect(folder: &Path, class_path: &str) -> String {
    let option = format!("--jvm-arg=-Djava.library.path={}", folder.display());
    let java = jdks().first().unwrap().display().to_string();
    let output = untether(folder, &["detect", "--classpath", class_path, "--java", &java, &option]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stderr)
}

/// `WRITER -> READER: file:...` of all data dependencies.
fn dependencies(folder: &Path) -> BTreeSet<String> {
    let output = untether(folder, &["deps", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tests = document["tests"].as_array().unwrap();
    let name = |index: &Value| tests.iter().find(|test| test["index"] == *index).unwrap()["id"].as_str().unwrap();
    let mut found = BTreeSet::new();
    for dependency in document["dependencies"].as_array().unwrap() {
        for channel in dependency["channels"].as_array().unwrap() {
            for resource in channel["resources"].as_array().unwrap() {
                let resource = document["resources"][resource.as_u64().unwrap() as usize]["name"].as_str().unwrap();
                if resource.starts_with("file:") {
                    found.insert(format!("{} -> {}: {resource}", name(&dependency["from"]), name(&dependency["to"])));
                }
            }
        }
    }
    found
}

#[test]
fn what_native_code_writes_and_reads_is_the_running_tests() {
    let tests = [
        test("AWritesTest", r#"Native.write("made.txt", "n");"#),
        test("BReadsTest", r#"if (Native.first("made.txt") != 'n') throw new IllegalStateException();"#),
        test("CForksTest", r#"if (Native.fork("forked.txt") != 200) throw new IllegalStateException();"#),
        test("DReadsTest", r#"if (Native.first("forked.txt") != 'f') throw new IllegalStateException();"#),
        test("ESeesNothingTest", r#"if (Native.first("other.txt") != -1) throw new IllegalStateException();"#),
    ];
    let (folder, class_path) = watched("jni", &tests);
    detect(&folder, &class_path);
    let expected = ["AWritesTest#t -> BReadsTest#t: file:made.txt", "CForksTest#t -> DReadsTest#t: file:forked.txt"];
    assert_eq!(dependencies(&folder), expected.map(str::to_owned).into());
}

#[test]
fn a_program_that_cannot_be_watched_is_told_and_runs_as_it_would() {
    let tests = [
        test(
            "AStartsTest",
            r#"
            Process process = new ProcessBuilder("./alone").start();
            if (process.waitFor() != 3) throw new IllegalStateException();"#,
        ),
        test("BPassesTest", ""),
    ];
    let (folder, class_path) = watched("static", &tests);
    fs::write(folder.join("alone.c"), "int main(void) { return 3; }").unwrap();
    let compiled =
        Command::new("cc").args(["-static", "-o", "alone", "alone.c"]).current_dir(&folder).output().unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    detect(&folder, &class_path);
    let doctor = text(&untether(&folder, &["doctor"]).stdout);
    assert!(doctor.contains("what './alone' does with files is not seen"), "{doctor}");
}

/// A test that runs a program, which was compiled so: what the doctor says.
fn doctor_on(name: &str, source: &str, mode: u32) -> String {
    use std::os::unix::fs::PermissionsExt as _;

    let tests = [test("ARunsTest", "new ProcessBuilder(\"./program\").start().waitFor();")];
    let (folder, class_path) = watched(name, &tests);
    fs::write(folder.join("program.c"), source).unwrap();
    let compiled = Command::new("cc").args(["-o", "program", "program.c"]).current_dir(&folder).output().unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    fs::set_permissions(folder.join("program"), fs::Permissions::from_mode(mode)).unwrap();
    detect(&folder, &class_path);
    text(&untether(&folder, &["doctor"]).stdout)
}

#[test]
fn programs_that_call_the_system_by_themselves_or_with_other_rights_are_told() {
    // As Go's linker marks its programs.
    let note = "struct note { int name, content, kind; char owner[4]; char id[4]; };
                __attribute__((section(\".note.go.buildid\"), aligned(4), used))
                static const struct note made_by = { 4, 4, 4, \"Go\\0\", \"id\" };
                int main(void) { return 0; }";
    let doctor = doctor_on("go", note, 0o755);
    assert!(doctor.contains("what './program' does with files is not seen: it calls the system"), "{doctor}");
    let plain = "int main(void) { return 0; }";
    let doctor = doctor_on("set-uid", plain, 0o4755);
    assert!(doctor.contains("not seen: it runs with the rights of somebody else"), "{doctor}");
    let doctor = doctor_on("plain", plain, 0o755);
    assert!(doctor.contains("everything was watched"), "{doctor}");
}

#[test]
fn on_a_disk_that_is_full_tests_come_to_the_same_and_it_is_said_what_is_missing() {
    let body = r#"for (int number = 0; number < 2000; number++)
        try { java.nio.file.Files.writeString(java.nio.file.Path.of("small.txt"), "x" + number); }
        catch (java.io.IOException full) { throw new IllegalStateException(full); }"#;
    let tests = [test("AWritesTest", body), test("BPassesTest", "")];
    let (folder, class_path) = watched("full", &tests);
    let java = jdks().first().unwrap().display().to_string();
    for blocks in [8u32, 64, 400] {
        // Blocks of 512 bytes that a file may have: what is written beyond fails, as on a full disk.
        let store = folder.join(format!("store-{blocks}"));
        let run = command(&folder, &[]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]).arg(run.get_program());
        limited.arg("--store").arg(&store).args(["detect", "--classpath", &class_path, "--java", &java]);
        limited.arg("--jvm-arg=-XX:-UsePerfData").current_dir(&folder).env("XDG_CACHE_HOME", support::scratch("cache"));
        let output = limited.output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains("panicked"), "{blocks}: {said}");
        // Either it could not begin or be kept, which is said, or it tells of the tests, all of which passed.
        match output.status.code() {
            Some(0) => assert!(said.contains("2 tests"), "{blocks}: {said}"),
            code => {
                assert!(code.is_some_and(|code| code >= 2) && said.contains("untether:"), "{blocks}: {code:?} {said}")
            }
        }
    }
    // With room, all is as ever.
    detect(&folder, &class_path);
}
