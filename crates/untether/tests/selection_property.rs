//! Of programs and edits by chance: a test class that is skipped comes to what it would come to if it were run.
//!
//! `UNTETHER_SELECTION_SEED` chooses other programs, `UNTETHER_SELECTION_PROGRAMS` and `UNTETHER_SELECTION_ROUNDS` more of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "how much was tried is of interest where somebody asks")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use support::command;
use support::small::SmallProject;
use support::small::programs::{Chance, HELP, Program};
use support::text;

const ROOTS: &[&str] = &["classes", "helpers"];

/// What each test came to.
type Outcomes = BTreeMap<String, String>;

/// A run that was recorded, and when.
struct Recorded {
    from_ms: u64,
    to_ms: u64,
    outcomes: Outcomes,
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// What the tests wrote since this was last asked.
fn outcomes(project: &SmallProject) -> Outcomes {
    let file = project.folder.join("outcomes");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(file);
    let mut found = Outcomes::new();
    for (test, value) in text.lines().filter_map(|line| line.split_once('=')) {
        assert_eq!(found.insert(test.replacen(' ', "#t", 1), value.to_owned()), None, "{test} ran twice");
    }
    found
}

fn compile(project: &SmallProject, programs: &[Program]) {
    let sources: Vec<(String, String)> = programs.iter().flat_map(Program::sources).collect();
    let sources: Vec<(&str, &str)> = sources.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    project.compile("classes", &["helpers"], &sources);
}

fn plain_outcomes(project: &SmallProject) -> Outcomes {
    let output = project.run_plainly(ROOTS);
    assert!(output.status.success(), "{}", text(&output.stderr));
    outcomes(project)
}

#[derive(Debug, Default)]
struct Counts {
    edits: usize,
    skipped: usize,
    selected: usize,
    /// Test classes whose outcome is another than in the round before.
    changed: usize,
    /// Why test classes were selected, and how many for that.
    reasons: BTreeMap<String, usize>,
    warnings: BTreeSet<String>,
}

impl Counts {
    /// The reasons that were given most often.
    fn most_frequent(&self) -> Vec<(&String, &usize)> {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        reasons.truncate(10);
        reasons
    }
}

/// Whether a test is what was left out, or one of its class.
fn is_of(test: &str, left_out: &str) -> bool {
    test.strip_prefix(left_out).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

/// Programs in one project, all in one JVM, through rounds of edits.
struct Rounds {
    granularity: &'static str,
    project: SmallProject,
    chance: Chance,
    programs: Vec<Program>,
    /// All that they ever were.
    earlier: Vec<Vec<Program>>,
    recorded: Vec<Recorded>,
    last: Outcomes,
    counts: Counts,
    wrong: Vec<String>,
}

impl Rounds {
    fn new(granularity: &'static str, seed: u64, count: usize) -> Self {
        let project = SmallProject::new("selection-property", granularity);
        project.compile("helpers", &[], HELP);
        let mut chance = Chance::new(seed);
        // Every fourth has tests that leave values for others.
        let program = |number: usize| Program::new(format!("p{number}"), number % 4 == 3, &mut chance);
        let programs: Vec<Program> = (0..count).map(program).collect();
        compile(&project, &programs);
        let earlier = programs.iter().map(|program| vec![program.clone()]).collect();
        let (recorded, wrong) = (Vec::new(), Vec::new());
        let (last, counts) = (Outcomes::new(), Counts::default());
        Rounds { granularity, project, chance, programs, earlier, recorded, last, counts, wrong }
    }

    /// Runs the tests through untether, and once more without it.
    fn run(&mut self, round: u64) {
        let from_ms = now_ms();
        let mut run =
            command(&self.project.folder, &["run", "--format", "json", "--granularity", self.granularity, "--"]);
        run.args(self.project.build(ROOTS, &[]));
        let told = self.project.told_by(self.project.with_notes(run));
        let to_ms = now_ms();
        assert_eq!(told.code, Some(0), "round {round}: {}", told.said);
        if told.said.contains("warning:") {
            self.counts.warnings.insert(told.said.clone());
        }
        let ran = outcomes(&self.project);
        let plain = plain_outcomes(&self.project);
        for skipped in told.document["skipped"].as_array().unwrap() {
            let (test, noted) = (skipped["test"].as_str().unwrap(), skipped["last_run_ms"].as_u64().unwrap());
            let at = self.recorded.iter().find(|run| (run.from_ms..=run.to_ms).contains(&noted)).unwrap();
            let of_test = plain.iter().filter(|(name, _)| is_of(name, test));
            let pairs: Vec<(String, String, String)> = of_test
                .map(|(name, now)| (name.clone(), at.outcomes.get(name).cloned().unwrap_or_default(), now.clone()))
                .collect();
            for (name, known, now) in pairs {
                self.compare(round, "skipped", &name, &known, &now);
            }
            assert!(!ran.keys().any(|name| is_of(name, test)), "round {round}: {test} is skipped, and ran");
        }
        // What is run selectively comes to the same as among all.
        for (test, outcome) in &ran {
            self.compare(round, "run", test, outcome, &plain[test]);
        }
        if round > 0 {
            self.counts.skipped += told.skipped.len();
            self.counts.selected += told.selected.len();
            for selected in told.document["selected"].as_array().unwrap() {
                for reason in selected["reasons"].as_array().unwrap() {
                    *self.counts.reasons.entry(reason.to_string()).or_default() += 1;
                }
            }
            self.counts.changed += plain.iter().filter(|(test, outcome)| self.last.get(*test) != Some(outcome)).count();
        }
        self.last.clone_from(&plain);
        // What was left out was shown to come to the same.
        self.recorded.push(Recorded { from_ms, to_ms, outcomes: plain });
    }

    fn compare(&mut self, round: u64, what: &str, test: &str, known: &str, plain: &str) {
        if known != plain {
            self.wrong.push(format!("round {round}: {test} is {what} with {known:?}, but comes to {plain:?}"));
        }
    }

    fn edit(&mut self) {
        for (program, earlier) in self.programs.iter_mut().zip(&mut self.earlier) {
            let before = program.clone();
            match self.chance.below(8) {
                0 => {}
                // Another branch.
                1 => *program = earlier[self.chance.below(earlier.len())].clone(),
                edits => (0..1 + edits / 6).for_each(|_| program.edit(&mut self.chance)),
            }
            self.counts.edits += usize::from(*program != before);
            earlier.push(program.clone());
        }
        compile(&self.project, &self.programs);
    }
}

fn check(granularity: &'static str) {
    let seed = setting("UNTETHER_SELECTION_SEED", 1);
    let (count, rounds) =
        (setting("UNTETHER_SELECTION_PROGRAMS", 48) as usize, setting("UNTETHER_SELECTION_ROUNDS", 9));
    let mut all = Rounds::new(granularity, seed, count);
    let mut detect = command(&all.project.folder, &["detect", "-q", "--"]);
    detect.args(all.project.build(ROOTS, &[]));
    let detected = all.project.told_by(all.project.with_notes(detect));
    assert_eq!(detected.code, Some(0), "{}", detected.said);
    outcomes(&all.project);
    all.run(0);
    for round in 1..=rounds {
        all.edit();
        all.run(round);
        // The folder shows the round that went wrong.
        assert!(all.wrong.is_empty(), "seed {seed}: {}", all.wrong.join("\n"));
    }
    let counts = &all.counts;
    let told = format!(
        "seed {seed}: {} edits, {} skipped, {} selected, {} changed, most often for {:?}; {:?}",
        counts.edits,
        counts.skipped,
        counts.selected,
        counts.changed,
        counts.most_frequent(),
        counts.warnings
    );
    println!("{told}");
    let cases = count as u64 * rounds;
    assert!(counts.edits as u64 > cases / 2, "{told}");
    assert!(counts.selected > 0 && counts.changed > 0, "{told}");
    // How much is left out is what the cases are about.
    assert!(counts.skipped > counts.selected / 2, "{told}");
}

#[test]
fn a_test_class_that_is_skipped_comes_to_what_it_would_come_to() {
    check("class");
}

#[test]
fn a_test_that_is_skipped_comes_to_what_it_would_come_to() {
    check("test");
}
