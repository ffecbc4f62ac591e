//! The measurements of one JDK as a table, and whether they keep the limits that the product has set itself.

use std::fmt::Write as _;

use crate::failure::Failure;
use crate::outcomes::Difference;
use crate::statistics::geometric_mean;
use crate::subject::Framework;

const MOST_MEAN_CPU_RATIO: f64 = 1.5;
const MOST_CPU_RATIO: f64 = 2.0;
/// Suites that take less are mostly start-up: of those, more than this is too much.
const SHORT: f64 = 2.0;
const MOST_EXTRA: f64 = 1.0;
/// What watching files, sockets and processes may add, in parts of the plain run.
const MOST_EXTERNAL: f64 = 0.10;
const MOST_MEMORY_RATIO: f64 = 2.0;
const MOST_MEMORY_EXTRA: f64 = 200.0;
/// Of a suite's differences; the number says how many there are.
const MOST_DIFFERENCES_SHOWN: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Text,
    Markdown,
}

/// One suite: medians of its runs, in seconds and megabytes.
#[derive(Debug, Clone)]
pub(crate) struct Measurement {
    pub(crate) name: String,
    pub(crate) framework: Framework,
    pub(crate) tests: u64,
    pub(crate) plain_cpu: f64,
    pub(crate) watched_cpu: f64,
    /// Watched without what happens outside of the heap, where that was measured.
    pub(crate) heap_cpu: Option<f64>,
    pub(crate) wall_ratio: f64,
    pub(crate) plain_peak: f64,
    pub(crate) watched_peak: f64,
    pub(crate) dependencies: usize,
    pub(crate) differences: Vec<Difference>,
}

impl Measurement {
    fn cpu_ratio(&self) -> f64 {
        self.watched_cpu / self.plain_cpu
    }

    /// What watching files, sockets and processes adds, in parts of the plain run.
    fn external_share(&self) -> Option<f64> {
        self.heap_cpu.map(|heap| (self.watched_cpu - heap) / self.plain_cpu)
    }

    /// How much of the memory it may use it does use.
    fn memory_share(&self) -> f64 {
        self.watched_peak / (MOST_MEMORY_RATIO * self.plain_peak + MOST_MEMORY_EXTRA)
    }
}

/// All suites on one JDK.
#[derive(Debug)]
pub(crate) struct Report {
    version: String,
    runs: u32,
    measured: Vec<Measurement>,
    errors: Vec<(String, Failure)>,
}

/// What must hold, and whether it does.
pub(crate) struct Limit {
    pub(crate) what: String,
    pub(crate) found: String,
    pub(crate) limit: String,
    pub(crate) holds: bool,
}

impl Report {
    pub(crate) fn new(version: &str, runs: u32) -> Self {
        Report { version: version.to_owned(), runs, measured: Vec::new(), errors: Vec::new() }
    }

    pub(crate) fn add(&mut self, measurement: Measurement) {
        self.measured.push(measurement);
    }

    pub(crate) fn add_error(&mut self, name: &str, failure: Failure) {
        self.errors.push((name.to_owned(), failure));
    }

    /// Whether every suite ran and every limit holds.
    pub(crate) fn is_good(&self) -> bool {
        self.errors.is_empty() && self.limits().iter().all(|limit| limit.holds)
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let (heading, item) = match style {
            Style::Text => ("", "  "),
            Style::Markdown => ("### ", "- "),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runs = if self.runs == 1 { "1 run".to_owned() } else { format!("medians of {} runs", self.runs) };
        let mut text = format!("{heading}JDK {}, {cores} cores, {runs} each way\n", self.version);
        if !self.measured.is_empty() {
            text += "\n";
            text += &table(&self.rows(), style);
            text += "\n";
            text += &table(&limit_rows(&self.limits()), style);
        }
        let mut lines = String::new();
        for measurement in self.measured.iter().filter(|measurement| !measurement.differences.is_empty()) {
            for difference in measurement.differences.iter().take(MOST_DIFFERENCES_SHOWN) {
                let _ = writeln!(lines, "{item}{}: {difference}", measurement.name);
            }
            let more = measurement.differences.len().saturating_sub(MOST_DIFFERENCES_SHOWN);
            if more > 0 {
                let _ = writeln!(lines, "{item}{}: and {more} more", measurement.name);
            }
        }
        for (name, failure) in &self.errors {
            let _ = writeln!(lines, "{item}{name}: error: {failure}");
        }
        if !lines.is_empty() {
            text = text + "\n" + &lines;
        }
        text
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let heading = [
            "suite",
            "framework",
            "tests",
            "plain CPU s",
            "watched CPU s",
            "CPU ratio",
            "of that external",
            "wall ratio",
            "plain MB",
            "watched MB",
            "differences",
            "dependencies",
        ];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        rows.extend(self.measured.iter().map(|measurement| {
            vec![
                measurement.name.clone(),
                measurement.framework.to_string(),
                measurement.tests.to_string(),
                format!("{:.1}", measurement.plain_cpu),
                format!("{:.1}", measurement.watched_cpu),
                format!("{:.2}", measurement.cpu_ratio()),
                measurement.external_share().map_or(String::new(), |share| format!("{share:.2}")),
                format!("{:.2}", measurement.wall_ratio),
                format!("{:.0}", measurement.plain_peak),
                format!("{:.0}", measurement.watched_peak),
                measurement.differences.len().to_string(),
                measurement.dependencies.to_string(),
            ]
        }));
        rows
    }

    /// None where nothing was measured.
    fn limits(&self) -> Vec<Limit> {
        let by = |key: fn(&Measurement) -> f64| self.measured.iter().max_by(|a, b| key(a).total_cmp(&key(b)));
        let (Some(slowest), Some(largest)) = (by(Measurement::cpu_ratio), by(Measurement::memory_share)) else {
            return Vec::new();
        };
        let mean = geometric_mean(self.measured.iter().map(Measurement::cpu_ratio));
        let is_within = |one: &Measurement| match one.plain_cpu < SHORT {
            true => one.watched_cpu - one.plain_cpu <= MOST_EXTRA,
            false => one.cpu_ratio() <= MOST_CPU_RATIO,
        };
        let external: Vec<f64> = self.measured.iter().filter_map(Measurement::external_share).collect();
        let external = (!external.is_empty())
            .then(|| geometric_mean(external.iter().map(|share| (1.0 + share).max(f64::MIN_POSITIVE))) - 1.0);
        let differences: usize = self.measured.iter().map(|measurement| measurement.differences.len()).sum();
        let mut limits = vec![
            Limit {
                what: "geometric mean of CPU ratios".to_owned(),
                found: format!("{mean:.2}"),
                limit: format!("at most {MOST_MEAN_CPU_RATIO}"),
                holds: mean <= MOST_MEAN_CPU_RATIO,
            },
            Limit {
                what: format!("worst CPU ratio ({})", slowest.name),
                found: format!("{:.2}", slowest.cpu_ratio()),
                limit: format!(
                    "at most {MOST_CPU_RATIO}, or {MOST_EXTRA} s more where plain takes less than {SHORT} s"
                ),
                holds: self.measured.iter().all(is_within),
            },
            Limit {
                what: format!("worst peak memory ({})", largest.name),
                found: format!("{:.0} MB for {:.0} MB plain", largest.watched_peak, largest.plain_peak),
                limit: format!("at most {MOST_MEMORY_RATIO} x plain + {MOST_MEMORY_EXTRA} MB"),
                holds: largest.memory_share() <= 1.0,
            },
            Limit {
                what: "outcome differences".to_owned(),
                found: differences.to_string(),
                limit: "none".to_owned(),
                holds: differences == 0,
            },
        ];
        limits.extend(external.map(|share| Limit {
            what: "CPU for what is outside of the heap, in parts of the plain run (geometric mean)".to_owned(),
            found: format!("{share:.2}"),
            limit: format!("at most {MOST_EXTERNAL:.2}"),
            holds: share <= MOST_EXTERNAL,
        }));
        limits
    }
}

pub(crate) fn limit_rows(limits: &[Limit]) -> Vec<Vec<String>> {
    let heading = ["limit", "found", "allowed", ""].map(str::to_owned).to_vec();
    let word = |limit: &Limit| if limit.holds { "holds" } else { "missed" }.to_owned();
    let row = |limit: &Limit| vec![limit.what.clone(), limit.found.clone(), limit.limit.clone(), word(limit)];
    std::iter::once(heading).chain(limits.iter().map(row)).collect()
}

/// Columns of numbers are aligned to the right; the first row is the heading.
pub(crate) fn table(rows: &[Vec<String>], style: Style) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let is_number = |cell: &String| cell.parse::<f64>().is_ok();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let layout: Vec<(usize, bool)> =
        (0..columns).map(|column| (width(column), rows[1..].iter().all(|row| is_number(&row[column])))).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&layout)
            .map(
                |(cell, (width, is_right))| {
                    if *is_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                },
            )
            .collect();
        match style {
            Style::Text => text += cells.join("  ").trim_end(),
            Style::Markdown => text = text + "| " + &cells.join(" | ") + " |",
        }
        text += "\n";
        if number == 0 && style == Style::Markdown {
            for (width, is_right) in &layout {
                let last = if *is_right { ":" } else { "-" };
                text = text + "|" + &"-".repeat(width + 1) + last;
            }
            text += "|\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(name: &str, cpu: f64, peak: f64) -> Measurement {
        Measurement {
            name: name.to_owned(),
            framework: Framework::JUnit5,
            tests: 1234,
            plain_cpu: 10.0,
            watched_cpu: 10.0 * cpu,
            heap_cpu: None,
            wall_ratio: 1.25,
            plain_peak: 300.0,
            watched_peak: peak,
            dependencies: 7,
            differences: Vec::new(),
        }
    }

    fn words(report: &Report) -> Vec<&'static str> {
        report.limits().iter().map(|limit| if limit.holds { "holds" } else { "missed" }).collect()
    }

    #[test]
    fn limits_hold_up_to_their_value() {
        let mut report = Report::new("17", 3);
        report.add(measurement("a", 1.1, 800.0));
        report.add(measurement("b", 2.0, 400.0));
        // Of a second, one more is allowed.
        report.add(Measurement { plain_cpu: 1.0, watched_cpu: 2.0, ..measurement("brief", 1.0, 400.0) });
        report.add(measurement("d", 1.0, 400.0));
        assert_eq!(words(&report), ["holds"; 4]);
        assert!(report.is_good());
        report.add(measurement("c", 2.6, 801.0));
        assert_eq!(words(&report), ["missed", "missed", "missed", "holds"]);
        assert!(!report.is_good());
    }

    #[test]
    fn what_is_outside_of_the_heap_has_a_limit_of_its_own() {
        let mut report = Report::new("17", 1);
        report.add(Measurement { heap_cpu: Some(14.0), ..measurement("a", 1.5, 400.0) });
        report.add(Measurement { heap_cpu: Some(14.2), ..measurement("b", 1.5, 400.0) });
        assert_eq!(words(&report), ["holds"; 5]);
        report.add(Measurement { heap_cpu: Some(10.0), ..measurement("c", 1.5, 400.0) });
        assert_eq!(words(&report), ["holds", "holds", "holds", "holds", "missed"]);
    }

    #[test]
    fn an_error_is_reported_beside_the_rest() {
        let mut report = Report::new("17", 3);
        report.add(measurement("a", 1.5, 400.0));
        report.add_error("b", Failure::new("no network"));
        let text = report.render(Style::Text);
        assert!(text.contains("b: error: no network"), "{text}");
        assert!(text.contains("1.50") && text.contains("holds") && !text.contains("missed"), "{text}");
        assert!(!report.is_good());
    }

    #[test]
    fn tables_align_numbers_to_the_right() {
        let rows = [["name", "n"], ["a", "10"], ["long", "9"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows, Style::Text), "name   n\na     10\nlong   9\n");
        assert_eq!(table(&rows, Style::Markdown), "| name |  n |\n|------|---:|\n| a    | 10 |\n| long |  9 |\n");
    }
}
