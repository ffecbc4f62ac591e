//! Every suite under `fixtures/` is watched on every JDK, and what is found is compared with what its
//! source says beside the line that causes it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;
use support::{class_path_of, compile, feature_version, java_files, jdks, repository, scratch, untether};

/// `expect: KIND FROM -> TO via PREFIX`.
#[derive(Debug, Clone)]
struct Expectation {
    kind: String,
    from: String,
    to: String,
    via: String,
}

#[derive(Debug, Default)]
struct Expected {
    dependencies: Vec<Expectation>,
    /// Resources that must carry the label `lazy`.
    lazy: Vec<String>,
    is_none: bool,
}

struct Fixture {
    name: String,
    folder: PathBuf,
}

const ROOTS: [&str; 3] = ["jupiter", "junit4", "junit3"];

fn fixtures() -> Vec<Fixture> {
    let mut found = Vec::new();
    for root in ROOTS {
        for entry in std::fs::read_dir(repository().join("fixtures").join(root)).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            found.push(Fixture { name, folder });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.retain(|fixture| support::is_wanted(&fixture.name));
    found
}

/// How many fixtures one JVM runs: most of the time of a watched JVM is its start.
const TOGETHER: usize = 12;

/// Fixtures that run in one JVM, one after the other. Those about the state of the JDK and those that say so run alone.
fn in_groups(fixtures: Vec<Fixture>) -> Vec<Vec<Fixture>> {
    let needs_own = |fixture: &Fixture| {
        let text = |file| std::fs::read_to_string(file).unwrap();
        let says_own = java_files(&fixture.folder).into_iter().map(text).any(|text| text.contains("// jvm: own"));
        says_own || fixture.name.starts_with("jdk_")
    };
    let (alone, mut others): (Vec<Fixture>, Vec<Fixture>) = fixtures.into_iter().partition(needs_own);
    let mut groups: Vec<Vec<Fixture>> = alone.into_iter().map(|fixture| vec![fixture]).collect();
    while !others.is_empty() {
        groups.push(others.drain(..TOGETHER.min(others.len())).collect());
    }
    groups
}

fn expected(fixture: &Fixture) -> Expected {
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
            let full = |name: &str| format!("fixture.{}.{name}", fixture.name);
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

struct Found {
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

/// The fixture that a test belongs to: `fixture.NAME.Class#method`.
fn fixture_of(test: &str) -> &str {
    test.split('.').nth(1).unwrap_or(test)
}

impl FoundResource {
    /// Fixtures name resources by the path from the root or as a person does.
    fn starts_with(&self, via: &str) -> bool {
        self.path.starts_with(via) || self.name.starts_with(via)
    }
}

fn found(store: &Path) -> Vec<Found> {
    let output =
        untether(store, &["deps", "--format", "json", "--kind", "data", "--kind", "anti", "--kind", "candidate"]);
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let ids = support::party_ids(&document);
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

/// What is wrong with the fixture's result; empty if nothing.
fn differences(expected: &Expected, found: &[&Found]) -> Vec<String> {
    let mut wrong = Vec::new();
    let wanted: BTreeSet<(&str, &str)> =
        expected.dependencies.iter().filter(|e| e.kind == "data").map(|e| (e.from.as_str(), e.to.as_str())).collect();
    if expected.is_none != wanted.is_empty() {
        wrong.push("the fixture must say either 'none' or its data dependencies".to_owned());
    }
    for d in found.iter().filter(|d| d.kind == "data") {
        if !wanted.contains(&(d.from.as_str(), d.to.as_str())) {
            wrong.push(format!("unexpected {} -> {} via {:?}", d.from, d.to, d.resources));
        } else if !d.has_stacks {
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
fn check(group: &[&Fixture], home: &Path, class_path: &str, way: &str) -> Vec<String> {
    let name = &group.first().unwrap().name;
    let run = scratch("fixtures").join(format!("{name}-{way}-{}", feature_version(home)));
    let _ = std::fs::remove_dir_all(&run);
    std::fs::create_dir_all(&run).unwrap();
    let java = home.display().to_string();
    let includes: Vec<String> = group.iter().map(|fixture| format!("fixture.{}.*Test", fixture.name)).collect();
    let mut arguments = vec!["detect", "--classpath", class_path, "--java", &java];
    arguments.extend(includes.iter().flat_map(|include| ["--include", include]));
    let output = untether(&run, &arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return vec![format!("{name} and the {} after it: {}: {messages}", group.len() - 1, output.status)];
    }
    let (own, between): (Vec<Found>, Vec<Found>) =
        found(&run).into_iter().partition(|d| d.fixture() == fixture_of(&d.to));
    let is_data = |d: &&Found| d.kind == "data";
    let between = between.iter().filter(is_data);
    let mut wrong: Vec<String> =
        between.map(|d| format!("unexpected {} -> {} via {:?}", d.from, d.to, d.resources)).collect();
    for fixture in group {
        let (found, _): (Vec<&Found>, Vec<&Found>) = own.iter().partition(|d| d.fixture() == fixture.name);
        let different = differences(&expected(fixture), &found).into_iter().chain(contradictions(&found));
        wrong.extend(different.map(|text| format!("{}: {text}", fixture.name)));
    }
    wrong.extend(anomalies(&run, &messages).into_iter().map(|text| format!("{name}...: {text}")));
    wrong
}

/// Checks fixtures in the ways that `ways_of` gives them: a name, and the libraries to run with.
fn check_each(home: &Path, fixtures: Vec<Fixture>, ways_of: impl Fn(&Fixture) -> Vec<(&'static str, String)> + Sync) {
    assert!(!fixtures.is_empty() || std::env::var_os("UNTETHER_FIXTURES").is_some());
    let everything = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = scratch(&format!("fixture-classes-{}", feature_version(home)));
    static COMPILED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    {
        let mut compiled = COMPILED.lock().unwrap();
        if compiled.insert(classes.clone()) {
            let sources: Vec<PathBuf> =
                ROOTS.iter().flat_map(|root| java_files(&repository().join("fixtures").join(root))).collect();
            compile(home, &everything, &sources, &classes);
        }
    }
    let queue = Mutex::new(in_groups(fixtures));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(group) = queue.lock().unwrap().pop() else { return };
                    let mut ways: BTreeMap<(&'static str, String), Vec<&Fixture>> = BTreeMap::new();
                    for fixture in &group {
                        ways_of(fixture).into_iter().for_each(|way| ways.entry(way).or_default().push(fixture));
                    }
                    for ((way, libraries), fixtures) in ways {
                        let class_path = format!("{}:{libraries}", classes.display());
                        let wrong = check(&fixtures, home, &class_path, way);
                        failures.lock().unwrap().extend(wrong.into_iter().map(|text| format!("({way}) {text}")));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "on {}:\n{}", home.display(), failures.join("\n"));
}

fn is_jupiter(fixture: &Fixture) -> bool {
    fixture.folder.parent().unwrap().ends_with("jupiter")
}

fn check_all(home: &Path) {
    let everything = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    // JUnit 4 and 3 are found through the Platform (Vintage) and without it.
    let without_platform: Vec<&str> =
        everything.split(':').filter(|jar| jar.contains("/junit/junit/") || jar.contains("hamcrest")).collect();
    let without_platform = without_platform.join(":");
    check_each(home, fixtures(), |fixture| {
        let mut ways = vec![("platform", everything.clone())];
        if !is_jupiter(fixture) {
            ways.push(("plain", without_platform.clone()));
        }
        ways
    });
}

#[test]
fn every_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_oldest_jdk() {
    check_all(jdks().first().unwrap());
}

#[test]
fn every_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_newest_jdk() {
    let jdks = jdks();
    if jdks.len() > 1 {
        check_all(jdks.last().unwrap());
    }
}

#[test]
fn every_fixture_has_exactly_the_dependencies_that_its_source_says_on_the_jdks_between() {
    let jdks = jdks();
    for home in jdks.iter().skip(1).take(jdks.len().saturating_sub(2)) {
        check_all(home);
    }
}

/// One for each kind of Jupiter test and fixture.
const KINDS_OF_JUPITER: &[&str] = &[
    "after_all_read_by_other",
    "before_all_reads",
    "before_each_leaks",
    "dynamic_tests",
    "extension_callbacks",
    "inherited_before_all",
    "nested_reset",
    "nested_tests",
    "parameterized",
    "per_class_instance",
    "per_class_reset",
    "per_method_instance",
    "repeated",
    "restored_after_all",
    "static_primitive",
    "test_constructor",
];

#[test]
fn junit_6_is_followed_like_junit_5() {
    let libraries = class_path_of(&repository().join("fixtures/versions/junit6.xml"), "junit6");
    let mut some = fixtures();
    some.retain(|fixture| KINDS_OF_JUPITER.contains(&fixture.name.as_str()) || fixture.name == "junit4_before_class");
    check_each(jdks().first().unwrap(), some, |_| vec![("junit-6", libraries.clone())]);
}

#[test]
fn junit_4_10_is_followed_like_later_ones() {
    let libraries = class_path_of(&repository().join("fixtures/versions/junit410.xml"), "junit410");
    let mut some = fixtures();
    // These need what came with 4.11: an order of methods, and parameters that are no arrays.
    let newer = ["junit4_same_class", "junit4_parameterized"];
    some.retain(|fixture| !is_jupiter(fixture) && !newer.contains(&fixture.name.as_str()));
    check_each(jdks().first().unwrap(), some, |_| vec![("junit-4.10", libraries.clone())]);
}
