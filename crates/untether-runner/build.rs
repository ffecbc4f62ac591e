//! Compiles the worker's main class, which the library embeds as a jar's only content.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let source = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../java/worker");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo"));
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let javac = match env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => Path::new(&home).join("bin/javac"),
        _ => PathBuf::from("javac"),
    };
    let status = Command::new(&javac)
        .args(["-source", "11", "-target", "11", "-nowarn", "-Xlint:-options", "-d"])
        .arg(&out)
        .arg(source.join("untether/Worker.java"))
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{} failed with {status}", javac.display()),
        Err(error) => panic!("cannot start {}: {error}; install a JDK of 17 or newer", javac.display()),
    }
}
