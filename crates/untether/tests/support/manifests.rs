//! Suites whose sources say which dependencies decide an outcome (`manifest: ...`), and the comparison with what was found.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::{java_files, untether};

/// `manifest: ROLE TEST after OTHER, OTHER [or OTHER ...] [cleaned by TEST] [cause FIELD] [via RESOURCE]`: which of several
/// lists that do the same is named, and which are its alternatives, does not matter. A cause must be proven.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expectation {
    role: String,
    test: String,
    lists: BTreeSet<Vec<String>>,
    cause: Option<String>,
    cleaner: Option<String>,
    via: Option<String>,
}

#[derive(Debug, Default)]
pub struct Expected {
    findings: Vec<Expectation>,
    nondeterministic: Vec<String>,
    differing: Vec<String>,
    failing: Vec<String>,
    says_none: bool,
}

/// What the suite in a folder says; `package` is what the names of its kind's packages begin with.
pub fn expected(folder: &Path, package: &str) -> Expected {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let full = |test: &str| format!("{package}.{name}.{}", test.trim());
    let mut expected = Expected::default();
    for file in java_files(folder) {
        for line in std::fs::read_to_string(file).unwrap().lines().map(str::trim) {
            for (prefix, tests) in [
                ("// nondeterministic: ", &mut expected.nondeterministic),
                ("// differing: ", &mut expected.differing),
                ("// failing: ", &mut expected.failing),
            ] {
                tests.extend(line.strip_prefix(prefix).map(full));
            }
            let Some(text) = line.strip_prefix("// manifest: ") else { continue };
            if text == "none" {
                expected.says_none = true;
                continue;
            }
            let (text, via) = text.split_once(" via ").map_or((text, None), |(text, via)| (text, Some(via.to_owned())));
            let (text, cause) =
                text.split_once(" cause ").map_or((text, None), |(text, cause)| (text, Some(cause.to_owned())));
            let (text, cleaner) =
                text.split_once(" cleaned by ").map_or((text, None), |(text, cleaner)| (text, Some(full(cleaner))));
            let (head, others) = text.split_once(" after ").unwrap();
            let (role, test) = head.split_once(' ').unwrap();
            expected.findings.push(Expectation {
                role: role.to_owned(),
                test: full(test),
                lists: others.split(" or ").map(|list| list.split(',').map(full).collect()).collect(),
                cause,
                cleaner,
                via,
            });
        }
    }
    assert!(expected.says_none == expected.findings.is_empty(), "{name} must say either what is found or 'none'");
    expected
}

pub fn texts(value: &Value) -> Vec<String> {
    value.as_array().map(|list| list.iter().map(|item| item.as_str().unwrap().to_owned()).collect()).unwrap_or_default()
}

pub fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = untether(directory, arguments);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Everything that is wrong with what was found.
pub fn differences(expected: &Expected, document: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let lists = |finding: &Value| -> BTreeSet<Vec<String>> {
        let others = texts(&finding[if finding["role"] == "brittle" { "setters" } else { "polluters" }]);
        let alternatives = finding["alternatives"].as_array().cloned().unwrap_or_default();
        std::iter::once(others).chain(alternatives.iter().map(texts)).collect()
    };
    let mut unexpected: Vec<&Value> = document["manifest"].as_array().unwrap().iter().collect();
    for wanted in &expected.findings {
        let found = unexpected.iter().position(|finding| {
            finding["test"] == *wanted.test && finding["role"] == *wanted.role && lists(finding) == wanted.lists
        });
        let Some(found) = found else {
            wrong.push(format!("missing {wanted:?}"));
            continue;
        };
        let finding = unexpected.remove(found);
        if let Some(cause) = &wanted.cause {
            let is_proven = finding["proof"] == "proven" && texts(&finding["fields"]) == [cause.as_str()];
            if !is_proven {
                wrong.push(format!("{}: cause is {} {}", wanted.test, finding["proof"], finding["fields"]));
            }
        }
        let cleaners = texts(&finding["cleaners"]);
        if wanted.cleaner.as_ref().is_some_and(|cleaner| !cleaners.contains(cleaner)) {
            wrong.push(format!("{}: cleaners are {cleaners:?}", wanted.test));
        }
        let names: Vec<String> = finding["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| resource["name"].as_str().unwrap().to_owned())
            .collect();
        if wanted.via.as_ref().is_some_and(|via| !names.iter().any(|name| name.starts_with(via.as_str()))) {
            wrong.push(format!("{}: resources are {names:?}", wanted.test));
        }
    }
    wrong.extend(
        unexpected
            .into_iter()
            .map(|finding| format!("unexpected {} {} after {:?}", finding["role"], finding["test"], lists(finding))),
    );
    for (key, wanted) in [
        ("nondeterministic", &expected.nondeterministic),
        ("differing", &expected.differing),
        ("failing", &expected.failing),
    ] {
        let found = texts(&document[key]);
        if &found != wanted {
            wrong.push(format!("{key}: {found:?}"));
        }
    }
    wrong
}
