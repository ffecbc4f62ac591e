//! What is known of test frameworks and build tools, in one place: the methods by which they are followed ([`HOOKS`]),
//! and whose classes are whose. Both halves of the agent, the analysis and the reports ask here.
//!
//! A new framework is a few lines here and a case in `UntetherBoundary.java`.

mod hooks;

pub use hooks::{Event, HOOKS, Hook, Moment, events, hooks_of};

/// Build tools inside the test JVM, ourselves among them: neither is their state tracked, nor what their objects refer to
/// (loggers that they replace, streams that they capture).
const BUILD_TOOLS: &[&str] = &[
    "org.apache.maven.surefire.",
    "org.apache.maven.plugin.surefire.",
    "org.gradle.",
    "worker.org.gradle.",
    "com.intellij.rt.",
    "untether.",
];

/// Folders into which build tools write what tests came to.
pub const REPORT_FOLDERS: [&str; 4] = ["surefire-reports", "failsafe-reports", "test-results", "reports"];

/// Launchers, engines and runners of test frameworks: hooked, but their own state is not tracked. What they offer to tests
/// (assertions, rules, matchers) is woven like any other library, as it reads the tests' state.
const ENGINES: &[&str] = &[
    "org.junit.platform.",
    "org.junit.jupiter.engine.",
    "org.junit.jupiter.params.",
    "org.junit.vintage.",
    "org.junit.runner.",
    "org.junit.runners.",
    "org.junit.internal.runners.",
    "org.junit.internal.builders.",
    "org.junit.internal.requests.",
    "org.junit.internal.management.",
    "junit.framework.TestResult",
    "junit.framework.TestSuite",
    "junit.framework.JUnit4",
    "junit.runner.",
    "junit.textui.",
    "net.jqwik.engine.",
    "com.tngtech.archunit.junit.",
    "io.cucumber.core.",
    "io.cucumber.cucumberexpressions.",
    "io.cucumber.gherkin.",
    "io.cucumber.junit.",
    "io.cucumber.messages.",
    "io.cucumber.plugin.",
    "org.spockframework.runtime.",
    "io.kotest.common.",
    "io.kotest.core.",
    "io.kotest.engine.",
    "io.kotest.framework.",
    "io.kotest.mpp.",
    "io.kotest.runner.",
];

/// What tests call: nobody mends it, and nothing of it is the project's own.
const APIS: &[&str] =
    &["org.junit.", "junit.framework.", "junit.extensions.", "org.opentest4j.", "org.apiguardian.", "org.hamcrest."];

/// Through which frameworks call tests. Hidden classes of method handles are named by their address.
const REFLECTION: &[&str] = &["0x", "java.lang.invoke.", "jdk.internal.reflect.", "java.lang.reflect.Method"];

/// What JUnit 3 keeps beside the assertions that tests call, which are followed.
const JUNIT3: &str = "junit.framework.";

/// Main classes of build tools: they run no tests themselves, and end with the build.
pub const BUILD_TOOL_MAINS: &[&[&str]] =
    &[MAVEN_MAINS, &["org.gradle.launcher.GradleMain", "org.gradle.wrapper.GradleWrapperMain"]];

/// Those of Maven.
pub const MAVEN_MAINS: &[&str] = &[
    "org.codehaus.plexus.classworlds.launcher.Launcher",
    "org.codehaus.classworlds.Launcher",
    "org.apache.maven.wrapper.MavenWrapperMain",
];

/// Main classes of build tools that outlive the build and run no tests themselves.
pub const BUILD_TOOL_DAEMONS: &[&str] = &["org.gradle.launcher.daemon.bootstrap.GradleDaemon"];

/// Whether the class belongs to a build tool. Like the others here it takes names with dots or slashes.
pub fn is_build_tool(class: &[u8]) -> bool {
    is_any(BUILD_TOOLS, class)
}

/// Whether the class belongs to what runs tests: an engine or a build tool.
pub fn is_runner(class: &[u8]) -> bool {
    is_build_tool(class) || is_any(ENGINES, class)
}

/// Whether the class belongs to a test framework, to what runs tests or to what they call.
pub fn is_test_framework(class: &[u8]) -> bool {
    is_any(APIS, class) || is_any(ENGINES, class)
}

/// Whether a frame of the class stands below the test itself: reflection and the framework.
pub fn is_harness(class: &[u8]) -> bool {
    is_any(REFLECTION, class) || is_runner(class) || starts_with(class, JUNIT3)
}

fn is_any(prefixes: &[&str], class: &[u8]) -> bool {
    prefixes.iter().any(|prefix| starts_with(class, prefix))
}

fn starts_with(class: &[u8], prefix: &str) -> bool {
    let is_same = |(&letter, &wanted): (&u8, &u8)| letter == wanted || letter == b'/' && wanted == b'.';
    class.len() >= prefix.len() && class.iter().zip(prefix.as_bytes()).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_with_dots_or_slashes() {
        assert!(
            is_runner(b"org/junit/platform/launcher/Launcher") && is_runner(b"org.junit.platform.launcher.Launcher")
        );
        assert!(
            !is_runner(b"org.junit.jupiter.api.Assertions") && is_test_framework(b"org.junit.jupiter.api.Assertions")
        );
        assert!(!is_runner(b"org") && !is_harness(b"com.example.ATest") && is_harness(b"junit.framework.TestCase"));
    }

    #[test]
    fn each_event_is_told_once() {
        let events = events();
        assert_eq!(events.iter().filter(|(name, _)| name == "Junit3TestFailed").count(), 1, "{events:?}");
        for hook in HOOKS.iter().filter(|hook| hook.event != Event::Asked) {
            assert!(events.contains(&(format!("{:?}", hook.event), hook.event.number().into())), "{hook:?}");
        }
    }
}
