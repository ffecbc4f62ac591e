//! Why no test was seen.

use std::process::ExitStatus;

use untether_model::Detection;

use crate::detect::Tests;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// This JVM cannot be watched, and why.
    Unsupported(String),
    /// We should have seen them: a framework is not what we take it for.
    Mistake(String),
    /// They are TestNG's.
    TestNg,
    /// None ran in the JVM that was started with the class path.
    NotOnClassPath,
    /// JVMs ran and ended well, but no tests in them.
    NotInJvms,
    /// The build tool was told not to run any.
    Skipped,
    /// No JVM of tests was seen: the build failed before, or they ran where we do not look.
    Nowhere,
}

impl Unseen {
    pub(super) fn new(tests: &Tests, detections: &[Detection], jvms: usize, status: ExitStatus) -> Self {
        let noted = |kind: &str| {
            let mut notes = detections.iter().flat_map(|detection| &detection.notes);
            notes.find(|note| note.kind == kind).map(|note| note.text.clone())
        };
        if let Some(reason) = noted("unsupported") {
            return Unseen::Unsupported(reason);
        }
        if let Some(mistake) = noted("boundary") {
            return Unseen::Mistake(mistake);
        }
        match tests {
            _ if noted("testng").is_some() => Unseen::TestNg,
            Tests::ClassPath(tests) if has_testng(&tests.class_path) => Unseen::TestNg,
            Tests::ClassPath(_) => Unseen::NotOnClassPath,
            Tests::BuildTool(_) if jvms > 0 && status.success() => Unseen::NotInJvms,
            Tests::BuildTool(command) if status.success() && is_skipping(command) => Unseen::Skipped,
            Tests::BuildTool(_) => Unseen::Nowhere,
        }
    }
}

/// Whether TestNG's jar is on the class path.
fn has_testng(class_path: &str) -> bool {
    let is_testng = |entry: &str| {
        let version = entry.rsplit('/').next().and_then(|name| name.strip_prefix("testng"));
        let is_version =
            |rest: &str| rest.strip_prefix('-').is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()));
        version.is_some_and(|rest| rest == ".jar" || is_version(rest))
    };
    class_path.split(':').any(is_testng)
}

/// Whether Maven was told not to run tests.
fn is_skipping(command: &[String]) -> bool {
    ["-DskipTests", "-Dmaven.test.skip"].iter().any(|option| {
        command.iter().any(|word| word.strip_prefix(option).is_some_and(|value| matches!(value, "" | "=true")))
    })
}
