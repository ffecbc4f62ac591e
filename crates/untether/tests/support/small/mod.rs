//! A project that is built in a moment: `javac`, and then one JVM that hands its test classes over as Surefire does.

pub mod programs;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

use super::{class_path_of, command, fresh, jdks, repository, text};

/// The variable that tells the tests' JVM where to note what it runs.
const NOTES: &str = "SMALL_NOTES";

pub struct SmallProject {
    pub folder: PathBuf,
    pub home: PathBuf,
}

/// What `untether run` or `untether select` told, and what really ran.
#[derive(Debug)]
pub struct Told {
    pub selected: BTreeSet<String>,
    pub skipped: BTreeSet<String>,
    pub ran: BTreeSet<String>,
    /// The kinds of the reasons for each selected class.
    pub reasons: Vec<(String, BTreeSet<String>)>,
    pub document: Value,
    pub code: Option<i32>,
    pub said: String,
}

impl Told {
    fn new(output: &Output, ran: BTreeSet<String>) -> Self {
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let names = |key: &str| -> BTreeSet<String> {
            let all = document[key].as_array().map_or(&[][..], Vec::as_slice).iter();
            all.map(|one| one["test"].as_str().unwrap().to_owned()).collect()
        };
        let kinds = |one: &Value| {
            let reasons = one["reasons"].as_array().unwrap().iter();
            reasons.map(|reason| reason["kind"].as_str().unwrap().to_owned()).collect()
        };
        let selected = document["selected"].as_array().map_or(&[][..], Vec::as_slice).iter();
        Told {
            selected: names("selected"),
            skipped: names("skipped"),
            ran,
            reasons: selected.map(|one| (one["test"].as_str().unwrap().to_owned(), kinds(one))).collect(),
            code: output.status.code(),
            said: text(&output.stderr),
            document,
        }
    }

    /// The kinds of the reasons for one class.
    pub fn reasons_of(&self, test: &str) -> Vec<&str> {
        let of_test = self.reasons.iter().filter(|(name, _)| name == test);
        of_test.flat_map(|(_, kinds)| kinds.iter().map(String::as_str)).collect()
    }
}

/// Names as a set, to compare with.
pub fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

pub fn libraries() -> String {
    class_path_of(&repository().join("fixtures/pom.xml"), "fixtures")
}

/// The classes of what stands for the build tool, compiled once by each test program.
fn tool() -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| {
        let program = std::env::current_exe().unwrap();
        let folder = fresh("small-tool", &program.file_name().unwrap().to_string_lossy());
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/small");
        javac(jdks().first().unwrap(), &libraries(), &super::java_files(&sources), &folder);
        folder
    })
}

/// Adds to what is there.
pub fn javac(home: &Path, class_path: &str, sources: &[PathBuf], out: &Path) {
    fs::create_dir_all(out).unwrap();
    let output = Command::new(home.join("bin/javac"))
        .args(["-nowarn", "-Xlint:none", "-proc:none", "--release", "17", "-g", "-cp", class_path, "-d"])
        .arg(out)
        .args(sources)
        .output()
        .unwrap();
    assert!(output.status.success(), "javac: {}", text(&output.stderr));
}

impl SmallProject {
    pub fn new(group: &str, name: &str) -> Self {
        SmallProject { folder: fresh(group, name), home: jdks().first().unwrap().clone() }
    }

    /// Compiles sources into a folder, in place of what was there; they may use what `with` has.
    pub fn compile(&self, root: &str, with: &[&str], sources: &[(&str, &str)]) {
        self.compile_by(&self.home, root, with, sources);
    }

    pub fn compile_by(&self, home: &Path, root: &str, with: &[&str], sources: &[(&str, &str)]) {
        let (out, folder) = (self.folder.join(root), self.folder.join(format!("{root}-sources")));
        let _ = fs::remove_dir_all(&out);
        let _ = fs::remove_dir_all(&folder);
        let files: Vec<PathBuf> = sources.iter().map(|(name, _)| folder.join(name)).collect();
        for (file, (_, source)) in files.iter().zip(sources) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, source).unwrap();
        }
        fs::create_dir_all(&out).unwrap();
        if !files.is_empty() {
            javac(home, &self.class_path(with), &files, &out);
        }
    }

    /// Packs a folder of classes; lines of the manifest come as they are.
    pub fn jar(&self, root: &str, jar: &str, manifest: &str) {
        let file = self.folder.join("manifest");
        fs::write(&file, manifest).unwrap();
        let output = Command::new(self.home.join("bin/jar"))
            .args(["--create", "--file"])
            .arg(self.folder.join(jar))
            .arg("--manifest")
            .arg(&file)
            .arg("-C")
            .arg(self.folder.join(root))
            .arg(".")
            .output()
            .unwrap();
        assert!(output.status.success(), "jar: {}", text(&output.stderr));
    }

    fn class_path(&self, roots: &[&str]) -> String {
        let roots = roots.iter().map(|root| self.folder.join(root).display().to_string());
        let all: Vec<String> = roots.chain([tool().display().to_string(), libraries()]).collect();
        all.join(":")
    }

    /// The command of the build: a JVM with these folders and jars on its class path that runs the tests of `classes`.
    pub fn build(&self, roots: &[&str], options: &[&str]) -> Vec<String> {
        let java = self.home.join("bin/java").display().to_string();
        let options = options.iter().map(|&option| option.to_owned());
        let rest = ["-cp".to_owned(), self.class_path(roots), "small.Build".to_owned(), "classes".to_owned()];
        [java, "-XX:TieredStopAtLevel=1".to_owned()].into_iter().chain(options).chain(rest).collect()
    }

    /// `untether run -- BUILD`, about to be started.
    pub fn command(&self, roots: &[&str], options: &[&str]) -> Command {
        let mut run = command(&self.folder, &["run", "--format", "json", "--"]);
        run.args(self.build(roots, options));
        self.with_notes(run)
    }

    pub fn with_notes(&self, mut command: Command) -> Command {
        command.env(NOTES, self.notes());
        command
    }

    pub fn run(&self, roots: &[&str], options: &[&str]) -> Told {
        self.told_by(self.command(roots, options))
    }

    /// What a command tells, and which tests began meanwhile.
    pub fn told_by(&self, mut command: Command) -> Told {
        self.forget();
        let output = command.output().unwrap();
        Told::new(&output, self.ran())
    }

    /// Runs the tests as they run without us.
    pub fn run_plainly(&self, roots: &[&str]) -> Output {
        let words = self.build(roots, &[]);
        Command::new(&words[0]).args(&words[1..]).current_dir(&self.folder).env(NOTES, self.notes()).output().unwrap()
    }

    /// Where the tests' JVM notes what it runs; beside the project, which may not be writable.
    fn notes(&self) -> PathBuf {
        let folder = self.folder.with_extension("notes");
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub fn noted(&self, file: &str) -> BTreeSet<String> {
        let text = fs::read_to_string(self.notes().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// No test class has begun yet.
    pub fn forget(&self) {
        fs::remove_dir_all(self.notes()).unwrap();
        self.notes();
    }

    /// The test classes that began since a run was started.
    pub fn ran(&self) -> BTreeSet<String> {
        self.noted("ran")
    }

    /// Those of them that came to their end.
    pub fn ended(&self) -> BTreeSet<String> {
        self.noted("ended")
    }

    pub fn select(&self) -> Told {
        let output = command(&self.folder, &["select", "--format", "json"]).output().unwrap();
        Told::new(&output, BTreeSet::new())
    }

    /// Runs everything for the first time, which must work.
    pub fn record(&self, roots: &[&str], options: &[&str], tests: &[&str]) {
        let told = self.run(roots, options);
        assert_eq!((told.code, &told.ran), (Some(0), &set(tests)), "{}", told.said);
    }

    /// Runs what is selected now: exactly these, and as many are told.
    pub fn must_run(&self, roots: &[&str], options: &[&str], tests: &[&str]) -> Told {
        let told = self.run(roots, options);
        assert_eq!(told.ran, set(tests), "told: {:?} {}", told.reasons, told.said);
        assert_eq!(told.selected, told.ran, "{}", told.said);
        told
    }
}
