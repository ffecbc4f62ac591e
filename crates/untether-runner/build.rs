//! Makes what the library embeds: the classes of the worker, which it puts into a jar when it starts one, and the agent
//! library, which it unpacks. Cargo has no dependencies on libraries for loading, so the agent is built by a cargo of its own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let source = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../java/worker");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo"));
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let worker = out.join("worker");
    let shared = source.join("../shared");
    println!("cargo::rerun-if-changed={}", shared.display());
    let frames = out.join("Frames.java");
    fs::write(&frames, untether_wire::worker_frames("untether", "Frames", "Results"))
        .expect("the output folder is writable");
    let sources = [files(&source.join("untether"), "java"), files(&shared, "java"), vec![frames]].concat();
    compile(&sources, None, &worker);
    // Subclasses of JUnit's own classes: compiled against stand-ins, and defined by the worker when JUnit is there.
    let stubs = out.join("stubs");
    compile(&files(&source.join("stubs"), "java"), None, &stubs);
    let junit4 = out.join("junit4");
    compile(&files(&source.join("junit4"), "java"), Some(&stubs), &junit4);

    let maven = build_extension(&source.join("../maven"), &out);
    let of_worker = jar_table("WORKER_FILES", &[(&worker, "class"), (&junit4, "bytes")]);
    fs::write(out.join("worker_files.rs"), of_worker + &maven).expect("the output folder is writable");

    let agent = build_agent(&source.join("../.."), &out.join("agent"));
    println!("cargo::rustc-env=UNTETHER_EMBEDDED_AGENT={}", agent.display());
}

/// The extension of Maven, compiled against stand-ins of Maven's own classes.
fn build_extension(source: &Path, out: &Path) -> String {
    println!("cargo::rerun-if-changed={}", source.display());
    let (stubs, classes) = (out.join("maven-stubs"), out.join("maven"));
    compile(&files(&source.join("stubs"), "java"), None, &stubs);
    compile(&files(&source.join("untether"), "java"), Some(&stubs), &classes);
    let components = source.join("components.xml");
    let components = components.canonicalize().expect("the description of the extension is there");
    let mut table = jar_table("EXTENSION_FILES", &[(&classes, "class")]);
    table.truncate(table.len() - "];\n".len());
    table.push_str(&format!("    (\"META-INF/plexus/components.xml\", include_bytes!({components:?})),\n];\n"));
    table
}

/// A constant with what is put into a jar: the classes below each folder, with the extension that they have there.
fn jar_table(name: &str, roots: &[(&Path, &str)]) -> String {
    let mut table = format!("/// Names in the jar, and contents.\nconst {name}: &[(&str, &[u8])] = &[\n");
    for (root, extension) in roots {
        for file in files(root, "class") {
            let name = file.strip_prefix(root).expect("below the root").with_extension(extension);
            table.push_str(&format!("    ({:?}, include_bytes!({:?})),\n", name.display().to_string(), file));
        }
    }
    table.push_str("];\n");
    table
}

/// Builds the agent as it is shipped, whatever profile we are built with, and gives the library's path.
fn build_agent(workspace: &Path, target_directory: &Path) -> PathBuf {
    const PROFILE: &str = "embedded";
    let target = env::var("TARGET").expect("set by cargo");
    let mut cargo = Command::new(env::var_os("CARGO").expect("set by cargo"));
    cargo.args(["build", "--package", "untether-agent", "--profile", PROFILE, "--target", &target]);
    if workspace.join("Cargo.lock").exists() {
        cargo.arg("--locked");
    }
    cargo.arg("--target-dir").arg(target_directory).current_dir(workspace);
    // The folder of the outer cargo is locked. Its jobserver, flags, compiler and cache (RUSTC_WRAPPER) are passed on in
    // the environment; a linter that stands before the compiler for our own crates (RUSTC_WORKSPACE_WRAPPER) is not for this.
    cargo.env("CARGO_BUILD_BUILD_DIR", target_directory).env_remove("RUSTC_WORKSPACE_WRAPPER");
    match cargo.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("building the agent failed with {status}"),
        Err(error) => panic!("cannot start cargo for the agent: {error}"),
    }
    let library = target_directory.join(target).join(PROFILE).join("libuntether_agent.so");
    for changing in ["Cargo.toml", "Cargo.lock", "crates/untether-agent/Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", workspace.join(changing).display());
    }
    // What the build itself made is always newer than its beginning.
    let sources = sources_of(&library).into_iter().filter(|source| !source.starts_with(target_directory));
    sources.for_each(|source| println!("cargo::rerun-if-changed={}", source.display()));
    library
}

/// What cargo built the library from, of this workspace: `LIBRARY: SOURCE SOURCE ...`, spaces in names escaped.
fn sources_of(library: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(library.with_extension("d")).expect("cargo lists the sources beside the library");
    let (_, sources) = list.trim_end().split_once(": ").expect("cargo's list has a colon");
    let marked = sources.replace("\\ ", "\0");
    marked.split(' ').map(|source| PathBuf::from(source.replace('\0', " "))).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn compile(sources: &[PathBuf], class_path: Option<&Path>, destination: &Path) {
    // What an earlier build left must not be embedded.
    let _ = fs::remove_dir_all(destination);
    fs::create_dir_all(destination).expect("the output folder is writable");
    let javac = match env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => Path::new(&home).join("bin/javac"),
        _ => PathBuf::from("javac"),
    };
    let mut command = Command::new(&javac);
    command.args(["-source", "11", "-target", "11", "-nowarn", "-Xlint:-options", "-d"]).arg(destination);
    if let Some(class_path) = class_path {
        command.arg("-cp").arg(class_path);
    }
    match command.args(sources).status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{} failed with {status}", javac.display()),
        Err(error) => panic!("cannot start {}: {error}; install a JDK of 17 or newer", javac.display()),
    }
}
