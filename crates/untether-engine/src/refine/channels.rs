//! Where the tests of a finding meet: they are watched once more, in its order, to see which line it is that pollutes.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use untether_analysis::refine::{Evidence, arrange};
use untether_model::{Certainty, Channel, Finding, Launch, Schedule};
use untether_project::Config;
use untether_runner::{Launcher, Limits, WatchRequest, Watching, WorkerContext, watch};

use crate::error::EngineError;
use crate::own::detection_of;
use crate::scratch::make_folder;

/// How the tests of one JVM are watched.
pub(super) struct Rerun<'r> {
    pub(super) launch: &'r Launch,
    pub(super) config: &'r Config,
    /// For the files of such runs.
    pub(super) folder: &'r Path,
    pub(super) limits: Limits,
}

impl Rerun<'_> {
    /// Once per cause, and where a test is not known to read it. A finding holds, whether that can be named or not.
    pub(super) fn name_causes(&self, findings: &mut [Finding]) {
        let mut writes: HashMap<(Vec<String>, Vec<String>), Vec<Channel>> = HashMap::new();
        for finding in findings {
            let is_read = finding.resources.first().is_some_and(|channel| !channel.read.is_empty());
            let key = (finding.others().to_vec(), finding.cause.fields.clone());
            if let Some(known) = writes.get(&key).filter(|_| is_read) {
                for channel in &mut finding.resources {
                    let is_same = |other: &&Channel| other.field == channel.field && other.writer == channel.writer;
                    if let Some(seen) = known.iter().find(is_same) {
                        channel.written_at.clone_from(&seen.written_at);
                        channel.write.clone_from(&seen.write);
                    }
                }
            } else if !self.limits.are_over() && self.name_channels(finding).is_ok() {
                writes.insert(key, finding.resources.clone());
            }
        }
    }

    fn name_channels(&self, finding: &mut Finding) -> Result<(), EngineError> {
        let folder = self.folder.join(&finding.id);
        make_folder(&folder)?;
        let mut tests = finding.others().to_vec();
        tests.push(finding.test.clone());
        let timeout: Duration = self.limits.per_test * tests.len() as u32;
        let command = WorkerContext::new(self.launch, &folder)?.watchable(&Schedule::new(tests), &folder)?;
        let request = WatchRequest {
            launcher: Launcher::Jvm(command),
            config: self.config,
            directory: &folder,
            timeout: Some(timeout),
            captures_output: true,
            watching: Watching::Thoroughly,
        };
        let watched = watch(request, |_| {})?;
        for trace in &watched.traces {
            let detection = detection_of(trace);
            for seen in Evidence::new(&detection).channels_named(finding.others(), &finding.test) {
                if finding.cause.certainty == Certainty::Outside && !seen.kind.is_outside_of_heap() {
                    continue;
                }
                let is_same = |known: &&mut Channel| known.name == seen.name && known.writer == seen.writer;
                match finding.resources.iter_mut().find(is_same) {
                    Some(known) => *known = seen,
                    None => finding.resources.push(seen),
                }
            }
        }
        let is_whole = !watched.has_timed_out && watched.signal.is_none();
        if finding.resources.is_empty() && finding.cause.certainty == Certainty::Likely && is_whole {
            finding.cause.certainty = Certainty::Outside;
        }
        arrange(finding);
        Ok(())
    }
}
