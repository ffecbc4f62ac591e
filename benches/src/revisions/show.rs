//! A replay as tables: what was chosen at each revision, in total, and which failures were not seen.

use std::collections::BTreeSet;

use crate::report::{Limit, Style, limit_rows, table};
use crate::revisions::variant::{Built, Variant};

/// A class is what a build tool runs: what JUnit nests in it is told by its reports under other names.
fn class_of(test: &str) -> &str {
    let class = test.split('#').next().unwrap_or_default();
    class.split('$').next().unwrap_or_default()
}

/// One revision; all tests come first.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) revision: String,
    pub(crate) built: Vec<Built>,
    /// What failed when all tests ran, and passed when they ran once more.
    pub(crate) varying: BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) name: String,
    pub(crate) variants: Vec<Variant>,
    /// The version that was used first.
    pub(crate) surefire: Option<String>,
    /// The first of them is where everybody starts without knowing anything.
    pub(crate) rows: Vec<Row>,
}

/// What a variant came to over all revisions but the first.
#[derive(Debug, Default, PartialEq)]
struct Total {
    classes: usize,
    wall: f64,
    cpu: f64,
    missed: usize,
    additional: usize,
    broken: usize,
}

impl Row {
    fn of(&self, variant: Variant) -> Option<&Built> {
        self.built.iter().find(|built| built.variant == variant)
    }

    /// All tests say nothing where they could not be run.
    fn is_comparable(&self) -> bool {
        self.of(Variant::All).is_some_and(|all| all.broken.is_none())
    }

    /// What fails when all tests run, and does not here.
    pub(crate) fn missed(&self, variant: Variant) -> BTreeSet<&String> {
        self.only_in(Variant::All, variant).into_iter().filter(|test| !self.varying.contains(*test)).collect()
    }

    /// Another run of all tests, of the same revision.
    pub(crate) fn note_second(&mut self, again: &Built) {
        let failed = self.of(Variant::All).map(|all| all.told.failed.clone()).unwrap_or_default();
        if again.broken.is_none() {
            self.varying = failed.difference(&again.told.failed).cloned().collect();
        }
    }

    fn only_in(&self, one: Variant, other: Variant) -> BTreeSet<&String> {
        match (self.of(one), self.of(other)) {
            (Some(one), Some(other)) if self.is_comparable() => {
                one.told.failed.difference(&other.told.failed).collect()
            }
            _ => BTreeSet::new(),
        }
    }

    pub(crate) fn progress(&self) -> String {
        let parts = self.built.iter().map(|built| {
            let missed = self.missed(built.variant).len();
            let missed = if missed > 0 { format!(", {missed} MISSED") } else { String::new() };
            let broken = built.broken.as_ref().map(|reason| format!(", broken: {reason}")).unwrap_or_default();
            let (told, usage) = (&built.told, built.usage);
            format!(
                "{} {} classes, {} failures, {:.1} s (CPU {:.1} s){missed}{broken}",
                built.variant.name(),
                told.classes.len(),
                told.failed.len(),
                usage.wall_seconds,
                usage.cpu_seconds
            )
        });
        format!("{}: {}", self.revision, parts.collect::<Vec<_>>().join("; "))
    }

    fn cells(&self, variants: &[Variant]) -> Vec<String> {
        let all = self.of(Variant::All);
        let mut cells = vec![self.revision.clone(), all.map_or(0, |all| all.told.failed.len()).to_string()];
        let mut remarks = Vec::new();
        for variant in variants {
            let Some(built) = self.of(*variant) else { continue };
            cells.push(built.told.classes.len().to_string());
            cells.push(format!("{:.1}", built.usage.wall_seconds));
            let missed = self.missed(*variant).len();
            if missed > 0 {
                remarks.push(format!("{} missed {missed}", variant.name()));
            }
            if built.broken.is_some() {
                remarks.push(format!("{} did not build", variant.name()));
            }
        }
        if !self.varying.is_empty() {
            remarks.push(format!("{} not repeated", self.varying.len()));
        }
        cells.push(remarks.join(", "));
        cells
    }
}

impl Replay {
    pub(crate) fn show(&self, style: Style) {
        let surefire = self.surefire.as_deref().unwrap_or("unknown");
        println!("{}, Surefire {surefire}, {} revisions after the first\n", self.name, self.rows.len() - 1);
        let mut heading = vec!["revision".to_owned(), "failures".to_owned()];
        for variant in &self.variants {
            heading.extend([format!("{} classes", variant.name()), format!("{} s", variant.name())]);
        }
        heading.push("remarks".to_owned());
        let rows = self.rows.iter().map(|row| row.cells(&self.variants));
        println!("{}", table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>(), style));
        println!("{}", table(&self.total_rows(), style));
        println!("{}", table(&limit_rows(&self.limits()), style));
        self.details().iter().for_each(|line| println!("{line}"));
    }

    pub(crate) fn is_good(&self) -> bool {
        self.limits().iter().all(|limit| limit.holds)
    }

    fn total(&self, variant: Variant) -> Total {
        let mut total = Total::default();
        for row in self.rows.iter().skip(1).filter(|row| row.is_comparable()) {
            let Some(built) = row.of(variant) else { continue };
            total.classes += built.told.classes.len();
            total.wall += built.usage.wall_seconds;
            total.cpu += built.usage.cpu_seconds;
            total.missed += row.missed(variant).len();
            total.additional += row.only_in(variant, Variant::All).len();
            total.broken += usize::from(built.broken.is_some());
        }
        total
    }

    fn total_rows(&self) -> Vec<Vec<String>> {
        let heading = [
            "in total",
            "classes run",
            "of all %",
            "wall s",
            "of all %",
            "CPU s",
            "failures missed",
            "other failures",
            "did not build",
        ];
        let all = self.total(Variant::All);
        let share = |part: f64, whole: f64| format!("{:.1}", 100.0 * part / whole);
        let row = |variant: &Variant| {
            let total = self.total(*variant);
            vec![
                variant.name().to_owned(),
                total.classes.to_string(),
                share(total.classes as f64, all.classes as f64),
                format!("{:.1}", total.wall),
                share(total.wall, all.wall),
                format!("{:.1}", total.cpu),
                total.missed.to_string(),
                total.additional.to_string(),
                total.broken.to_string(),
            ]
        };
        std::iter::once(heading.map(str::to_owned).to_vec()).chain(self.variants.iter().map(row)).collect()
    }

    fn limits(&self) -> Vec<Limit> {
        let ours = self.total(Variant::Untether);
        let comparable = self.rows.iter().skip(1).filter(|row| row.is_comparable()).count();
        let mut limits = vec![
            Limit {
                what: "revisions that build".to_owned(),
                found: comparable.to_string(),
                limit: "at least one".to_owned(),
                holds: comparable > 0,
            },
            Limit {
                what: "failures that untether missed".to_owned(),
                found: ours.missed.to_string(),
                limit: "none".to_owned(),
                holds: ours.missed == 0 && ours.broken == 0,
            },
        ];
        for variant in self.variants.iter().filter(|variant| **variant != Variant::Untether) {
            let other = self.total(*variant);
            limits.push(Limit {
                what: format!("wall time of untether, beside {}", variant.name()),
                found: format!("{:.1} s", ours.wall),
                limit: format!("below {:.1} s", other.wall),
                holds: ours.wall < other.wall,
            });
            if *variant == Variant::Starts {
                limits.push(Limit {
                    what: "classes that untether ran, beside STARTS".to_owned(),
                    found: ours.classes.to_string(),
                    limit: format!("at most {}", other.classes),
                    holds: ours.classes <= other.classes,
                });
            }
        }
        limits
    }

    /// What stands behind the numbers: each missed failure, each build that went wrong.
    fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            for test in &row.varying {
                lines.push(format!(
                    "{}: {test} failed when all tests ran, and passed when they ran again",
                    row.revision
                ));
            }
            for built in &row.built {
                let name = built.variant.name();
                if let Some(reason) = &built.broken {
                    lines.push(format!("{}: {name} did not build: {reason}", row.revision));
                }
                for test in row.missed(built.variant) {
                    let ran = built.told.classes.contains(class_of(test));
                    let why = if ran { "it passed" } else { "its class was left out" };
                    lines.push(format!("{}: {name} missed that {test} fails: {why}", row.revision));
                }
                for test in row.only_in(built.variant, Variant::All) {
                    lines.push(format!("{}: with {name}, {test} fails, which passes when all tests run", row.revision));
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Usage;
    use crate::revisions::reports::Told;

    fn built(variant: Variant, classes: &[&str], failed: &[&str], wall_seconds: f64) -> Built {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let usage = Usage { cpu_seconds: 1.0, wall_seconds, peak_megabytes: 1.0 };
        Built { variant, usage, told: Told { classes: set(classes), failed: set(failed) }, broken: None }
    }

    fn replay(ours: Built) -> Replay {
        let first = [built(Variant::All, &["A", "B"], &[], 9.0), built(Variant::Untether, &["A", "B"], &[], 9.5)];
        let all = built(Variant::All, &["A", "B"], &["A#one", "B$In#two"], 9.0);
        let rows = [first.to_vec(), vec![all, ours]]
            .map(|built| Row { revision: "abc".to_owned(), built, varying: BTreeSet::new() })
            .into_iter()
            .collect();
        Replay { name: "one".to_owned(), variants: vec![Variant::All, Variant::Untether], surefire: None, rows }
    }

    #[test]
    fn a_failure_that_was_not_seen_is_missed_whether_its_class_ran_or_not() {
        let wrong = replay(built(Variant::Untether, &["A"], &[], 3.0));
        assert_eq!(wrong.total(Variant::Untether).missed, 2);
        assert!(!wrong.is_good());
        let details = wrong.details();
        assert_eq!(details[0], "abc: untether missed that A#one fails: it passed");
        assert_eq!(details[1], "abc: untether missed that B$In#two fails: its class was left out");
    }

    #[test]
    fn a_failure_that_is_not_repeated_is_not_missed() {
        let mut replay = replay(built(Variant::Untether, &["A"], &["A#one"], 3.0));
        replay.rows[1].note_second(&built(Variant::All, &["A", "B"], &["A#one"], 9.0));
        assert_eq!(replay.total(Variant::Untether).missed, 0);
        assert!(replay.is_good());
        let expected = "abc: B$In#two failed when all tests ran, and passed when they ran again";
        assert_eq!(replay.details(), [expected]);
    }

    #[test]
    fn the_first_revision_counts_for_nobody() {
        let right = replay(built(Variant::Untether, &["A", "B"], &["A#one", "B$In#two"], 3.0));
        assert_eq!(right.total(Variant::All).wall, 9.0);
        assert!(right.is_good(), "{:?}", right.total_rows());
        assert!(right.details().is_empty());
    }

    #[test]
    fn where_all_tests_do_not_build_nothing_is_compared() {
        let mut replay = replay(built(Variant::Untether, &["A"], &[], 3.0));
        replay.rows[1].built[0].broken = Some("exit code 1".to_owned());
        assert_eq!(replay.total(Variant::Untether), Total::default());
        assert!(!replay.is_good());
        assert!(replay.rows[1].cells(&replay.variants).ends_with(&["all did not build".to_owned()]));
    }
}
