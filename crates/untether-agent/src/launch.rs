//! How this JVM was started, read from the process itself; secrets by name only.

use std::fs;

use untether_wire::{Frame, LaunchFrame, Secrets, WithheldKind};

use crate::{arguments, class_path};

/// The variable from which the `java` launcher takes options.
const JDK_OPTIONS: &str = "JDK_JAVA_OPTIONS";

/// The command line as given by whoever started us, without what we inject; and what was withheld of it.
pub(crate) fn capture(java_version: String, class_path: &str, secrets: &Secrets) -> (LaunchFrame, Vec<Frame>) {
    let mut withheld = Vec::new();
    let mut withhold = |kind, name: &str| withheld.push(Frame::Withheld { kind, name: name.to_owned() });
    let given: Vec<String> = split(&fs::read("/proc/self/cmdline").unwrap_or_default());
    let is_ours = |argument: &str| argument.starts_with("-agentpath:") && argument.contains("libuntether_agent");
    let given = given.into_iter().skip(1).filter(|argument| !is_ours(argument)).collect();
    let folder = std::env::current_dir().unwrap_or_default();
    let mut arguments = arguments::expanded(given, &folder);
    let mut variables: Vec<(String, String)> = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()))
        .collect();
    // The launcher puts these before the others. They stay where they are unless a file is among them.
    if let Some(at) = variables.iter().position(|(name, _)| name == JDK_OPTIONS)
        && let Some(options) = arguments::of_variable(&variables[at].1, &folder)
    {
        arguments.splice(0..0, options);
        variables.remove(at);
    }
    // What files brought in may be secret as well.
    let arguments = secrets.arguments(arguments, &mut withhold);
    let mut environment = Vec::new();
    for (name, value) in variables {
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
        directory: folder.display().to_string(),
        environment,
        java_version,
        class_path: class_path::expanded(class_path),
    };
    (launch, withheld)
}

fn split(bytes: &[u8]) -> Vec<String> {
    bytes
        .strip_suffix(&[0])
        .unwrap_or(bytes)
        .split(|&b| b == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}
