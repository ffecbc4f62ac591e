//! Suites whose sources say which dependencies must be found (`expect: ...`), and the comparison with what was found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{is_wanted, java_files, party_ids, repository, untether};

/// `expect: KIND FROM -> TO via PREFIX`.
#[derive(Debug, Clone)]
pub struct Expectation {
    kind: String,
    from: String,
    to: String,
    via: String,
}

#[derive(Debug, Default)]
pub struct Expected {
    dependencies: Vec<Expectation>,
    /// Resources that must carry the label `lazy`.
    lazy: Vec<String>,
    is_none: bool,
}

pub struct Fixture {
    pub name: String,
    pub folder: PathBuf,
    /// What the names of the packages of all of its kind begin with.
    pub package: &'static str,
}

/// The fixtures in folders below `fixtures/`, without those that nobody wants.
pub fn fixtures(roots: &[&str], package: &'static str) -> Vec<Fixture> {
    let mut found = Vec::new();
    for root in roots {
        for entry in std::fs::read_dir(repository().join("fixtures").join(root)).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            if folder.is_dir() {
                found.push(Fixture { name, folder, package });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.retain(|fixture| is_wanted(&fixture.name));
    found
}

impl Fixture {
    /// Whether one of the sources has this line comment, or one that begins so.
    pub fn says(&self, comment: &str) -> bool {
        let text = |file| std::fs::read_to_string(file).unwrap();
        java_files(&self.folder).into_iter().map(text).any(|text| text.contains(comment))
    }

    /// What includes its test classes, and no others.
    pub fn include(&self) -> String {
        format!("{}.{}.*Test", self.package, self.name)
    }

    fn needs_own_jvm(&self) -> bool {
        self.says("// jvm: own") || self.name.starts_with("jdk_") || self.needs_machine()
    }

    /// Whether no other may run beside it, in whatever JVM.
    pub fn needs_machine(&self) -> bool {
        self.says("// machine: alone")
    }
}

/// How many fixtures one JVM runs: most of the time of a watched JVM is its start.
const TOGETHER: usize = 12;

/// Fixtures that run in one JVM, one after the other. Those about the state of the JDK and those that say so run alone.
pub fn in_groups(fixtures: Vec<Fixture>) -> Vec<Vec<Fixture>> {
    let (alone, mut others): (Vec<Fixture>, Vec<Fixture>) = fixtures.into_iter().partition(Fixture::needs_own_jvm);
    let mut groups: Vec<Vec<Fixture>> = alone.into_iter().map(|fixture| vec![fixture]).collect();
    while !others.is_empty() {
        groups.push(others.drain(..TOGETHER.min(others.len())).collect());
    }
    groups
}

pub fn expected(fixture: &Fixture) -> Expected {
    let mut expected = Expected::default();
    for file in java_files(&fixture.folder) {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let line = line.trim().trim_start_matches("*").trim();
            if let Some(label) = line.strip_prefix("// label: lazy ") {
                expected.lazy.push(label.trim().to_owned());
            }
            let Some(text) = line.strip_prefix("// expect: ") else { continue };
            if text.trim() == "none" {
                expected.is_none = true;
                continue;
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let [kind, from, "->", to, "via", via] = words[..] else { panic!("{}: '{line}'", fixture.name) };
            let full = |name: &str| format!("{}.{}.{name}", fixture.package, fixture.name);
            expected.dependencies.push(Expectation {
                kind: kind.to_owned(),
                from: full(from),
                to: full(to),
                via: via.to_owned(),
            });
        }
    }
    expected
}

pub struct Found {
    kind: String,
    from: String,
    to: String,
    resources: Vec<FoundResource>,
    has_stacks: bool,
}

#[derive(Debug)]
struct FoundResource {
    name: String,
    path: String,
    labels: Vec<String>,
}

impl Found {
    fn fixture(&self) -> &str {
        fixture_of(&self.from)
    }
}

/// The fixture that a test belongs to: `PACKAGE.NAME.Class#method`.
fn fixture_of(test: &str) -> &str {
    test.split('.').nth(1).unwrap_or(test)
}

impl FoundResource {
    /// Fixtures name resources by the path from the root or as a person does.
    fn starts_with(&self, via: &str) -> bool {
        self.path.starts_with(via) || self.name.starts_with(via)
    }
}

pub fn found(store: &Path) -> Vec<Found> {
    let output =
        untether(store, &["deps", "--format", "json", "--kind", "data", "--kind", "anti", "--kind", "candidate"]);
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let ids = party_ids(&document);
    let id = |value: &Value| ids[&value.as_u64().unwrap()].clone();
    let resources = |channel: &Value| -> Vec<FoundResource> {
        let resource = |number: &Value| {
            let resource = &document["resources"][number.as_u64().unwrap() as usize];
            let labels = array(&channel["labels"]).iter().map(text).collect();
            FoundResource { name: text(&resource["name"]), path: text(&resource["path"]), labels }
        };
        array(&channel["resources"]).iter().map(resource).collect()
    };
    let found = |dependency: &Value| {
        let channels = array(&dependency["channels"]);
        Found {
            kind: text(&dependency["kind"]),
            from: id(&dependency["from"]),
            to: id(&dependency["to"]),
            resources: channels.iter().flat_map(resources).collect(),
            has_stacks: channels.iter().any(|channel| channel["write"].is_u64() && channel["read"].is_u64()),
        }
    };
    array(&document["dependencies"]).iter().map(found).collect()
}

/// What a data dependency must show beside its resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Where it was written and where it was read.
    Stacks,
    /// Nothing: a child process has no stack of Java.
    Nothing,
}

/// What is wrong with the fixture's result; empty if nothing.
fn differences(expected: &Expected, found: &[&Found], evidence: Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    let wanted: BTreeSet<(&str, &str)> =
        expected.dependencies.iter().filter(|e| e.kind == "data").map(|e| (e.from.as_str(), e.to.as_str())).collect();
    if expected.is_none != wanted.is_empty() {
        wrong.push("the fixture must say either 'none' or its data dependencies".to_owned());
    }
    for d in found.iter().filter(|d| d.kind == "data") {
        if !wanted.contains(&(d.from.as_str(), d.to.as_str())) {
            wrong.push(format!("unexpected {} -> {} via {:?}", d.from, d.to, d.resources));
        } else if evidence == Evidence::Stacks && !d.has_stacks {
            wrong.push(format!("no stacks for {} -> {} via {:?}", d.from, d.to, d.resources));
        }
    }
    for e in &expected.dependencies {
        let matching = found.iter().find(|d| d.kind == e.kind && d.from == e.from && d.to == e.to);
        match matching {
            None => wrong.push(format!("missing {} {} -> {} via {}", e.kind, e.from, e.to, e.via)),
            Some(d) if !d.resources.iter().any(|resource| resource.starts_with(&e.via)) => {
                wrong.push(format!("{} {} -> {} via {:?} instead of {}", e.kind, e.from, e.to, d.resources, e.via));
            }
            Some(_) => {}
        }
    }
    for lazy in &expected.lazy {
        let is_labelled = found
            .iter()
            .flat_map(|d| &d.resources)
            .any(|resource| resource.starts_with(lazy) && resource.labels.iter().any(|label| label == "lazy"));
        if !is_labelled {
            wrong.push(format!("{lazy} is not labelled lazy"));
        }
    }
    wrong
}

/// What is wrong with a run whatever it finds: the runtime stumbled, or a test is there twice.
fn anomalies(run: &Path, messages: &str) -> Vec<String> {
    let mut wrong: Vec<String> = messages
        .lines()
        .filter(|line| line.contains("boundary:") || line.contains("framework:"))
        .map(str::to_owned)
        .collect();
    let output = untether(run, &["deps", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut seen = BTreeSet::new();
    for test in document["tests"].as_array().unwrap() {
        if !seen.insert(test["id"].as_str().unwrap()) {
            wrong.push(format!("{} is there twice", test["id"]));
        }
    }
    wrong
}

/// Who overwrites what another test has read may harm it in another order: each anti-dependency is a candidate too.
fn contradictions(found: &[&Found]) -> Vec<String> {
    let pairs = |kind: &str| -> BTreeSet<(&str, &str)> {
        found.iter().filter(|d| d.kind == kind).map(|d| (d.from.as_str(), d.to.as_str())).collect()
    };
    let candidates = pairs("candidate");
    let is_contradicted = |(reader, writer): &(&str, &str)| !candidates.contains(&(*writer, *reader));
    let anti = pairs("anti").into_iter().filter(is_contradicted);
    anti.map(|(reader, writer)| format!("anti {reader} -> {writer}, but no candidate {writer} -> {reader}")).collect()
}

/// What is wrong with the results of fixtures that ran in one JVM: each has what it says, and none has to do with another.
pub fn complaints(group: &[&Fixture], run: &Path, messages: &str, evidence: Evidence) -> Vec<String> {
    let (own, between): (Vec<Found>, Vec<Found>) =
        found(run).into_iter().partition(|d| d.fixture() == fixture_of(&d.to));
    let is_data = |d: &&Found| d.kind == "data";
    let between = between.iter().filter(is_data);
    let mut wrong: Vec<String> =
        between.map(|d| format!("unexpected {} -> {} via {:?}", d.from, d.to, d.resources)).collect();
    for fixture in group {
        let (found, _): (Vec<&Found>, Vec<&Found>) = own.iter().partition(|d| d.fixture() == fixture.name);
        let different = differences(&expected(fixture), &found, evidence).into_iter().chain(contradictions(&found));
        wrong.extend(different.map(|text| format!("{}: {text}", fixture.name)));
    }
    let name = &group.first().unwrap().name;
    wrong.extend(anomalies(run, messages).into_iter().map(|text| format!("{name}...: {text}")));
    wrong
}
