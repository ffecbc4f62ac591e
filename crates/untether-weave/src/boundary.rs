//! Where test frameworks announce that a test or a class starts and ends.
//!
//! Hooks are woven into the frameworks' own classes, so that they work with any class loader, need no
//! entry on the class path and change nothing that a program can list. The numbers are shared with
//! `UntetherBoundary.java`.

use untether_classfile::ClassFile;

/// When in the method the hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Entry,
    /// Before every normal return.
    Exit,
    /// On every way out, exceptions included.
    Leave,
    /// The boolean about to be returned is replaced by what the runtime says.
    Result,
    /// The first argument, a scheduler, is replaced by what the runtime says.
    Scheduler,
}

/// One woven method of a test framework.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    pub class: &'static str,
    pub method: &'static str,
    pub descriptor: &'static str,
    pub moment: Moment,
    pub number: u8,
}

const fn hook(class: &'static str, method: &'static str, descriptor: &'static str, moment: Moment, number: u8) -> Hook {
    Hook { class, method, descriptor, moment, number }
}

const NODE: &str = "org/junit/platform/engine/support/hierarchical/NodeTestTask";
const ADAPTER: &str = "org/junit/platform/launcher/core/ExecutionListenerAdapter";
const PARENT_RUNNER: &str = "org/junit/runners/ParentRunner";
const NOTIFIER: &str = "org/junit/runner/notification/RunNotifier";
const RESULT: &str = "junit/framework/TestResult";
const DESCRIPTION: &str = "(Lorg/junit/runner/Description;)V";
const FAILURE: &str = "(Lorg/junit/runner/notification/Failure;)V";
const RUN: &str = "(Lorg/junit/runner/notification/RunNotifier;)V";

/// Every hook, in no order that matters.
pub const HOOKS: &[Hook] = &[
    hook(NODE, "execute", "()V", Moment::Entry, 1),
    hook(ADAPTER, "executionStarted", "(Lorg/junit/platform/engine/TestDescriptor;)V", Moment::Exit, 2),
    hook(
        ADAPTER,
        "executionFinished",
        "(Lorg/junit/platform/engine/TestDescriptor;Lorg/junit/platform/engine/TestExecutionResult;)V",
        Moment::Entry,
        3,
    ),
    hook(
        ADAPTER,
        "executionSkipped",
        "(Lorg/junit/platform/engine/TestDescriptor;Ljava/lang/String;)V",
        Moment::Entry,
        4,
    ),
    hook(PARENT_RUNNER, "run", RUN, Moment::Entry, 5),
    hook(PARENT_RUNNER, "run", RUN, Moment::Leave, 6),
    hook(
        "org/junit/runners/BlockJUnit4ClassRunner",
        "runChild",
        "(Lorg/junit/runners/model/FrameworkMethod;Lorg/junit/runner/notification/RunNotifier;)V",
        Moment::Entry,
        7,
    ),
    hook(NOTIFIER, "fireTestStarted", DESCRIPTION, Moment::Exit, 8),
    hook(NOTIFIER, "fireTestFinished", DESCRIPTION, Moment::Entry, 9),
    hook(NOTIFIER, "fireTestFailure", FAILURE, Moment::Entry, 10),
    hook(NOTIFIER, "fireTestAssumptionFailed", FAILURE, Moment::Entry, 11),
    hook(NOTIFIER, "fireTestIgnored", DESCRIPTION, Moment::Entry, 12),
    hook(RESULT, "startTest", "(Ljunit/framework/Test;)V", Moment::Exit, 13),
    hook(RESULT, "endTest", "(Ljunit/framework/Test;)V", Moment::Entry, 14),
    hook(RESULT, "addError", "(Ljunit/framework/Test;Ljava/lang/Throwable;)V", Moment::Entry, 15),
    hook(RESULT, "addFailure", "(Ljunit/framework/Test;Ljunit/framework/AssertionFailedError;)V", Moment::Entry, 16),
    hook("org/junit/jupiter/engine/execution/DefaultTestInstances", "<init>", "(Ljava/util/List;)V", Moment::Exit, 17),
    hook(
        "org/spockframework/runtime/SpockExecutionContext",
        "withSharedInstance",
        "(Lspock/lang/Specification;)Lorg/spockframework/runtime/SpockExecutionContext;",
        Moment::Entry,
        19,
    ),
    hook("org/testng/TestNG", "run", "()V", Moment::Entry, 20),
    hook("java/lang/Thread", "start", "()V", Moment::Entry, 18),
    hook(
        "org/junit/jupiter/engine/config/DefaultJupiterConfiguration",
        "isParallelExecutionEnabled",
        "()Z",
        Moment::Result,
        0,
    ),
    hook(PARENT_RUNNER, "setScheduler", "(Lorg/junit/runners/model/RunnerScheduler;)V", Moment::Scheduler, 0),
];

/// Build tools inside the test JVM, ourselves among them: neither is their state tracked, nor what their objects refer to
/// (loggers that they replace, streams that they capture).
pub const BUILD_TOOL_PREFIXES: &[&str] = &[
    "org/apache/maven/surefire/",
    "org/apache/maven/plugin/surefire/",
    "org/gradle/",
    "worker/org/gradle/",
    "com/intellij/rt/",
    "untether/",
];

/// Launchers, engines and runners of test frameworks: hooked, but their own state is not tracked. What they offer to tests (assertions, rules, matchers) is woven like any other library, as it
/// reads the tests' state.
pub const FRAMEWORK_PREFIXES: &[&str] = &[
    "org/junit/platform/",
    "org/junit/jupiter/engine/",
    "org/junit/jupiter/params/",
    "org/junit/vintage/",
    "org/junit/runner/",
    "org/junit/runners/",
    "org/junit/internal/runners/",
    "org/junit/internal/builders/",
    "org/junit/internal/requests/",
    "org/junit/internal/management/",
    "junit/framework/TestResult",
    "junit/framework/TestSuite",
    "junit/framework/JUnit4",
    "junit/runner/",
    "junit/textui/",
    "net/jqwik/engine/",
    "com/tngtech/archunit/junit/",
    "io/cucumber/core/",
    "io/cucumber/cucumberexpressions/",
    "io/cucumber/gherkin/",
    "io/cucumber/junit/",
    "io/cucumber/messages/",
    "io/cucumber/plugin/",
    "org/spockframework/runtime/",
    "io/kotest/common/",
    "io/kotest/core/",
    "io/kotest/engine/",
    "io/kotest/framework/",
    "io/kotest/mpp/",
    "io/kotest/runner/",
];

/// Whether the class belongs to a framework or a build tool.
pub fn is_framework(class: &[u8]) -> bool {
    is_build_tool(class) || FRAMEWORK_PREFIXES.iter().any(|prefix| class.starts_with(prefix.as_bytes()))
}

/// Whether the class belongs to a build tool.
pub fn is_build_tool(class: &[u8]) -> bool {
    BUILD_TOOL_PREFIXES.iter().any(|prefix| class.starts_with(prefix.as_bytes()))
}

/// The hooks of one class.
pub fn hooks_of(class: &[u8]) -> impl Iterator<Item = &'static Hook> + use<'_> {
    HOOKS.iter().filter(move |hook| hook.class.as_bytes() == class)
}

/// The hooks whose class this is, but which has no such method. Nearly all classes have no hooks and are not looked into.
pub fn missing_hooks(name: &[u8], bytes: &[u8]) -> Vec<&'static Hook> {
    let mut hooks = hooks_of(name).peekable();
    if hooks.peek().is_none() {
        return Vec::new();
    }
    // That it cannot be read is reported when it is woven.
    let Ok(class) = ClassFile::parse(bytes) else { return Vec::new() };
    let has = |hook: &Hook| {
        class.methods.iter().any(|method| {
            class.pool.utf8(method.name_index) == Ok(hook.method.as_bytes())
                && class.pool.utf8(method.descriptor_index) == Ok(hook.descriptor.as_bytes())
        })
    };
    hooks.filter(|hook| !has(hook)).collect()
}
