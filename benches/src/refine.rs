//! `untether-bench refine`: the strategies of `untether refine` side by side.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde::Deserialize;

use crate::class_path::ask_maven;
use crate::failure::Failure;
use crate::report::{Style, table};

pub(crate) const HELP: &str = "Without --watched, the suites under fixtures/refine are taken together as one. \
A project takes part after 'untether detect' was run in its folder.

Exit code: 0 if every refinement ended, 1 if one did not, 2 if nothing could be measured at all.";

#[derive(Args)]
pub(crate) struct RefineArguments {
    /// A name and the folder of a project that 'untether detect' has watched; may be repeated
    #[arg(long, value_name = "NAME=FOLDER")]
    watched: Vec<String>,

    /// A strategy; may be repeated [default: all but pairs, which needs a JVM for every two tests]
    #[arg(long, value_name = "STRATEGY")]
    strategy: Vec<String>,

    /// How long one refinement may take
    #[arg(long, value_name = "TIME", default_value = "15m")]
    budget: String,

    /// End a test that runs longer than this
    #[arg(long, value_name = "TIME", default_value = "20s")]
    test_timeout: String,

    /// Print tables in Markdown
    #[arg(long)]
    markdown: bool,
}

const STRATEGIES: [&str; 5] = ["guided", "pradet", "isolate", "reverse", "random:20:1"];

/// A watched project.
struct Project {
    name: String,
    folder: PathBuf,
}

#[derive(Deserialize)]
struct Document {
    is_complete: bool,
    executions: u64,
    jvm_starts: u64,
    seconds: f64,
    manifest: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    test: String,
}

/// Whether every refinement ended.
pub(crate) fn run(arguments: &RefineArguments) -> Result<bool, Failure> {
    let here = std::env::current_exe().map_err(Failure::io("find", Path::new("this program")))?;
    let untether = here.with_file_name("untether");
    let projects = if arguments.watched.is_empty() {
        let target = here.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
        vec![fixtures(&untether, &target.join("bench/refine-fixtures"))?]
    } else {
        arguments.watched.iter().map(|text| project(text)).collect::<Result<_, _>>()?
    };
    let chosen: Vec<&str> = match arguments.strategy.as_slice() {
        [] => STRATEGIES.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    let head = ["suite", "strategy", "findings", "tests", "executions", "JVMs", "seconds", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut is_good = true;
    for project in &projects {
        for strategy in &chosen {
            eprintln!("{}: {strategy}", project.name);
            let document = refine(&untether, project, strategy, arguments)?;
            let tests: BTreeSet<&str> = document.manifest.iter().map(|finding| finding.test.as_str()).collect();
            is_good &= document.is_complete;
            // The table comes at the end, which may be far.
            eprintln!(
                "{}: {strategy}: {} findings, {} test executions, {} JVMs, {:.1} s",
                project.name,
                document.manifest.len(),
                document.executions,
                document.jvm_starts,
                document.seconds
            );
            rows.push(vec![
                project.name.clone(),
                (*strategy).to_owned(),
                document.manifest.len().to_string(),
                tests.len().to_string(),
                document.executions.to_string(),
                document.jvm_starts.to_string(),
                format!("{:.1}", document.seconds),
                if document.is_complete { String::new() } else { "out of time".to_owned() },
            ]);
        }
    }
    print!("{}", table(&rows, if arguments.markdown { Style::Markdown } else { Style::Text }));
    Ok(is_good)
}

fn project(text: &str) -> Result<Project, Failure> {
    let (name, folder) = text.split_once('=').ok_or_else(|| Failure::new(format!("'{text}' is not NAME=FOLDER")))?;
    let folder = PathBuf::from(folder);
    if !folder.join(".untether").exists() {
        return Err(Failure::new(format!("run 'untether detect' in {} first", folder.display())));
    }
    Ok(Project { name: name.to_owned(), folder })
}

fn refine(
    untether: &Path,
    project: &Project,
    strategy: &str,
    arguments: &RefineArguments,
) -> Result<Document, Failure> {
    let output = Command::new(untether)
        .args(["refine", "--fresh", "--quiet", "--format", "json", "--strategy", strategy])
        .args(["--budget", &arguments.budget, "--test-timeout", &arguments.test_timeout])
        .current_dir(&project.folder)
        .output()
        .map_err(Failure::io("start", untether))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Failure::new(format!("{} could not be refined with {strategy}: {reason}", project.name))
    })
}

/// All suites under `fixtures/refine` as one, compiled and watched.
fn fixtures(untether: &Path, folder: &Path) -> Result<Project, Failure> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let classes = folder.join("classes");
    fs::create_dir_all(&classes).map_err(Failure::io("create", &classes))?;
    let pom = sources.join("pom.xml");
    let text = fs::read_to_string(&pom).map_err(Failure::io("read", &pom))?;
    let libraries = ask_maven(&text, folder, &folder.join("classpath.txt"))?;
    let libraries = libraries.trim();
    let mut files = Vec::new();
    let mut folders = vec![sources.join("refine")];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).map_err(Failure::io("read", &at))? {
            let path = entry.map_err(Failure::io("read", &at))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    let compiled = Command::new("javac")
        .args(["-g", "-nowarn", "-cp", libraries, "-d"])
        .arg(&classes)
        .args(&files)
        .status()
        .map_err(|error| Failure::new(format!("cannot start javac, is a JDK installed? {error}")))?;
    if !compiled.success() {
        return Err(Failure::new("the fixtures do not compile"));
    }
    let class_path = format!("{}:{libraries}", classes.display());
    Command::new(untether)
        .args(["detect", "--quiet", "--include", "refine.**Test", "--classpath", &class_path])
        .current_dir(folder)
        .output()
        .map_err(Failure::io("start", untether))?;
    project(&format!("fixtures={}", folder.display()))
}
