//! Where test frameworks announce that a test or a class starts and ends.
//!
//! Hooks are woven into the frameworks' own classes, so that they work with any class loader, need no
//! entry on the class path and change nothing that a program can list. What each of them means stands in
//! `UntetherBoundary.java`, by the names of [`events`].

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
    /// The first argument, the test classes that are to run, is replaced by those that the runtime leaves.
    Given,
    /// What is about to be returned, the test classes that are to run, is replaced by those that the runtime leaves.
    Handed,
}

/// What the runtime is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Nothing: it is asked for an answer.
    Asked,
    /// The tests that were found are about to be known.
    PlatformPlanned,
    PlatformNode,
    PlatformStarted,
    PlatformFinished,
    PlatformSkipped,
    Junit4ClassStarted,
    Junit4ClassFinished,
    Junit4TestPrepared,
    Junit4TestStarted,
    Junit4TestFinished,
    Junit4TestFailed,
    Junit4TestAborted,
    Junit4TestIgnored,
    Junit3SuiteMade,
    Junit3ClassStarted,
    Junit3ClassFinished,
    Junit3TestStarted,
    Junit3TestFinished,
    Junit3TestFailed,
    JupiterInstanceMade,
    SpockSharedInstance,
    TestNgStarted,
    /// Its runner is made, which may run code of the class.
    Junit4RunnerWanted,
    Junit4RunnerMade,
    ThreadStarted,
    ThreadEnding,
    ThreadEnded,
}

impl Event {
    /// As woven code hands it over.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// One woven method of a test framework.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    pub class: &'static str,
    pub method: &'static str,
    pub descriptor: &'static str,
    pub moment: Moment,
    pub event: Event,
}

impl Hook {
    /// Whether nothing is missed where the framework has no such method.
    pub fn is_optional(&self) -> bool {
        matches!(self.moment, Moment::Given | Moment::Handed) || self.event == Event::PlatformPlanned
    }
}

const fn hook(
    class: &'static str,
    method: &'static str,
    descriptor: &'static str,
    moment: Moment,
    event: Event,
) -> Hook {
    Hook { class, method, descriptor, moment, event }
}

const NODE: &str = "org/junit/platform/engine/support/hierarchical/NodeTestTask";
const ADAPTER: &str = "org/junit/platform/launcher/core/ExecutionListenerAdapter";
const PARENT_RUNNER: &str = "org/junit/runners/ParentRunner";
const JUNIT3_RUNNER: &str = "org/junit/internal/runners/JUnit38ClassRunner";
const RUNNER_BUILDER: &str = "org/junit/runners/model/RunnerBuilder";
const NOTIFIER: &str = "org/junit/runner/notification/RunNotifier";
const RESULT: &str = "junit/framework/TestResult";
const DESCRIPTION: &str = "(Lorg/junit/runner/Description;)V";
const FAILURE: &str = "(Lorg/junit/runner/notification/Failure;)V";
const RUN: &str = "(Lorg/junit/runner/notification/RunNotifier;)V";

/// Every hook, in no order that matters.
pub const HOOKS: &[Hook] = &[
    hook(
        "org/junit/platform/launcher/core/LauncherDiscoveryResult",
        "getEngineTestDescriptors",
        "()Ljava/util/Collection;",
        Moment::Entry,
        Event::PlatformPlanned,
    ),
    hook(NODE, "execute", "()V", Moment::Entry, Event::PlatformNode),
    hook(
        ADAPTER,
        "executionStarted",
        "(Lorg/junit/platform/engine/TestDescriptor;)V",
        Moment::Exit,
        Event::PlatformStarted,
    ),
    hook(
        ADAPTER,
        "executionFinished",
        "(Lorg/junit/platform/engine/TestDescriptor;Lorg/junit/platform/engine/TestExecutionResult;)V",
        Moment::Entry,
        Event::PlatformFinished,
    ),
    hook(
        ADAPTER,
        "executionSkipped",
        "(Lorg/junit/platform/engine/TestDescriptor;Ljava/lang/String;)V",
        Moment::Entry,
        Event::PlatformSkipped,
    ),
    hook(PARENT_RUNNER, "run", RUN, Moment::Entry, Event::Junit4ClassStarted),
    hook(PARENT_RUNNER, "run", RUN, Moment::Leave, Event::Junit4ClassFinished),
    hook(
        "org/junit/internal/runners/SuiteMethod",
        "<init>",
        "(Ljava/lang/Class;)V",
        Moment::Exit,
        Event::Junit3SuiteMade,
    ),
    hook(JUNIT3_RUNNER, "run", RUN, Moment::Entry, Event::Junit3ClassStarted),
    hook(JUNIT3_RUNNER, "run", RUN, Moment::Leave, Event::Junit3ClassFinished),
    hook(
        "org/junit/runners/BlockJUnit4ClassRunner",
        "runChild",
        "(Lorg/junit/runners/model/FrameworkMethod;Lorg/junit/runner/notification/RunNotifier;)V",
        Moment::Entry,
        Event::Junit4TestPrepared,
    ),
    hook(NOTIFIER, "fireTestStarted", DESCRIPTION, Moment::Exit, Event::Junit4TestStarted),
    hook(NOTIFIER, "fireTestFinished", DESCRIPTION, Moment::Entry, Event::Junit4TestFinished),
    hook(NOTIFIER, "fireTestFailure", FAILURE, Moment::Entry, Event::Junit4TestFailed),
    hook(NOTIFIER, "fireTestAssumptionFailed", FAILURE, Moment::Entry, Event::Junit4TestAborted),
    hook(NOTIFIER, "fireTestIgnored", DESCRIPTION, Moment::Entry, Event::Junit4TestIgnored),
    hook(RESULT, "startTest", "(Ljunit/framework/Test;)V", Moment::Exit, Event::Junit3TestStarted),
    hook(RESULT, "endTest", "(Ljunit/framework/Test;)V", Moment::Entry, Event::Junit3TestFinished),
    hook(RESULT, "addError", "(Ljunit/framework/Test;Ljava/lang/Throwable;)V", Moment::Entry, Event::Junit3TestFailed),
    hook(
        RESULT,
        "addFailure",
        "(Ljunit/framework/Test;Ljunit/framework/AssertionFailedError;)V",
        Moment::Entry,
        Event::Junit3TestFailed,
    ),
    hook(
        "org/junit/jupiter/engine/execution/DefaultTestInstances",
        "<init>",
        "(Ljava/util/List;)V",
        Moment::Exit,
        Event::JupiterInstanceMade,
    ),
    hook(
        "org/spockframework/runtime/SpockExecutionContext",
        "withSharedInstance",
        "(Lspock/lang/Specification;)Lorg/spockframework/runtime/SpockExecutionContext;",
        Moment::Entry,
        Event::SpockSharedInstance,
    ),
    hook(
        RUNNER_BUILDER,
        "safeRunnerForClass",
        "(Ljava/lang/Class;)Lorg/junit/runner/Runner;",
        Moment::Entry,
        Event::Junit4RunnerWanted,
    ),
    hook(
        RUNNER_BUILDER,
        "safeRunnerForClass",
        "(Ljava/lang/Class;)Lorg/junit/runner/Runner;",
        Moment::Leave,
        Event::Junit4RunnerMade,
    ),
    // Surefire's providers, whatever the framework, run what these hold. The package changed with version 3.
    hook("org/apache/maven/surefire/api/util/TestsToRun", "<init>", "(Ljava/util/Set;)V", Moment::Given, Event::Asked),
    hook("org/apache/maven/surefire/util/TestsToRun", "<init>", "(Ljava/util/Set;)V", Moment::Given, Event::Asked),
    // Where the build tool deals classes out to several JVMs.
    hook(
        "org/apache/maven/surefire/booter/LazyTestsToRun",
        "iterator",
        "()Ljava/util/Iterator;",
        Moment::Handed,
        Event::Asked,
    ),
    hook("org/testng/TestNG", "run", "()V", Moment::Entry, Event::TestNgStarted),
    hook("java/lang/Thread", "start", "()V", Moment::Entry, Event::ThreadStarted),
    hook("java/lang/Thread", "exit", "()V", Moment::Entry, Event::ThreadEnding),
    hook("java/lang/Thread", "exit", "()V", Moment::Leave, Event::ThreadEnded),
    hook(
        "org/junit/jupiter/engine/config/DefaultJupiterConfiguration",
        "isParallelExecutionEnabled",
        "()Z",
        Moment::Result,
        Event::Asked,
    ),
    hook(
        PARENT_RUNNER,
        "setScheduler",
        "(Lorg/junit/runners/model/RunnerScheduler;)V",
        Moment::Scheduler,
        Event::Asked,
    ),
];

/// The hooks of one class, by the name that stands in class files.
pub fn hooks_of(class: &[u8]) -> impl Iterator<Item = &'static Hook> + use<'_> {
    HOOKS.iter().filter(move |hook| hook.class.as_bytes() == class)
}

/// All events that the runtime is told, by name.
pub fn events() -> Vec<(String, u32)> {
    let mut events: Vec<Event> = HOOKS.iter().map(|hook| hook.event).filter(|&event| event != Event::Asked).collect();
    events.sort_by_key(|event| event.number());
    events.dedup();
    events.into_iter().map(|event| (format!("{event:?}"), event.number().into())).collect()
}
