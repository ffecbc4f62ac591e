//! What a refinement came to, in a few lines.

use std::collections::BTreeSet;
use std::io::{Result, Write};
use std::time::Duration;

use untether_model::{Coverage, Finding, RefinementRecord, Share};

use crate::findings::short_id;
use crate::text::count;

/// Tests that a line names.
const MOST: usize = 5;

/// A refinement, beside what was known before it.
#[derive(Debug, Clone, Copy)]
pub struct RefinementSummary<'s> {
    pub refinement: &'s RefinementRecord,
    /// Findings that there were before.
    pub gone: &'s [Finding],
    /// Schedules that an earlier refinement had run, so that they had not to be run again.
    pub known: usize,
    pub budget: Option<Duration>,
}

impl RefinementSummary<'_> {
    /// `prefix` starts every line.
    pub fn write(&self, out: &mut dyn Write, prefix: &str) -> Result<()> {
        self.write_figures(out, prefix)?;
        self.write_history(out, prefix)?;
        self.write_notes(out, prefix)?;
        self.write_next(out, prefix)
    }

    fn write_figures(&self, out: &mut dyn Write, prefix: &str) -> Result<()> {
        let refinement = self.refinement;
        let tests: BTreeSet<&String> = refinement.findings.iter().map(|finding| &finding.test).collect();
        writeln!(
            out,
            "{prefix}{} in {}; {} test executions in {} JVMs, {:.1} s ({})",
            count(refinement.findings.len(), "manifest dependency", "manifest dependencies"),
            count(tests.len(), "test", "tests"),
            refinement.cost.executions,
            refinement.cost.jvm_starts,
            refinement.seconds,
            refinement.strategy,
        )?;
        writeln!(out, "{prefix}{}", reach(&refinement.coverage, refinement.cost.executions, refinement.is_complete))?;
        if let Some(obstacle) = &refinement.obstacle {
            writeln!(
                out,
                "{prefix}note: JVMs of this suite cannot be put back between tests ({obstacle}), so pairs cost a JVM each \
                 and only candidates were tried"
            )?;
        }
        Ok(())
    }

    /// What there was before.
    fn write_history(&self, out: &mut dyn Write, prefix: &str) -> Result<()> {
        let known = self.known;
        if known > 0 {
            writeln!(out, "{prefix}went on with a refinement that had been stopped: {known} schedules had been run")?;
        } else if self.refinement.cost.executions == 0 {
            writeln!(out, "{prefix}nothing has changed since the last refinement; --fresh looks at all tests again")?;
        }
        if !self.gone.is_empty() {
            let ids: Vec<&str> = self.gone.iter().map(|finding| finding.id.as_str()).collect();
            writeln!(out, "{prefix}gone since the last refinement: {}", ids.join(", "))?;
        }
        Ok(())
    }

    /// Tests of which little can be said, and why.
    fn write_notes(&self, out: &mut dyn Write, prefix: &str) -> Result<()> {
        let refinement = self.refinement;
        for (names, text) in [
            (&refinement.failing, "failed in the original order already"),
            (&refinement.differing, "passed when watched, but not in a JVM started alike"),
            (&refinement.nondeterministic, "came to different outcomes in the same order and cannot be judged"),
            (
                &refinement.timed_out,
                "ended in one run of an order and not in another; --test-timeout gives them more time",
            ),
            (&refinement.unconfirmed, "came to something else in another order, but not when that was tried again"),
        ] {
            if !names.is_empty() {
                let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
                let tests = count(names.len(), "test", "tests");
                writeln!(out, "{prefix}note: {tests} {text}: {}{more}", some(names))?;
            }
        }
        for (reason, names) in &refinement.unrunnable {
            let tests = count(names.len(), "test", "tests");
            let all = if names.len() > MOST { "; 'untether doctor' names all" } else { "" };
            writeln!(out, "{prefix}note: {tests} could not be run in every order ({reason}): {}{all}", some(names))?;
        }
        Ok(())
    }

    fn write_next(&self, out: &mut dyn Write, prefix: &str) -> Result<()> {
        let refinement = self.refinement;
        match (refinement.is_complete, self.budget) {
            (true, _) => {}
            (false, Some(budget)) => writeln!(
                out,
                "{prefix}stopped after {} s as asked; 'untether refine' goes on from here",
                budget.as_secs()
            )?,
            (false, None) => writeln!(
                out,
                "{prefix}not all candidate pairs were tried; 'untether refine' goes on from here, --budget sets a limit"
            )?,
        }
        if let Some(finding) = refinement.findings.first() {
            writeln!(
                out,
                "{prefix}next: 'untether replay {}' shows a proof, 'untether deps --kind manifest' lists all",
                short_id(&refinement.findings, finding)
            )?;
        }
        Ok(())
    }
}

fn some<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    names.into_iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// How far the search came, in words.
fn reach(coverage: &Coverage, executions: usize, is_complete: bool) -> String {
    if executions == 0 {
        return "no test had to be run".to_owned();
    }
    let part = |share: Share, what: &str| match (share.all, share.is_all()) {
        (0, _) => None,
        (all, true) => Some(format!("every {what} ({all})")),
        (all, false) => Some(format!("{} of {all} {what}s", share.tried)),
    };
    let parts: Vec<String> = [
        part(coverage.candidates, "candidate pair"),
        part(coverage.pairs, "pair"),
        part(coverage.class_pairs, "pair of classes"),
    ]
    .into_iter()
    .flatten()
    .map(|part| part.replace("pair of classess", "pairs of classes"))
    .collect();
    match (parts.is_empty(), is_complete) {
        (true, true) => "no test writes what another reads".to_owned(),
        (true, false) => "pairs of tests were not tried yet".to_owned(),
        (false, _) => format!("tried {}", parts.join(", ")),
    }
}
