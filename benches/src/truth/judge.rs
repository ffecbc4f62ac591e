//! Whether what the product found is so: proofs are run again, lists are taken apart, cleaners are tried, and the
//! cause is compared with the cell in which the test failed.

use untether_model::Status;

use super::facts::{Outcome, cell_between};
use super::generator::Cell;
use super::oracle::{World, is_runnable};
use super::product::Finding;
use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) finding: Finding,
    /// Why the finding is false; empty where it is true.
    pub(crate) problems: Vec<String>,
    pub(crate) false_alternatives: Vec<Vec<String>>,
    pub(crate) false_cleaners: Vec<String>,
    /// The class of the cell in which the test failed.
    pub(crate) cell: Option<String>,
    /// None where the test did not say in which cell it failed.
    pub(crate) is_cause_right: Option<bool>,
}

impl Judgement {
    pub(crate) fn is_true(&self) -> bool {
        self.problems.is_empty()
    }
}

pub(crate) fn judge(finding: &Finding, cells: &[Cell], world: &mut impl World) -> Result<Judgement, Failure> {
    let mut problems = Vec::new();
    let violating = replay(&finding.schedule, &finding.violated, finding, world, &mut problems)?;
    let countering = replay(&finding.counter_schedule, &finding.counter, finding, world, &mut problems)?;
    if finding.counter == finding.violated {
        problems.push(format!("both outcomes are said to be {}", finding.counter));
    }
    let alone = world.last(std::slice::from_ref(&finding.test))?;
    let after = after(&finding.others, &finding.test, world)?;
    // A test that needs a setter and runs after it, and after one that undoes it, is called a victim too.
    let is_disturbed = finding.role == "victim" && alone.status != Status::Passed && is_part(finding);
    let without = if is_disturbed { countering.clone() } else { alone.clone() };
    if !is_disturbed && (finding.role == "victim") != (alone.status == Status::Passed) {
        problems.push(format!("alone, this {} {}", finding.role, alone.status));
    }
    if finding.others.is_empty() || after.as_ref().is_some_and(|after| after.status == without.status) {
        problems.push(format!("after {} it comes to what it comes to without", finding.others.join(", ")));
    }
    if !is_disturbed {
        problems.extend(superfluous(finding, after.as_ref(), world)?);
    }
    let mut false_alternatives = Vec::new();
    for list in &finding.alternatives {
        let outcome = self::after(list, &finding.test, world)?;
        if outcome.is_some_and(|outcome| !outcome.differs_from(&without) && outcome.status != Status::Missing) {
            false_alternatives.push(list.clone());
        }
    }
    let mut false_cleaners = Vec::new();
    for cleaner in &finding.cleaners {
        let mut list = finding.others.clone();
        list.push(cleaner.clone());
        let outcome = self::after(&list, &finding.test, world)?;
        if finding.others.contains(cleaner) || outcome.is_some_and(|outcome| outcome.differs_from(&without)) {
            false_cleaners.push(cleaner.clone());
        }
    }
    let cell = cell_between(&violating, &countering).map(str::to_owned);
    let planted = cells.iter().find(|known| Some(&known.class) == cell.as_ref());
    let is_cause_right = planted.map(|cell| is_named(&finding.causes, &cell.causes));
    Ok(Judgement { finding: finding.clone(), problems, false_alternatives, false_cleaners, cell, is_cause_right })
}

/// Runs one of the two schedules of a finding.
fn replay(
    schedule: &[String],
    claimed: &str,
    finding: &Finding,
    world: &mut impl World,
    problems: &mut Vec<String>,
) -> Result<Outcome, Failure> {
    if schedule.last() != Some(&finding.test) {
        problems.push("a schedule does not end with the test".to_owned());
        return Ok(Outcome { status: Status::Missing, message: String::new() });
    }
    let outcome = world.last(schedule)?;
    if outcome.status.as_str() != claimed {
        problems.push(format!("{} was said to come to {claimed} and {}", schedule.join(", "), outcome.status));
    }
    Ok(outcome)
}

/// Whether the counter-schedule is the schedule without some of its tests.
fn is_part(finding: &Finding) -> bool {
    let mut rest = finding.schedule.iter();
    let is_subsequence = finding.counter_schedule.iter().all(|test| rest.any(|other| other == test));
    is_subsequence && (2..finding.schedule.len()).contains(&finding.counter_schedule.len())
}

/// What the test comes to after the list; none where that would run a class twice.
fn after(list: &[String], test: &str, world: &mut impl World) -> Result<Option<Outcome>, Failure> {
    let mut schedule = list.to_vec();
    schedule.push(test.to_owned());
    if !is_runnable(&schedule) {
        return Ok(None);
    }
    world.last(&schedule).map(Some)
}

/// Members of the list without which it does the same.
fn superfluous(finding: &Finding, after: Option<&Outcome>, world: &mut impl World) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    let Some(whole) = after.filter(|_| finding.others.len() > 1) else { return Ok(problems) };
    for (at, other) in finding.others.iter().enumerate() {
        let mut rest = finding.others.clone();
        rest.remove(at);
        let outcome = self::after(&rest, &finding.test, world)?;
        if outcome.is_some_and(|outcome| outcome.status == whole.status) {
            problems.push(format!("{other} is not needed"));
        }
    }
    Ok(problems)
}

/// Whether one of the texts names one of the causes.
fn is_named(texts: &[String], causes: &[String]) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
    let names = |text: &String, cause: &String| {
        let (cause, is_open) = cause.strip_suffix('*').map_or((cause.as_str(), false), |start| (start, true));
        text.match_indices(cause).any(|(at, _)| {
            let (before, rest) = (text[..at].chars().next_back(), text[at + cause.len()..].chars().next());
            !is_part(before) && (is_open || !is_part(rest))
        })
    };
    texts.iter().any(|text| causes.iter().any(|cause| names(text, cause)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests fail where the schedule, as text, is one of the failing ones.
    struct Made(&'static [&'static str]);

    impl World for Made {
        fn last(&mut self, schedule: &[String]) -> Result<Outcome, Failure> {
            let fails = self.0.contains(&schedule.join(" ").as_str());
            let (status, message) = if fails { (Status::Failed, "[Cell1] bad") } else { (Status::Passed, "") };
            Ok(Outcome { status, message: message.to_owned() })
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn victim(others: &str) -> Finding {
        Finding {
            test: "V#v".to_owned(),
            role: "victim".to_owned(),
            others: words(others),
            schedule: words(&format!("{others} V#v")),
            counter_schedule: words("V#v"),
            counter: "passed".to_owned(),
            violated: "failed".to_owned(),
            causes: vec!["truth.Cell1.value".to_owned()],
            ..Finding::default()
        }
    }

    fn judged(finding: &Finding, failing: &'static [&'static str]) -> Judgement {
        let cell = Cell {
            class: "Cell1".to_owned(),
            kind: "primitive",
            source: String::new(),
            causes: vec!["Cell1.value".to_owned()],
        };
        judge(finding, &[cell], &mut Made(failing)).unwrap()
    }

    #[test]
    fn a_true_finding_has_no_problem_and_its_cause_is_compared() {
        let mut finding = victim("P#p");
        let judgement = judged(&finding, &["P#p V#v"]);
        assert!(judgement.is_true(), "{judgement:?}");
        assert_eq!((judgement.cell.as_deref(), judgement.is_cause_right), (Some("Cell1"), Some(true)));
        finding.causes = vec!["truth.Noise.counter".to_owned()];
        assert_eq!(judged(&finding, &["P#p V#v"]).is_cause_right, Some(false));
    }

    #[test]
    fn what_does_not_happen_is_false() {
        assert!(!judged(&victim("P#p"), &[]).is_true());
        assert!(!judged(&victim("P#p"), &["V#v", "P#p V#v"]).is_true());
        let mut finding = victim("P#p");
        finding.role = "brittle".to_owned();
        assert!(!judged(&finding, &["P#p V#v"]).is_true());
    }

    #[test]
    fn a_test_whose_setter_is_undone_is_a_victim_too() {
        let mut finding = victim("S#s D#d");
        finding.counter_schedule = words("S#s V#v");
        assert!(judged(&finding, &["V#v", "S#s D#d V#v", "D#d V#v"]).is_true());
        assert!(!judged(&finding, &["V#v", "S#s V#v", "S#s D#d V#v"]).is_true());
        assert!(!judged(&finding, &["V#v"]).is_true());
    }

    #[test]
    fn lists_are_to_be_minimal() {
        assert!(judged(&victim("P#p Q#q"), &["P#p Q#q V#v"]).is_true());
        assert_eq!(judged(&victim("P#p Q#q"), &["P#p Q#q V#v", "P#p V#v"]).problems, ["Q#q is not needed"]);
    }

    #[test]
    fn cleaners_and_alternatives_are_tried() {
        let mut finding = victim("P#p");
        finding.cleaners = words("C#c D#d");
        finding.alternatives = vec![words("Q#q"), words("R#r")];
        let judgement = judged(&finding, &["P#p V#v", "P#p D#d V#v", "R#r V#v"]);
        assert!(judgement.is_true());
        assert_eq!(judgement.false_cleaners, ["D#d"]);
        assert_eq!(judgement.false_alternatives, [words("Q#q")]);
    }

    #[test]
    fn causes_are_compared_by_whole_names() {
        let is = |text: &str, cause: &str| is_named(&[text.to_owned()], &[cause.to_owned()]);
        assert!(is("truth.Cell1.MAP", "Cell1.MAP") && is("Cell1.MAP[\"key\"]", "Cell1.MAP"));
        assert!(!is("Cell11.MAP", "Cell1.MAP") && !is("Cell1.MAPS", "Cell1.MAP") && !is("MyCell1.MAP", "Cell1.MAP"));
        assert!(is("java.util.Locale.defaultFormatLocale", "Locale.default*"));
        assert!(is("property:cell1.mode", "property:cell1.mode"));
    }
}
