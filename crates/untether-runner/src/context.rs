//! Starting JVMs like one that was captured, without its build tool.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use untether_model::{Launch, Schedule, Withheld, WithheldKind};
use untether_wire::{ends_options, module_entries, normalised, takes_value};

use crate::archive::Archive;
use crate::command::JvmCommand;
use crate::error::RunnerError;
use crate::worker::write_jar;

/// Options that are passed anew, each with the argument after it.
const CLASS_PATH: &[&str] = &["-cp", "-classpath", "--class-path"];

/// Properties that every JVM sets by itself, or that belong to the build tool's own launcher: these, and all that
/// begin with one of the prefixes.
const OWN_PROPERTIES: &[&str] = &[
    "java.home",
    "java.library.path",
    "file.encoding",
    "file.separator",
    "line.separator",
    "localRepository",
    "native.encoding",
    "os.arch",
    "os.name",
    "os.version",
    "path.separator",
    "stderr.encoding",
    "stdin.encoding",
    "stdout.encoding",
    "user.dir",
    "user.home",
    "user.name",
];
const OWN_PREFIXES: &[&str] = &[
    "java.class.",
    "java.runtime.",
    "java.specification.",
    "java.vendor",
    "java.version",
    "java.vm.",
    "jdk.debug",
    "jdk.module.",
    "sun.",
    "surefire.",
    "untether.",
    "org.gradle.",
];

/// Options that make sense for one JVM only: debuggers and remote management wait at a port.
const SINGULAR: &[&str] = &["-agentlib:jdwp", "-Xrunjdwp", "-Xdebug", "-Dcom.sun.management.jmxremote"];

/// Variables of the environment that JVMs look at.
const MATTERING: &[&str] =
    &["TZ", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// The property with the folder for temporary files, and its value where nobody has set another.
const TEMPORARY: &str = "java.io.tmpdir";
const COMMON_FOLDER: &str = "/tmp";

/// How to start a worker.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    java: PathBuf,
    options: Vec<String>,
    /// Options whose values are not kept: they decide nothing that is remembered.
    secret_options: Vec<String>,
    class_path: Vec<String>,
    directory: PathBuf,
    environment: Vec<(String, String)>,
    jar: PathBuf,
    /// Unique ids of tests that have no class and method.
    selectors: HashMap<String, String>,
    /// Whether the captured JVM shared the machine's folder for temporary files.
    has_common_folder: bool,
    /// Whether JVMs are short-lived, so that the optimising compiler would cost more than it saves.
    is_brief: bool,
    /// What JVMs without the agent start faster with.
    archive: Option<Arc<Archive>>,
}

impl WorkerContext {
    /// Like the captured JVM: its `java`, options, class path, properties, folder and environment. The worker's
    /// own classes are put into `scratch`.
    pub fn new(launch: &Launch, scratch: &Path) -> Result<Self, RunnerError> {
        let java = PathBuf::from(&launch.java);
        let directory = PathBuf::from(&launch.directory);
        for path in [&java, &directory] {
            if !path.exists() {
                return Err(RunnerError::Gone { path: path.clone() });
            }
        }
        if launch.class_path.is_empty() {
            return Err(RunnerError::NoClassPath);
        }
        let jar = scratch.join("worker.jar");
        write_jar(&jar).map_err(|source| RunnerError::CannotWrite { path: jar.clone(), source })?;
        let mut options = options(&launch.arguments);
        if let Some(file) = options.iter().find(|option| option.starts_with('@')) {
            return Err(RunnerError::ArgumentFile { file: file.clone() });
        }
        let is_withheld = |option: &str| {
            let name = option.strip_prefix("-D").and_then(|rest| rest.split_once('=')).map(|(name, _)| name);
            name.is_some_and(|name| withheld(launch, WithheldKind::Property).any(|withheld| withheld.name == name))
        };
        options.retain(|option| !is_withheld(option) && !is_of_one_run(option));
        let has_assertions =
            launch.properties.iter().any(|(name, value)| name == "untether.assertions" && value == "true");
        let is_asserting = |option: &String| option.starts_with("-ea") || option.starts_with("-enableassertions");
        if has_assertions && !options.iter().any(is_asserting) {
            options.push("-ea".to_owned());
        }
        // What one schedule leaves there is not for the next one to find, nor for one that runs beside it.
        let has_common_folder =
            launch.properties.iter().any(|(name, value)| name == TEMPORARY && value == COMMON_FOLDER);
        for (name, value) in &launch.properties {
            let is_own = is_own_property(name) || (name == TEMPORARY && has_common_folder) || value.is_empty();
            let is_given = options
                .iter()
                .any(|option| option.starts_with(&format!("-D{name}=")) || *option == format!("-D{name}"));
            if !is_own && !is_given {
                options.push(format!("-D{name}={value}"));
            }
        }
        // What was withheld from the store may be known here, to whoever starts us.
        let known = |name: &str| std::env::var(name).or_else(|_| std::env::var(normalised(name))).ok();
        let secret_options = withheld(launch, WithheldKind::Property)
            .filter_map(|property| Some(format!("-D{}={}", property.name, known(&property.name)?)))
            .collect();
        let secrets = withheld(launch, WithheldKind::Environment)
            .filter_map(|variable| Some((variable.name.clone(), std::env::var(&variable.name).ok()?)));
        let environment = launch
            .environment
            .iter()
            .filter(|(name, _)| !name.starts_with("UNTETHER_"))
            .cloned()
            .chain(secrets)
            .collect();
        let class_path = launch.class_path.clone();
        let archive = Archive::new(&options, &class_path, scratch).map(Arc::new);
        let selectors = launch.selectors.iter().cloned().collect();
        Ok(WorkerContext {
            java,
            options,
            secret_options,
            class_path,
            directory,
            environment,
            jar,
            selectors,
            has_common_folder,
            is_brief: true,
            archive,
        })
    }

    /// Many JVMs without the agent are to be started: what makes that faster is made now, once.
    pub(crate) fn prepare_for_many(&self) {
        if let Some(archive) = &self.archive {
            archive.make(&self.java, &self.jar);
        }
    }

    /// For JVMs that run more than a few tests.
    pub fn for_whole_suites(self) -> Self {
        WorkerContext { is_brief: false, ..self }
    }

    /// The folders and jars that classes come from: those of the class path and of the module path.
    pub fn code(&self) -> Vec<String> {
        let modules = module_entries(&self.options).into_iter().map(|entry| self.directory.join(entry));
        self.class_path.iter().cloned().chain(modules.map(|path| path.display().to_string())).collect()
    }

    /// What decides, besides classes, what a test comes to: the JVM's options, and what it takes from the environment.
    pub fn settings(&self) -> Vec<&str> {
        let environment = self.environment.iter().filter(|(name, _)| MATTERING.contains(&name.as_str()));
        self.options
            .iter()
            .map(String::as_str)
            .chain(environment.flat_map(|(name, value)| [name.as_str(), value.as_str()]))
            .collect()
    }

    /// The lines of a plan of these tests, as `Worker.java` reads them.
    pub(crate) fn plan(&self, tests: &[String]) -> String {
        let line = |test: &String| match self.selectors.get(test) {
            Some(unique_id) => format!("{test}\t{unique_id}\n"),
            None => format!("{test}\n"),
        };
        tests.iter().map(line).collect()
    }

    /// A JVM that runs the schedule, for being watched.
    pub fn watchable(&self, schedule: &Schedule, scratch: &Path) -> Result<JvmCommand, RunnerError> {
        let plan = scratch.join("watched-plan");
        std::fs::write(&plan, self.plan(&schedule.tests))
            .map_err(|source| RunnerError::CannotWrite { path: plan.clone(), source })?;
        self.jvm(&plan, &scratch.join("watched-results"), &scratch.join("watched-temporary"))
    }

    /// A JVM that runs the plan, writes results, and keeps temporary files to itself. What the tests print goes
    /// nowhere.
    pub(crate) fn command(
        &self,
        plan: impl Into<OsString>,
        results: &Path,
        temporary: &Path,
        agent: Option<(&Path, &Path)>,
    ) -> Result<Command, RunnerError> {
        let mut jvm = self.jvm(plan, results, temporary)?;
        // With the agent, no classes are shared.
        let archive = self.archive.as_ref().filter(|_| agent.is_none());
        jvm.arguments.splice(0..0, archive.and_then(|archive| archive.option()).map(OsString::from));
        let mut command = jvm.with_agent(agent);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    fn jvm(&self, plan: impl Into<OsString>, results: &Path, temporary: &Path) -> Result<JvmCommand, RunnerError> {
        let mut arguments: Vec<OsString> =
            self.options.iter().chain(&self.secret_options).map(OsString::from).collect();
        if self.has_common_folder {
            std::fs::create_dir_all(temporary)
                .map_err(|source| RunnerError::CannotWrite { path: temporary.to_path_buf(), source })?;
            arguments.push(format!("-D{TEMPORARY}={}", temporary.display()).into());
        }
        let is_tier =
            |option: &String| option.starts_with("-XX:TieredStopAtLevel") || option == "-XX:-TieredCompilation";
        if self.is_brief && !self.options.iter().any(is_tier) {
            arguments.push("-XX:TieredStopAtLevel=1".into());
        }
        arguments.extend([
            format!("-Xbootclasspath/a:{}", self.jar.display()).into(),
            "-cp".into(),
            self.archive.as_ref().map_or(&self.class_path[..], |archive| archive.class_path()).join(":").into(),
            "untether.Worker".into(),
            plan.into(),
            results.into(),
            // The worker does not outlive us.
            std::process::id().to_string().into(),
        ]);
        Ok(JvmCommand {
            java: self.java.clone(),
            arguments,
            directory: Some(self.directory.clone()),
            environment: Some(self.environment.clone()),
        })
    }
}

/// Properties that the JVM and its libraries ask for by ways that are not watched: of the others it is known who asks.
const OF_JDK: &[&str] = &[
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "user.",
    "file.",
    "http.",
    "https.",
    "ftp.",
    "socksProxy",
    "networkaddress.",
    "awt.",
    "swing.",
    "stdout.",
    "stderr.",
    "native.",
];

fn is_of_jdk(name: &str) -> bool {
    OF_JDK.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether it says nothing of a test that it asks for this property.
pub fn is_jvm_property(name: &str) -> bool {
    is_own_property(name) || name == TEMPORARY || name == "basedir" || name == "untether.assertions"
}

/// Whether every JVM has such a property, or the build tool's launcher has.
fn is_own_property(name: &str) -> bool {
    OWN_PROPERTIES.contains(&name) || OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Options that change nothing for tests: coverage, debuggers.
fn is_of_one_run(option: &str) -> bool {
    let is_coverage = option.starts_with("-javaagent:") && option.contains("jacoco");
    is_coverage || SINGULAR.iter().any(|prefix| option.starts_with(prefix))
}

/// Named settings of a JVM, besides its classes, that may decide what a test comes to. Those that are withheld are not told.
pub fn launch_settings(launch: &Launch) -> Vec<(String, String)> {
    let mut settings = vec![("Java".to_owned(), launch.java_version.clone())];
    let options = options(&launch.arguments);
    // A property counts for those who ask for it.
    let is_asked_for = |option: &String| {
        option.strip_prefix("-D").is_some_and(|rest| !is_of_jdk(rest.split('=').next().unwrap_or_default()))
    };
    for option in options.iter().filter(|option| !is_of_one_run(option) && !is_asked_for(option)) {
        settings.push(("option".to_owned(), option.clone()));
    }
    let is_given = |name: &str| options.iter().any(|option| option.starts_with(&format!("-D{name}=")));
    for (name, value) in &launch.properties {
        let is_assertions = name == "untether.assertions";
        if (is_of_jdk(name) || is_assertions) && !is_own_property(name) && name != TEMPORARY && !is_given(name) {
            settings.push((format!("property {name}"), value.clone()));
        }
    }
    for (name, value) in launch.environment.iter().filter(|(name, _)| MATTERING.contains(&name.as_str())) {
        settings.push((format!("variable {name}"), value.clone()));
    }
    for (name, value) in &launch.filters {
        settings.push((format!("filter {name}"), value.clone()));
    }
    settings.sort();
    settings
}

/// How Surefire was told to choose among tests, which it writes into a file for the JVM that it starts. The file is there as
/// long as the JVM runs.
pub fn filters_of(launch: &Launch) -> Vec<(String, String)> {
    const TELLING: &[&str] = &["groups", "engines", "properties", "requestedtest"];
    let directory = Path::new(&launch.directory);
    let mut folders = launch.arguments.iter().map(|argument| directory.join(argument)).filter(|path| path.is_dir());
    let Some(folder) = folders.next_back() else { return Vec::new() };
    let mut found = Vec::new();
    for name in launch.arguments.iter().filter(|argument| argument.ends_with("tmp") && !argument.contains('/')) {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let key_in_small = key.to_lowercase();
            if !value.is_empty() && TELLING.iter().any(|part| key_in_small.contains(part)) {
                found.push((key.to_owned(), value.to_owned()));
            }
        }
    }
    found.sort();
    found
}

fn withheld(launch: &Launch, kind: WithheldKind) -> impl Iterator<Item = &Withheld> {
    launch.withheld.iter().filter(move |withheld| withheld.kind == kind)
}

/// The options of a command line of `java`: without class path, main class and what follows it.
fn options(arguments: &[String]) -> Vec<String> {
    let mut options = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if ends_options(argument) {
            break;
        }
        if CLASS_PATH.contains(&argument.as_str()) {
            rest.next();
            continue;
        }
        let is_ours = argument.starts_with("-Xbootclasspath/a:") && argument.ends_with("/worker.jar");
        if argument.starts_with("--class-path=") || is_ours {
            continue;
        }
        options.push(argument.clone());
        if takes_value(argument) {
            options.extend(rest.next().cloned());
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_worker_has_its_own_folder_for_temporary_files_unless_one_was_chosen() {
        let scratch = std::env::temp_dir().join(format!("untether-context-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let command = |folder: &str, number: usize| {
            let launch = Launch {
                java: "/".to_owned(),
                directory: "/".to_owned(),
                class_path: vec!["classes".to_owned()],
                properties: vec![(TEMPORARY.to_owned(), folder.to_owned())],
                ..Launch::default()
            };
            let context = WorkerContext::new(&launch, &scratch).unwrap();
            let own = scratch.join(format!("temporary-{number}"));
            let command = context.command("plan", Path::new("results"), &own, None).unwrap();
            let set: Vec<String> = command
                .get_args()
                .filter_map(|argument| argument.to_str()?.strip_prefix("-Djava.io.tmpdir=").map(str::to_owned))
                .collect();
            set
        };
        let (first, second) = (command("/tmp", 1), command("/tmp", 2));
        assert!(first.len() == 1 && second.len() == 1 && first != second, "{first:?} {second:?}");
        assert!(Path::new(&first[0]).is_dir());
        assert_eq!(command("/project/target/tmp", 3), ["/project/target/tmp"]);
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn options_end_where_the_main_class_or_jar_begins() {
        assert_eq!(options(&words("-Xmx1g -ea -jar booter.jar -Xmx2g")), words("-Xmx1g -ea"));
        assert_eq!(
            options(&words("--add-opens java.base/java.lang=ALL-UNNAMED -cp a:b -Dx=y Main -z")),
            words("--add-opens java.base/java.lang=ALL-UNNAMED -Dx=y")
        );
        assert_eq!(options(&words("-Xbootclasspath/a:/s/worker.jar -Xint untether.Worker plan")), words("-Xint"));
    }
}
