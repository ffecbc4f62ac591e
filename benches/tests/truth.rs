//! A few small suites of `untether-bench truth`, with the limits of the large run: everything found, nothing false,
//! causes right.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

/// The program, which cargo does not build for a test of another package.
fn build_product() {
    let bench = Path::new(env!("CARGO_BIN_EXE_untether-bench"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "untether"]);
    if bench.parent().unwrap().ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
    assert!(built.success(), "the product does not build");
}

#[test]
fn everything_that_brute_force_finds_is_found_and_its_cause_is_named() {
    build_product();
    let output = Command::new(env!("CARGO_BIN_EXE_untether-bench"))
        .args(["truth", "--seed", "20261116", "--suites", "3", "--tests", "8", "--triples", "5"])
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}\n{said}");
}
