//! Compiles the Java half of the agent and embeds its classes.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../java/runtime");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo")).join("classes");
    println!("cargo::rerun-if-changed={}", root.display());
    println!("cargo::rerun-if-env-changed=JAVA_HOME");

    let mut sources: Vec<PathBuf> = fs::read_dir(root.join("java/lang"))
        .expect("java/runtime is part of the repository")
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "java"))
        .collect();
    sources.sort();
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).expect("cargo's output folder is writable");
    let events = out.join("../UntetherEvents.java");
    fs::write(&events, untether_wire::java_constants("java.lang", "UntetherEvents", &untether_frameworks::events()))
        .expect("cargo's output folder is writable");
    sources.push(events);
    let facts = out.join("../UntetherFacts.java");
    let values = untether_wire::facts::field_facts();
    fs::write(&facts, untether_wire::java_constants("java.lang", "UntetherFacts", &values))
        .expect("cargo's output folder is writable");
    sources.push(facts);
    let frames = out.join("../UntetherFrames.java");
    fs::write(&frames, untether_wire::runtime_frames("java.lang", "UntetherFrames", "UntetherTrace"))
        .expect("cargo's output folder is writable");
    sources.push(frames);
    sources.push(shared_names(&root.join("../shared/untether/UntetherNames.java"), &out));

    let javac = match env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => Path::new(&home).join("bin/javac"),
        _ => PathBuf::from("javac"),
    };
    // Class files of Java 11 (55), without the invokedynamic that string concatenation would bring:
    // they run inside java.base before it is up.
    let status = Command::new(&javac)
        .args(["-source", "11", "-target", "11", "-g", "-XDstringConcat=inline", "-nowarn", "-Xlint:-options"])
        .arg(format!("--patch-module=java.base={}", root.display()))
        .arg("-d")
        .arg(&out)
        .args(&sources)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{} failed with {status}", javac.display()),
        Err(error) => panic!("cannot start {}: {error}; install a JDK of 17 or newer", javac.display()),
    }

    let mut classes: Vec<PathBuf> = fs::read_dir(out.join("java/lang"))
        .expect("javac made the folder")
        .map(|entry| entry.expect("readable folder").path())
        .collect();
    // Each is defined as it stands there: what others extend comes first.
    classes.sort_by_key(|class| (!class.ends_with("UntetherSlot.class"), class.clone()));
    let mut table = String::from("pub(crate) static CLASSES: &[(&str, &[u8])] = &[\n");
    for class in classes {
        let stem = class.file_stem().expect("class files have names").to_string_lossy();
        writeln!(table, "    (\"java/lang/{stem}\", include_bytes!({:?})),", class.display().to_string())
            .expect("writing to a string");
    }
    table.push_str("];\n");
    fs::write(out.join("../runtime_classes.rs"), table).expect("cargo's output folder is writable");
}

/// The names of tests are made by the same source here and in the worker, each in its own package.
fn shared_names(source: &Path, out: &Path) -> PathBuf {
    println!("cargo::rerun-if-changed={}", source.display());
    let text = fs::read_to_string(source).expect("java/shared is part of the repository");
    let copy = out.join("../UntetherNames.java");
    fs::write(&copy, text.replace("package untether;", "package java.lang;"))
        .expect("cargo's output folder is writable");
    copy
}
