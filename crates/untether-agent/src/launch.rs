//! How this JVM was started, read from the process itself.

use std::fs;

use untether_wire::LaunchFrame;

use crate::class_path;

/// The command line as given by whoever started us, without what we inject.
pub(crate) fn capture(java_version: String, class_path: &str) -> LaunchFrame {
    let arguments: Vec<String> = split(&fs::read("/proc/self/cmdline").unwrap_or_default());
    LaunchFrame {
        pid: std::process::id(),
        java: fs::read_link("/proc/self/exe").map(|p| p.display().to_string()).unwrap_or_default(),
        arguments: arguments
            .into_iter()
            .skip(1)
            .filter(|a| !(a.starts_with("-agentpath:") && a.contains("libuntether_agent")))
            .collect(),
        directory: std::env::current_dir().map(|p| p.display().to_string()).unwrap_or_default(),
        environment: std::env::vars_os()
            .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()))
            .collect(),
        java_version,
        class_path: class_path::expanded(class_path),
    }
}

fn split(bytes: &[u8]) -> Vec<String> {
    bytes
        .strip_suffix(&[0])
        .unwrap_or(bytes)
        .split(|&b| b == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}
