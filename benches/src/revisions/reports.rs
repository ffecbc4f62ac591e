//! What a build ran, as Surefire's XML reports tell it. They are the same for every variant, whoever chose the tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Folders in which no module has its `target`.
const WITHOUT_MODULES: &[&str] = &[".git", ".untether", "src", "target"];

/// What one build ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The classes that build tools choose among; what JUnit nests in one is part of it.
    pub(crate) classes: BTreeSet<String>,
    /// Test cases that failed: class, `#`, name.
    pub(crate) failed: BTreeSet<String>,
}

/// Old reports stay when a class is not run, so they have to go before each build.
pub(crate) fn clear(copy: &Path) -> Result<(), Failure> {
    for folder in folders(copy) {
        fs::remove_dir_all(&folder).map_err(Failure::io("remove", &folder))?;
    }
    Ok(())
}

pub(crate) fn read(copy: &Path) -> Result<Told, Failure> {
    let mut told = Told::default();
    for folder in folders(copy) {
        let module = folder.ancestors().nth(2).and_then(|module| module.strip_prefix(copy).ok());
        let module = module.map(|module| module.to_string_lossy().into_owned()).unwrap_or_default();
        let prefix = if module.is_empty() { module } else { module + ":" };
        for entry in fs::read_dir(&folder).map_err(Failure::io("list", &folder))?.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "xml") {
                let text = fs::read(&path).map_err(Failure::io("read", &path))?;
                add(&mut told, &prefix, &String::from_utf8_lossy(&text));
            }
        }
    }
    Ok(told)
}

fn folders(copy: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![copy.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let reports = folder.join("target/surefire-reports");
        if reports.is_dir() {
            found.push(reports);
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let modules = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        pending.extend(
            modules
                .map(|entry| entry.path())
                .filter(|path| !WITHOUT_MODULES.iter().any(|name| path.file_name().is_some_and(|it| it == *name))),
        );
    }
    found
}

/// Only elements and their attributes matter; what tests printed is in CDATA, and may look like anything.
fn add(told: &mut Told, prefix: &str, text: &str) {
    let mut rest = text;
    let mut case = None;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = if rest.starts_with("![CDATA[") { rest.find("]]>") } else { end_of_tag(rest) };
        let Some(end) = end else { return };
        let (tag, after) = (&rest[..end], &rest[end..]);
        rest = after;
        match tag.split(|letter: char| letter.is_whitespace() || letter == '/').next().unwrap_or_default() {
            "testcase" => {
                let class = attribute(tag, "classname").unwrap_or_default();
                told.classes.insert(format!("{prefix}{}", class.split('$').next().unwrap_or_default()));
                case = Some(format!("{prefix}{class}#{}", attribute(tag, "name").unwrap_or_default()));
            }
            "failure" | "error" => told.failed.extend(case.clone()),
            _ => {}
        }
    }
}

/// A `>` may stand in an attribute.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (index, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '>') => return Some(index),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
    }
    None
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    let value = &tag[start..];
    Some(value[..value.find('"')?].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Told {
        let mut told = Told::default();
        add(&mut told, "", text);
        told
    }

    #[test]
    fn failures_and_errors_are_of_the_case_that_they_stand_in() {
        let told = of(r#"<?xml version="1.0"?><testsuite name="a.B" failures="1">
            <testcase name="passes" classname="a.B" time="0"/>
            <testcase name="fails[a > b]" classname="a.B"><failure message="x > y" type="E">at</failure></testcase>
            <testcase name="breaks" classname="a.B$Inner"><error/></testcase>
            <testcase name="late" classname="a.C"><flakyFailure/></testcase></testsuite>"#);
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        assert_eq!(
            told,
            Told { classes: set(&["a.B", "a.C"]), failed: set(&["a.B#fails[a > b]", "a.B$Inner#breaks"]) }
        );
    }

    #[test]
    fn what_a_test_printed_is_not_read() {
        let told = of(r#"<testsuite><testcase name="prints" classname="a.B">
            <system-out><![CDATA[<testcase name="no" classname="no"><failure/>"]]></system-out></testcase></testsuite>"#);
        assert_eq!(told.classes.len(), 1);
        assert!(told.failed.is_empty());
    }
}
