//! Every class of every JDK on this machine still links, verified, when it was woven.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../untether-classfile/tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use support::{Jdk, jdks, scratch};
use untether_wire::{AgentOptions, Frame, Reader};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The agent library, built with the profile of this test and into the same target folder.
fn agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    let profile = match built.file_name().and_then(|name| name.to_str()).unwrap() {
        "debug" => "dev",
        profile => profile,
    };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "untether-agent", "--profile", profile, "--target-dir"])
        .arg(built.parent().unwrap())
        .current_dir(repository())
        .status()
        .unwrap();
    assert!(status.success(), "the agent does not build");
    let path = built.join("libuntether_agent.so");
    assert!(path.exists(), "{} is missing", path.display());
    path
}

/// `LinkEverything`, compiled by the JDK that it is to look at.
fn compiled(jdk: &Jdk) -> PathBuf {
    let out = scratch("link-everything").join(jdk.label());
    let source = repository().join("java/checks/LinkEverything.java");
    let output = jdk.command("javac").arg("-d").arg(&out).arg(source).output().unwrap();
    assert!(output.status.success(), "javac: {}", String::from_utf8_lossy(&output.stderr));
    out
}

/// The line with the counts that `LinkEverything` prints first.
fn link_everything(jdk: &Jdk, classes: &Path, options: &[String]) -> String {
    let output = jdk
        .command("java")
        .args(["--add-modules=ALL-SYSTEM", "-Xverify:all", "-Xshare:off"])
        // Each class is looked at once: compiling well and collecting in parallel do not pay.
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
        .args(options)
        .arg("-cp")
        .arg(classes)
        .arg("LinkEverything")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}, {options:?}: {}\n{printed}\n{errors}", jdk.home.display(), output.status);
    printed.lines().find(|line| line.starts_with("linked=")).unwrap().to_owned()
}

/// All frames of the only trace in the folder.
fn frames(traces: &Path) -> Vec<Frame> {
    let mut reader = Reader::<Frame>::new();
    let files = fs::read_dir(traces).unwrap().map(|entry| entry.unwrap().path());
    let [trace] = &files.filter(|path| !path.ends_with("agent-options")).collect::<Vec<_>>()[..] else {
        panic!("one JVM writes one trace");
    };
    reader.feed(&fs::read(trace).unwrap());
    std::iter::from_fn(|| reader.next_frame().unwrap()).collect()
}

/// An empty folder for the trace, but for the agent's options in it.
fn prepared_traces(jdk: &Jdk) -> PathBuf {
    let traces = scratch("link-traces").join(jdk.label());
    let _ = fs::remove_dir_all(&traces);
    fs::create_dir_all(&traces).unwrap();
    let options = AgentOptions { trace_directory: traces.clone(), ..AgentOptions::default() };
    fs::write(traces.join("agent-options"), options.to_text()).unwrap();
    traces
}

#[test]
fn every_woven_class_of_every_jdk_links() {
    let agent = agent();
    for jdk in jdks() {
        let home = jdk.home.display();
        let classes = compiled(&jdk);
        let traces = prepared_traces(&jdk);
        let agent_path = format!("-agentpath:{}={}", agent.display(), traces.join("agent-options").display());
        let (plain, woven) = thread::scope(|scope| {
            let plain = scope.spawn(|| link_everything(&jdk, &classes, &[]));
            let woven = link_everything(&jdk, &classes, &[agent_path]);
            (plain.join().unwrap(), woven)
        });
        assert_eq!(woven, plain, "{home}");
        assert!(woven.ends_with(" broken=0"), "{home}: {woven}");

        let frames = frames(&traces);
        assert!(matches!(frames.first(), Some(Frame::Launch { .. })), "{home}: the agent was not there");
        assert_eq!(frames.last(), Some(&Frame::End {}), "{home}");
        let refusals: Vec<&Frame> = frames.iter().filter(|frame| matches!(frame, Frame::Refusal { .. })).collect();
        assert!(refusals.is_empty(), "{home}: {refusals:#?}");
    }
}
