//! What a finding says, in words: what it comes from, which tests it is about, what they come to.

use std::collections::{BTreeMap, BTreeSet};

use untether_model::{Certainty, Contrast, Finding, RefinementRecord, Role};

/// What findings are sorted by: their cause, then the test.
pub fn finding_order(finding: &Finding) -> (String, Role, &str, &[String]) {
    (cause(finding), finding.role, &finding.test, finding.others())
}

/// The fields through which it comes about, or the test that leaves something behind where none is known.
pub(crate) fn cause(finding: &Finding) -> String {
    if !finding.cause.fields.is_empty() {
        return finding.cause.fields.iter().map(|field| called(finding, field)).collect::<Vec<_>>().join(" and ");
    }
    let others = finding.others().join(", ");
    match finding.cause.certainty {
        Certainty::Outside => format!("something outside of the heap that {others} leaves behind"),
        _ => format!("something that {others} leaves behind"),
    }
}

fn is_one_of_table(name: &str) -> bool {
    name.starts_with("property:") || name.starts_with("env:")
}

/// The field as a person calls it: the one property or variable that matters, not all of them.
pub(crate) fn called(finding: &Finding, field: &str) -> String {
    let mut names = finding.resources.iter().filter(|channel| channel.field == field).map(|channel| &channel.name);
    match names.next() {
        Some(name) if is_one_of_table(name) && names.all(|other| other == name) => name.clone(),
        _ => field.to_owned(),
    }
}

/// The modules that findings are about, by the folders in which their JVMs ran.
pub(crate) struct Modules<'r> {
    refinement: &'r RefinementRecord,
    /// Tests that several modules have.
    ambiguous: BTreeSet<&'r str>,
}

impl<'r> Modules<'r> {
    pub(crate) fn new(refinement: &'r RefinementRecord) -> Self {
        let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for finding in &refinement.findings {
            let folder = refinement.launch_of(finding).map_or("", |launch| launch.directory.as_str());
            folders.entry(&finding.test).or_default().insert(folder);
        }
        let ambiguous = folders.into_iter().filter(|(_, folders)| folders.len() > 1).map(|(test, _)| test).collect();
        Modules { refinement, ambiguous }
    }

    /// The module's folder without the folders around it.
    pub(crate) fn of(&self, finding: &Finding) -> &'r str {
        let folder = self.refinement.launch_of(finding).map_or("", |launch| launch.directory.as_str());
        folder.trim_end_matches('/').rsplit('/').next().unwrap_or(folder)
    }

    /// The module, where the test's name alone does not say which test is meant.
    pub(crate) fn shown(&self, finding: &Finding) -> &'r str {
        if self.ambiguous.contains(finding.test.as_str()) { self.of(finding) } else { "" }
    }
}

/// What the finding says, in one line.
pub fn finding_sentence(finding: &Finding) -> String {
    let (relation, before) = relation(finding);
    let (relation, before) = if finding.role == Role::Brittle { ("needs", " before it") } else { (relation, before) };
    let others = finding.others().join(", then ");
    format!("{} {relation} {others}{before}: {}", finding.test, outcomes(finding))
}

pub(crate) fn relation(finding: &Finding) -> (&'static str, &'static str) {
    match finding.role {
        Role::Brittle => ("need", " before them"),
        Role::Victim => ("must not run after", ""),
    }
}

/// What the test comes to, and when.
pub(crate) fn outcomes(finding: &Finding) -> String {
    let Contrast { reference, violated, counter, .. } = finding.outcome;
    match finding.role {
        Role::Brittle if reference == counter => format!("{violated} alone, {counter} then, as in the original order"),
        Role::Brittle => format!("{violated} alone, as in the original order, {counter} then"),
        Role::Victim if reference == counter => format!("{violated} then, {counter} in the original order"),
        Role::Victim => format!("{violated} then, as in the original order, {counter} alone"),
    }
}

pub(crate) fn first_line(message: &str) -> String {
    const MOST: usize = 160;
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// As much of a finding's id as tells it from the others, and no less than six digits.
pub(crate) fn short_id<'f>(findings: &[impl std::borrow::Borrow<Finding>], finding: &'f Finding) -> &'f str {
    let is_shared = |length: usize| {
        let mut others = findings.iter().map(|other| &other.borrow().id).filter(|&id| id != &finding.id);
        others.any(|id| id.get(..length) == finding.id.get(..length))
    };
    let length = (6..finding.id.len()).find(|&length| !is_shared(length)).unwrap_or(finding.id.len());
    &finding.id[..length.min(finding.id.len())]
}
