//! Runs of one subject on one JDK: plain, and watched by `untether detect`, the same tests in the same order.

use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use untether_project::find_test_classes;
use untether_runner::{WorkerRequest, worker_command};
use zip::ZipArchive;

use crate::class_path::{self, ClassPath};
use crate::failure::Failure;
use crate::outcomes::Outcomes;
use crate::process::{End, Usage, measure};
use crate::subject::Subject;

/// The version of the JSON of `untether deps` that is read here.
const JSON_VERSION: u32 = 2;

/// A subject that is ready to run. Its files are below `directory`; those of the last run of each kind stay there.
#[derive(Debug)]
pub(crate) struct Suite<'s> {
    subject: &'s Subject,
    directory: PathBuf,
    class_path: ClassPath,
    plan: Vec<String>,
    limit: Duration,
}

/// What one run took and came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) usage: Usage,
    pub(crate) outcomes: Outcomes,
    /// Pairs of tests of which the second read what the first wrote; none are known of a plain run.
    pub(crate) dependencies: usize,
}

impl<'s> Suite<'s> {
    pub(crate) fn prepare(subject: &'s Subject, directory: PathBuf, limit: Duration) -> Result<Self, Failure> {
        let class_path = class_path::resolve(subject, &directory)?;
        let tests_jar = &class_path.tests_jar;
        let plan = find_test_classes(
            &class_path.join(tests_jar),
            std::slice::from_ref(tests_jar),
            &subject.include,
            &subject.exclude,
        )
        .map_err(|error| Failure::new(error.to_string()))?;
        Ok(Suite { subject, directory, class_path, plan, limit })
    }

    /// The worker that `untether detect` starts too, without the agent.
    pub(crate) fn run_plain(&self, java: &Path) -> Result<Run, Failure> {
        let files = RunFiles::create(self, "plain")?;
        let request = WorkerRequest {
            java: java.to_path_buf(),
            class_path: files.class_path.clone(),
            jvm_arguments: self.subject.jvm_args.clone(),
            plan: self.plan.clone(),
            directory: files.directory.clone(),
        };
        let results = files.directory.join("results");
        let mut command = worker_command(&request).map_err(|error| Failure::new(error.to_string()))?.into_command();
        command.arg(&results).current_dir(&files.work);
        let (end, usage) = measure(&mut command, &files.output, self.limit)?;
        let told = fs::read(&results).unwrap_or_default();
        let outcomes = Outcomes::of_worker(&told, end == End::Exit(0))
            .filter(|_| matches!(end, End::Exit(0 | 1)))
            .ok_or_else(|| files.failure("the plain run", end))?;
        Ok(Run { usage, outcomes, dependencies: 0 })
    }

    /// The command of a plain run, isolated; compared with a JVM for each class where that is asked for.
    pub(crate) fn run_isolated(&self, java: &Path, untether: &Path, is_checked: bool) -> Result<Isolated, Failure> {
        let files = RunFiles::create(self, "isolated")?;
        let mut ours: Vec<&str> = vec!["--isolate", "--jobs", "1", "--format", "json", "--quiet"];
        ours.extend(is_checked.then_some("--check"));
        let (end, usage) = self.run_by(untether, &ours, java, &files)?;
        if !matches!(end, End::Exit(0 | 1)) {
            return Err(files.failure("the isolated run", end));
        }
        Isolated::read(&files.output, usage)
    }

    /// The command of a plain run, all of it, with what each test class uses; and the store that then knows it.
    pub(crate) fn run_collecting(&self, java: &Path, untether: &Path) -> Result<(Run, PathBuf), Failure> {
        let files = RunFiles::create(self, "collecting")?;
        let (end, usage) = self.run_by(untether, &["--all", "--quiet"], java, &files)?;
        let told = fs::read(files.directory.join("results")).unwrap_or_default();
        let outcomes = Outcomes::of_worker(&told, end == End::Exit(0))
            .filter(|_| matches!(end, End::Exit(0 | 1)))
            .ok_or_else(|| files.failure("the collecting run", end))?;
        Ok((Run { usage, outcomes, dependencies: 0 }, files.directory.join("store")))
    }

    /// `untether run` with the command of a plain run.
    fn run_by(&self, untether: &Path, ours: &[&str], java: &Path, files: &RunFiles) -> Result<(End, Usage), Failure> {
        let request = WorkerRequest {
            java: java.to_path_buf(),
            class_path: files.class_path.clone(),
            jvm_arguments: self.subject.jvm_args.clone(),
            plan: self.plan.clone(),
            directory: files.directory.clone(),
        };
        let worker = worker_command(&request).map_err(|error| Failure::new(error.to_string()))?.into_command();
        let mut command = Command::new(untether);
        command.arg("--store").arg(files.directory.join("store")).arg("run").args(ours);
        command.arg("--").arg(worker.get_program()).args(worker.get_args());
        command.arg(files.directory.join("results")).current_dir(&files.work);
        measure(&mut command, &files.output, self.limit)
    }

    /// The product, from its start to its end: also what it does after the JVM has ended counts.
    pub(crate) fn run_watched(&self, java: &Path, untether: &Path, options: &[&str]) -> Result<Run, Failure> {
        let files = RunFiles::create(self, "watched")?;
        let order = files.directory.join("order.txt");
        fs::write(&order, self.plan.join("\n") + "\n").map_err(Failure::io("write", &order))?;
        let store = files.directory.join("store");
        let mut command = Command::new(untether);
        command.arg("--store").arg(&store).args(["detect", "--quiet", "--classpath", &files.class_path]);
        command.arg("--order").arg(&order).arg("--java").arg(java);
        command.args(self.subject.jvm_args.iter().map(|argument| format!("--jvm-arg={argument}")));
        command.args(options).current_dir(&files.work);
        let (end, usage) = measure(&mut command, &files.output, self.limit)?;
        if !matches!(end, End::Exit(0 | 1)) {
            return Err(files.failure("the watched run", end));
        }
        let document = read_store(untether, &store)?;
        let mut outcomes = Outcomes::new(end == End::Exit(0));
        document.tests.iter().for_each(|test| outcomes.add(&test.id, &test.outcome));
        Ok(Run { usage, outcomes, dependencies: document.dependencies.len() })
    }
}

/// What an isolated run took, and how it compares with a JVM for each class.
#[derive(Debug)]
pub(crate) struct Isolated {
    pub(crate) usage: Usage,
    pub(crate) classes: usize,
    pub(crate) alone_seconds: f64,
    pub(crate) differences: Vec<String>,
    pub(crate) not_restored: Vec<String>,
}

impl Isolated {
    /// The tests print as well, to the other stream, which goes to the same file.
    fn read(output: &Path, usage: Usage) -> Result<Self, Failure> {
        let bytes = fs::read(output).map_err(Failure::io("read", output))?;
        let beginning = b"{\n  \"version\"";
        let start = bytes.windows(beginning.len()).rposition(|window| window == beginning).unwrap_or(0);
        let document: Value = serde_json::from_slice(&bytes[start..])
            .map_err(|error| Failure::new(format!("cannot read the JSON of untether run: {error}")))?;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let classes = list(&document["classes"]);
        let not_restored = classes.iter().filter(|class| class["left_behind"].is_string());
        let differences = list(&document["check"]["differences"]);
        let differences = differences.iter().filter(|it| it["varies"] != true);
        Ok(Isolated {
            usage,
            classes: classes.len(),
            alone_seconds: document["check"]["seconds"].as_f64().unwrap_or(f64::NAN),
            differences: differences
                .map(|it| {
                    let status = |way: &str| text(&it[way]["status"]);
                    let left: Vec<String> = list(&it["left_behind"]).iter().take(3).map(text).collect();
                    let (isolated, alone) = (status("isolated"), status("alone"));
                    format!("{}: {isolated} isolated, {alone} alone, left behind {left:?}", text(&it["test"]))
                })
                .collect(),
            not_restored: not_restored
                .map(|class| format!("{}: {}", text(&class["class"]), text(&class["left_behind"])))
                .collect(),
        })
    }
}

/// Where one run takes place: a folder of its own, and in it an empty working directory, but for what an unpacked
/// subject needs.
struct RunFiles {
    directory: PathBuf,
    work: PathBuf,
    output: PathBuf,
    class_path: String,
}

impl RunFiles {
    fn create(suite: &Suite<'_>, kind: &str) -> Result<Self, Failure> {
        let directory = suite.directory.join(kind);
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(Failure::io("remove", &directory))?;
        }
        let work = directory.join("work");
        fs::create_dir_all(&work).map_err(Failure::io("create", &work))?;
        let tests_jar = &suite.class_path.tests_jar;
        let tests = if suite.subject.unpack { unpack(tests_jar, &work)? } else { tests_jar.clone() };
        let output = directory.join("output.txt");
        Ok(RunFiles { work, output, class_path: suite.class_path.join(&tests), directory })
    }

    fn failure(&self, what: &str, end: End) -> Failure {
        let end = match end {
            End::Exit(code) => format!("ended with exit code {code}"),
            End::Signal(signal) => format!("was killed by signal {signal}"),
            End::Timeout => "took too long and was killed".to_owned(),
        };
        let output = fs::read(&self.output).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let last = output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
        Failure::new(format!("{what} {end}; the last line of {} is: {}", self.output.display(), last.trim()))
    }
}

/// Makes the working directory look like the library's own after a build; returns the folder with the classes.
fn unpack(jar: &Path, work: &Path) -> Result<PathBuf, Failure> {
    let resources = work.join("src/test/resources");
    fs::create_dir_all(&resources).map_err(Failure::io("create", &resources))?;
    let file = File::open(jar).map_err(Failure::io("open", jar))?;
    ZipArchive::new(BufReader::new(file))
        .and_then(|mut archive| archive.extract(&resources))
        .map_err(|error| Failure::new(format!("cannot unpack {}: {error}", jar.display())))?;
    let target = work.join("target");
    fs::create_dir_all(&target).map_err(Failure::io("create", &target))?;
    let link = target.join("test-classes");
    symlink(&resources, &link).map_err(Failure::io("create", &link))?;
    Ok(resources)
}

#[derive(Deserialize)]
struct Document {
    version: u32,
    tests: Vec<Test>,
    dependencies: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Test {
    id: String,
    outcome: String,
}

/// Streams the JSON: held in memory it would raise the least peak that the kernel reports for later children.
fn read_store(untether: &Path, store: &Path) -> Result<Document, Failure> {
    let mut child = Command::new(untether)
        .arg("--store")
        .arg(store)
        .args(["deps", "--kind", "data", "--format", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::io("start", untether))?;
    let unreadable = |error: String| Failure::new(format!("cannot read the JSON of untether deps: {error}"));
    let output = child.stdout.take().ok_or_else(|| unreadable("no output".to_owned()))?;
    let document = serde_json::from_reader::<_, Document>(BufReader::new(output));
    let status = child.wait().map_err(Failure::io("wait for", untether))?;
    if !status.success() {
        return Err(unreadable(format!("it ended with {status}")));
    }
    let document = document.map_err(|error| unreadable(error.to_string()))?;
    if document.version != JSON_VERSION {
        return Err(unreadable(format!("version {} instead of {JSON_VERSION}", document.version)));
    }
    Ok(document)
}
