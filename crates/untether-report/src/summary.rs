//! What a run came to, in a few lines.

use std::collections::BTreeSet;
use std::io::{Result, Write};

use untether_model::{DependencyKind, OutcomeStatus};

use crate::pairs::Query;
use crate::run::{Party, Run};
use crate::style;
use crate::table::parties;
use crate::text::count;

/// The counts that `detect` ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub tests: usize,
    pub failed: usize,
    pub jvms: usize,
    /// Who read what others wrote in the project's own state.
    readers: String,
    /// Pairs that meet in the project's own state.
    pub own_pairs: usize,
    own_fields: usize,
    /// Pairs that meet in libraries only.
    pub library_pairs: usize,
}

impl Summary {
    pub fn new(run: &Run<'_>) -> Self {
        let tests: Vec<_> = run.parties.iter().filter_map(|party| party.test).collect();
        let is_failed = |status: OutcomeStatus| status == OutcomeStatus::Failed;
        let pairs = run.pairs(&Query { kinds: &[DependencyKind::Data], is_class_level: false, one: None, other: None });
        let own: Vec<_> = pairs.iter().filter(|pair| pair.is_own()).collect();
        let readers: BTreeSet<Party> = own.iter().map(|pair| pair.to).collect();
        let fields: BTreeSet<&str> =
            own.iter().flat_map(|pair| run.telling_channels(pair)).map(|channel| run.field(channel)).collect();
        Summary {
            tests: tests.len(),
            failed: tests.iter().filter(|test| test.outcome.as_ref().is_some_and(|o| is_failed(o.status))).count(),
            jvms: run.detections.len(),
            readers: parties(run, &readers),
            own_pairs: own.len(),
            own_fields: fields.len(),
            library_pairs: pairs.len() - own.len(),
        }
    }

    /// `prefix` starts every line.
    pub fn write(&self, out: &mut dyn Write, prefix: &str) -> Result<()> {
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {}", style::bad(format_args!("{failed} failed"))),
        };
        let jvms = count(self.jvms, "JVM", "JVMs");
        writeln!(out, "{prefix}watched {} in {jvms}{failed}", count(self.tests, "test", "tests"))?;
        if self.own_pairs > 0 {
            writeln!(
                out,
                "{prefix}{} read what others wrote in the project's own state: {} through {}",
                self.readers,
                count(self.own_pairs, "dependency", "dependencies"),
                count(self.own_fields, "field", "fields")
            )?;
        }
        match (self.own_pairs, self.library_pairs) {
            (0, 0) => writeln!(out, "{prefix}no test read what another had written")?,
            (_, 0) => {}
            (own, library) => {
                let more = if own > 0 { "more dependencies are" } else { "dependencies are" };
                let one = if own > 0 { "more dependency is" } else { "dependency is" };
                writeln!(out, "{prefix}{} only inside of libraries and the JDK", count(library, one, more))?;
            }
        }
        Ok(())
    }
}
