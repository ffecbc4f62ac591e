//! How this JVM was started, read from the process itself; secrets by name only.

use std::fs;

use untether_wire::{Frame, LaunchFrame, Secrets, WithheldKind};

use crate::class_path;

/// The command line as given by whoever started us, without what we inject; then what was withheld of it.
pub(crate) fn capture(java_version: String, class_path: &str, secrets: &Secrets) -> Vec<Frame> {
    let mut withheld = Vec::new();
    let mut withhold = |kind, name: &str| withheld.push(Frame::Withheld { kind, name: name.to_owned() });
    let arguments = split(&fs::read("/proc/self/cmdline").unwrap_or_default())
        .into_iter()
        .skip(1)
        .filter(|a| !(a.starts_with("-agentpath:") && a.contains("libuntether_agent")))
        .collect();
    let arguments = secrets.arguments(arguments, &mut withhold);
    let mut environment = Vec::new();
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned());
        if secrets.withholds(&name, &value) {
            withhold(WithheldKind::Environment, &name);
        } else {
            environment.push((name, value));
        }
    }
    let launch = LaunchFrame {
        pid: std::process::id(),
        java: fs::read_link("/proc/self/exe").map(|p| p.display().to_string()).unwrap_or_default(),
        arguments,
        directory: std::env::current_dir().map(|p| p.display().to_string()).unwrap_or_default(),
        environment,
        java_version,
        class_path: class_path::expanded(class_path),
    };
    std::iter::once(Frame::Launch(launch)).chain(withheld).collect()
}

fn split(bytes: &[u8]) -> Vec<String> {
    bytes
        .strip_suffix(&[0])
        .unwrap_or(bytes)
        .split(|&b| b == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}
