//! Reads what a watched JVM and its children told of what they did outside of the heap.

use std::collections::HashMap;
use std::path::Path;

use untether_model::{Condition, Deed, ExternalEvent, Note, Thing, Trace, Unobserved};
use untether_project::Config;
use untether_wire::{self as wire, ExternalFrame, Reader, Secrets};

/// Programs of which what is not seen is told one by one.
const MOST_TOLD: usize = 5;

/// Adds to the trace what stands in the file beside that of the trace, as far as the rules leave it in.
pub(crate) fn read(trace_file: &Path, config: &Config, trace: &mut Trace) {
    let Ok(bytes) = std::fs::read(trace_file.with_extension(wire::EXTERNAL_EXTENSION)) else { return };
    let secrets = Secrets::new(&config.secrets);
    let mut told = Told { config, secrets, trace, children: HashMap::new() };
    let mut reader = Reader::<ExternalFrame>::new();
    reader.feed(&bytes);
    let is_whole = loop {
        match reader.next_frame() {
            Ok(Some(frame)) => told.frame(frame),
            Ok(None) => break reader.unread() == 0,
            Err(_) => break false,
        }
    };
    trace.external.is_whole = is_whole;
    let mut note = |text: String| trace.notes.push(Note { kind: "external".to_owned(), text });
    if !is_whole {
        note("what tests did with files was not written to its end: it is not known in full".to_owned());
    }
    for Unobserved { command, reason, .. } in trace.external.unobserved.iter().take(MOST_TOLD) {
        note(format!("what '{command}' does with files is not seen: {reason}"));
    }
    let rest = trace.external.unobserved.len().saturating_sub(MOST_TOLD);
    if rest > 0 {
        note(format!("so it is with {rest} more programs that tests started"));
    }
}

struct Told<'t> {
    config: &'t Config,
    secrets: Secrets,
    trace: &'t mut Trace,
    /// By process.
    children: HashMap<u32, usize>,
}

impl Told<'_> {
    /// Below the folder that the tests run in, paths are meant as seen from there.
    fn is_ignored(&self, name: &str) -> bool {
        let below = Path::new(name).strip_prefix(&self.trace.launch.directory).ok().and_then(Path::to_str);
        self.config.ignored_external.matches(below.filter(|below| !below.is_empty()).unwrap_or(name))
    }

    fn frame(&mut self, frame: ExternalFrame) {
        if let ExternalFrame::Done { name, .. } | ExternalFrame::After { name, .. } = &frame
            && self.is_ignored(name)
        {
            return;
        }
        let external = &mut self.trace.external;
        match frame {
            ExternalFrame::Done { process, actor, deed, name, before, is_whole, device, inode, stack } => {
                external.events.push(ExternalEvent::Done {
                    actor,
                    deed: deed_of(deed),
                    name,
                    before: condition(before),
                    is_whole,
                    file: (inode != 0).then_some((device, inode)),
                    stack,
                    child: self.children.get(&process).copied(),
                });
            }
            ExternalFrame::After { actor, name, after } => {
                external.events.push(ExternalEvent::After { actor, name, after: condition(after) });
            }
            ExternalFrame::Child { process, actor, command } => {
                external.children.push(self.secrets.command(&command));
                external.starters.push(actor);
                self.children.insert(process, external.children.len() - 1);
            }
            ExternalFrame::Unobserved { actor, command, reason } => {
                let command = self.secrets.command(&command);
                external.unobserved.push(Unobserved { actor, command, reason });
            }
            ExternalFrame::Acts { actor } => external.events.push(ExternalEvent::Acts { actor }),
        }
    }
}

fn deed_of(deed: wire::Deed) -> Deed {
    match deed {
        wire::Deed::Looked => Deed::Looked,
        wire::Deed::Asked => Deed::Asked,
        wire::Deed::Read => Deed::Read,
        wire::Deed::Listed => Deed::Listed,
        wire::Deed::Wrote => Deed::Wrote,
        wire::Deed::Created => Deed::Created,
        wire::Deed::Removed => Deed::Removed,
        wire::Deed::Changed => Deed::Changed,
        wire::Deed::Bound => Deed::Bound,
        wire::Deed::Reached => Deed::Reached,
    }
}

fn condition(condition: wire::Condition) -> Condition {
    let thing = match condition.thing {
        wire::Thing::Unknown => Thing::Unknown,
        wire::Thing::Absent => Thing::Absent,
        wire::Thing::File => Thing::File,
        wire::Thing::Directory => Thing::Directory,
        wire::Thing::Other => Thing::Other,
    };
    Condition { thing, content: u128::from(condition.high) << 64 | u128::from(condition.low) }
}
