//! What came of all suites: lines while they run, tables at the end, and what is needed to see a miss again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::facts::{Dependence, Facts, Shown};
use super::generator::{Framework, Suite};
use super::judge::Judgement;
use super::product::Document;
use crate::failure::Failure;
use crate::report::{Style, table};

const LEAST_CAUSES_RIGHT: f64 = 0.95;

/// A test that depends on the order.
#[derive(Debug)]
struct Dependent {
    test: String,
    shown: Vec<Shown>,
    is_found: bool,
}

/// What came of one suite.
#[derive(Debug)]
pub(crate) struct SuiteResult {
    suite: Suite,
    dependents: Vec<Dependent>,
    judged: Vec<Judgement>,
    unstable: BTreeSet<String>,
    is_complete: bool,
    /// Pairs in which one test is enough to change the other, and how many of them some finding names.
    pairs: (usize, usize),
    product: (f64, u64),
    oracle: (f64, usize),
}

impl SuiteResult {
    pub(crate) fn new(
        suite: Suite,
        facts: &Facts,
        judged: Vec<Judgement>,
        document: &Document,
        oracle: (f64, usize),
    ) -> Self {
        let is_found = |test: &String| judged.iter().any(|one| one.is_true() && one.finding.test == *test);
        let dependents = facts.tests.iter().filter_map(|test| {
            let shown = facts.shown(test);
            (!shown.is_empty()).then(|| Dependent { test: test.clone(), shown, is_found: is_found(test) })
        });
        let dependents = dependents.collect();
        let pairs = facts.pairs();
        let is_named = |(polluter, test): &&(String, String)| {
            let names = |list: &Vec<String>| *list == [polluter.clone()];
            judged.iter().any(|Judgement { finding, .. }| {
                finding.test == *test && (names(&finding.others) || finding.alternatives.iter().any(names))
            })
        };
        let named = pairs.iter().filter(is_named).count();
        SuiteResult {
            suite,
            dependents,
            judged,
            unstable: facts.unstable.clone(),
            is_complete: document.is_complete,
            pairs: (named, pairs.len()),
            product: (document.seconds, document.jvms),
            oracle,
        }
    }

    fn count(&self) -> Count {
        let mut count = Count { suites: 1, tests: self.suite.tests().len(), ..Count::default() };
        for dependent in &self.dependents {
            let at = dependent.shown[0].dependence as usize;
            count.dependent[at].add(dependent.is_found);
        }
        for judgement in &self.judged {
            count.findings.add(judgement.is_true());
            count.alternatives.0 += judgement.false_alternatives.len();
            count.cleaners.0 += judgement.false_cleaners.len();
            count.cleaners.1 += judgement.finding.cleaners.len();
            if judgement.is_true()
                && let Some(is_right) = judgement.is_cause_right
            {
                count.causes.add(is_right);
            }
        }
        count.pairs = Share(self.pairs.0, self.pairs.1);
        count.unsound = usize::from(!self.unstable.is_empty()) + usize::from(!self.is_complete);
        count.product = self.product;
        count.oracle = self.oracle;
        count
    }

    fn kind(&self, cell: Option<&String>) -> &'static str {
        self.suite.cells.iter().find(|known| Some(&known.class) == cell).map_or("unknown", |cell| cell.kind)
    }

    /// What is wrong, each with what is needed to see it again.
    fn complaints(&self) -> Vec<String> {
        let unstable = self.unstable.iter();
        let mut lines: Vec<String> = unstable
            .map(|test| format!("unstable: {test} varies in the same order, so nothing is known of it"))
            .collect();
        if !self.is_complete {
            lines.push("incomplete: the refinement was cut short".to_owned());
        }
        for dependent in &self.dependents {
            if dependent.is_found {
                lines.extend(self.other_cells(dependent));
            } else {
                lines.push(self.miss(dependent));
            }
        }
        lines.extend(self.judged.iter().flat_map(|judgement| self.falsehoods(judgement)));
        lines
    }

    fn named(&self, cell: Option<&String>) -> String {
        cell.map_or("nothing known".to_owned(), |class| format!("{} {class}", self.kind(cell)))
    }

    fn miss(&self, Dependent { test, shown, .. }: &Dependent) -> String {
        let simplest = &shown[0];
        let ways = shown.iter().filter(|one| !one.before.is_empty()).take(3);
        let ways: Vec<String> = ways.map(|one| format!("after {}", one.before.join(", "))).collect();
        let alone = (simplest.dependence == Dependence::Single).then(|| "alone it is not as in the order".to_owned());
        let how: Vec<String> = alone.into_iter().chain(ways).collect();
        let cell = self.named(simplest.cell.as_ref());
        format!("missed {}: {test}: {cell}: {}", simplest.dependence.word(), how.join("; "))
    }

    /// A test that was found may depend on more than what it was found by: worth knowing, not wrong.
    fn other_cells(&self, Dependent { test, shown, .. }: &Dependent) -> Vec<String> {
        let is_known = |cell: &Option<String>| {
            self.judged.iter().any(|one| one.is_true() && one.finding.test == *test && one.cell == *cell)
        };
        let mut cells: BTreeMap<&String, &Shown> = BTreeMap::new();
        for one in shown.iter().rev().filter(|one| !is_known(&one.cell)) {
            cells.extend(one.cell.as_ref().map(|cell| (cell, one)));
        }
        let note = |(cell, one): (&String, &Shown)| {
            let before = one.before.join(", ");
            format!("note: {test} was found, but not through {}: after {before}", self.named(Some(cell)))
        };
        cells.into_iter().map(note).collect()
    }

    fn falsehoods(&self, judgement: &Judgement) -> Vec<String> {
        let finding = &judgement.finding;
        let what = format!("{} {} after {}", finding.role, finding.test, finding.others.join(", "));
        let mut said: Vec<(&str, String)> = Vec::new();
        said.extend(judgement.problems.iter().map(|problem| ("finding", problem.clone())));
        said.extend(judgement.false_alternatives.iter().map(|list| ("alternative", list.join(", "))));
        said.extend(judgement.false_cleaners.iter().map(|cleaner| ("cleaner", cleaner.clone())));
        if judgement.is_cause_right == Some(false) {
            let named = finding.causes.first().map_or("nothing", String::as_str);
            said.push(("cause", format!("{}, said {named}", self.named(judgement.cell.as_ref()))));
        }
        said.into_iter().map(|(kind, text)| format!("false {kind}: {what}: {text}")).collect()
    }
}

/// So many of so many.
#[derive(Debug, Clone, Copy, Default)]
struct Share(usize, usize);

impl Share {
    fn add(&mut self, is_so: bool) {
        self.0 += usize::from(is_so);
        self.1 += 1;
    }

    fn of(self) -> f64 {
        if self.1 == 0 { 1.0 } else { self.0 as f64 / self.1 as f64 }
    }

    fn text(self) -> String {
        if self.1 == 0 { "-".to_owned() } else { format!("{}/{} {:.0}%", self.0, self.1, 100.0 * self.of()) }
    }
}

#[derive(Debug, Default)]
struct Count {
    suites: usize,
    tests: usize,
    /// Found, by dependence.
    dependent: [Share; 3],
    findings: Share,
    causes: Share,
    /// False ones first.
    cleaners: (usize, usize),
    alternatives: (usize, usize),
    pairs: Share,
    unsound: usize,
    product: (f64, u64),
    oracle: (f64, usize),
}

impl Count {
    fn plus(mut self, other: &Count) -> Self {
        let add = |mine: &mut Share, theirs: Share| *mine = Share(mine.0 + theirs.0, mine.1 + theirs.1);
        self.suites += other.suites;
        self.tests += other.tests;
        for (mine, theirs) in self.dependent.iter_mut().zip(other.dependent) {
            add(mine, theirs);
        }
        add(&mut self.findings, other.findings);
        add(&mut self.causes, other.causes);
        add(&mut self.pairs, other.pairs);
        self.cleaners = (self.cleaners.0 + other.cleaners.0, self.cleaners.1 + other.cleaners.1);
        self.alternatives.0 += other.alternatives.0;
        self.unsound += other.unsound;
        self.product = (self.product.0 + other.product.0, self.product.1 + other.product.1);
        self.oracle = (self.oracle.0 + other.oracle.0, self.oracle.1 + other.oracle.1);
        self
    }

    fn false_findings(&self) -> usize {
        self.findings.1 - self.findings.0
    }

    fn is_good(&self) -> bool {
        let [singles, pairs, _] = self.dependent;
        let said_falsely = self.false_findings() + self.cleaners.0 + self.alternatives.0;
        let has_all = singles.0 == singles.1 && pairs.0 == pairs.1;
        has_all && said_falsely == 0 && self.unsound == 0 && self.causes.of() >= LEAST_CAUSES_RIGHT
    }
}

#[derive(Debug)]
pub(crate) struct Report {
    seed: u64,
    results: BTreeMap<u64, Result<SuiteResult, Failure>>,
    elapsed: Duration,
}

impl Report {
    pub(crate) fn new(seed: u64) -> Self {
        Report { seed, results: BTreeMap::new(), elapsed: Duration::ZERO }
    }

    /// Returns a line that says what came of it.
    pub(crate) fn add(&mut self, number: u64, result: Result<SuiteResult, Failure>) -> String {
        let line = match &result {
            Err(failure) => format!("suite {number}: error: {failure}"),
            Ok(result) => {
                let count = result.count();
                let [singles, pairs, triples] = count.dependent.map(Share::text);
                let framework = if result.suite.framework == Framework::JUnit4 { "JUnit 4" } else { "Jupiter" };
                let mocks = if result.suite.has_mocks { ", Mockito" } else { "" };
                format!(
                    "suite {number}: {framework}{mocks}, {} tests; found singles {singles}, pairs {pairs}, triples {triples}; \
                     {} findings, {} false, cause right {}; {:.0} s and {} JVMs, brute force {:.0} s and {} JVMs",
                    count.tests,
                    count.findings.1,
                    count.false_findings(),
                    count.causes.text(),
                    count.product.0,
                    count.product.1,
                    count.oracle.0,
                    count.oracle.1
                )
            }
        };
        self.results.insert(number, result);
        line
    }

    /// What is wrong with one suite, or worth knowing.
    pub(crate) fn complaints(&self, number: u64) -> Vec<String> {
        let lines = match self.results.get(&number) {
            Some(Ok(result)) => result.complaints(),
            Some(Err(failure)) => vec![format!("error: {failure}")],
            None => Vec::new(),
        };
        lines.into_iter().map(|line| format!("--seed {} --only {number}: {line}", self.seed)).collect()
    }

    pub(crate) fn finish(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    pub(crate) fn is_good(&self) -> bool {
        !self.results.is_empty() && self.results.values().all(Result::is_ok) && self.count().is_good()
    }

    fn count(&self) -> Count {
        self.results.values().flatten().fold(Count::default(), |sum, result| sum.plus(&result.count()))
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let mut text = String::new();
        let item = if style == Style::Markdown { "- " } else { "  " };
        for number in self.results.keys() {
            for line in self.complaints(*number) {
                let _ = writeln!(text, "{item}{line}");
            }
        }
        let head = if text.is_empty() { String::new() } else { "What is wrong:\n".to_owned() + &text + "\n" };
        head + &table(&self.kinds(), style) + "\n" + &table(&self.totals(), style)
    }

    /// By kind of cell: tests that fail there or not, by the order, and findings about them.
    fn kinds(&self) -> Vec<Vec<String>> {
        let mut kinds: BTreeMap<&str, (usize, Share, Share)> = BTreeMap::new();
        for result in self.results.values().flatten() {
            for cell in &result.suite.cells {
                let (cells, tests, causes) = kinds.entry(cell.kind).or_default();
                *cells += 1;
                let is_meant = |known: &Option<String>| known.as_ref() == Some(&cell.class);
                let of_cell: Vec<&Judgement> =
                    result.judged.iter().filter(|one| one.is_true() && is_meant(&one.cell)).collect();
                for Dependent { test, shown, .. } in &result.dependents {
                    if shown.iter().any(|shown| is_meant(&shown.cell)) {
                        tests.add(of_cell.iter().any(|one| one.finding.test == *test));
                    }
                }
                of_cell.iter().filter_map(|one| one.is_cause_right).for_each(|is_right| causes.add(is_right));
            }
        }
        let head = ["kind", "cells", "tests that depend on it", "found by it", "recall", "cause right"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(kinds.iter().map(|(kind, (cells, tests, causes))| {
            let recall = if tests.1 == 0 { "-".to_owned() } else { format!("{:.0}%", 100.0 * tests.of()) };
            vec![(*kind).to_owned(), cells.to_string(), tests.1.to_string(), tests.0.to_string(), recall, causes.text()]
        }));
        rows
    }

    fn totals(&self) -> Vec<Vec<String>> {
        let count = self.count();
        let [singles, pairs, triples] = count.dependent;
        let dependent: usize = count.dependent.iter().map(|share| share.1).sum();
        let found: usize = count.dependent.iter().map(|share| share.0).sum();
        let row = |what: &str, value: String, limit: &str| vec![what.to_owned(), value, limit.to_owned()];
        vec![
            row("", "found".to_owned(), "limit"),
            row("suites", count.suites.to_string(), ""),
            row("tests", count.tests.to_string(), ""),
            row("order-dependent tests", dependent.to_string(), ""),
            row("of which found", found.to_string(), ""),
            row("recall, singles", singles.text(), "100%"),
            row("recall, pairs", pairs.text(), "100%"),
            row("recall, triples", triples.text(), ""),
            row("true pairs that are named", count.pairs.text(), ""),
            row("findings", count.findings.1.to_string(), ""),
            row("false findings", count.false_findings().to_string(), "0"),
            row("false alternatives", count.alternatives.0.to_string(), "0"),
            row("false cleaners", format!("{} of {}", count.cleaners.0, count.cleaners.1), "0"),
            row("cause right", count.causes.text(), "95%"),
            row("refinements", format!("{:.0} s, {} JVMs", count.product.0, count.product.1), ""),
            row("brute force", format!("{:.0} s, {} JVMs", count.oracle.0, count.oracle.1), ""),
            row("time", format!("{:.0} s", self.elapsed.as_secs_f64()), ""),
            row("limits", if self.is_good() { "hold" } else { "missed" }.to_owned(), "hold"),
        ]
    }
}
