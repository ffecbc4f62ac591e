//! `untether deps`: the dependencies of the last run, and with `--kind manifest` what refinement made of them.

use std::io::{Result as IoResult, Write};
use std::path::Path;

use untether_model::{DependencyKind, Finding, Role};
use untether_report::{Meant, Query, Run, TableOptions, write_edge, write_graph, write_json, write_table};
use untether_store::{Store, StoredRefinement, StoredRun};

use crate::arguments::{DepsArguments, GraphFormat, Kind};
use crate::error::Error;
use crate::findings;
use crate::view::{project_folder, to_stdout};

pub(crate) fn run(store: &Path, request: &DepsArguments) -> Result<u8, Error> {
    let stored = Store::open_to_read(store)?.latest_run()?;
    let run = Run::new(&stored.detections, &project_folder(store));
    let kinds: Vec<DependencyKind> = if request.kind.is_empty() {
        vec![DependencyKind::Data]
    } else {
        request.kind.iter().filter_map(|kind| model_kind(*kind)).collect()
    };
    let meant = match (&request.test, &request.module) {
        (Some(test), module) => Some(run.find_all(test, module.as_deref())?),
        (None, Some(module)) => Some(run.find_module(module)?),
        (None, None) => None,
    };
    let manifest =
        if request.kind.contains(&Kind::Manifest) { Some(manifest(store, &stored, meant.as_ref())?) } else { None };
    let pairs =
        run.pairs(&Query { kinds: &kinds, is_class_level: request.class_level, one: meant.as_ref(), other: None });
    match request.format {
        GraphFormat::Json => {
            to_stdout(|out| write_json(out, &run, &pairs, manifest.as_ref().map(findings::views)))?;
        }
        GraphFormat::Dot => {
            let findings = manifest.map(|latest| latest.findings).unwrap_or_default();
            to_stdout(|out| write_graph(out, &run, &pairs, request.libraries, |out| write_findings(out, &findings)))?;
        }
        GraphFormat::Table => {
            if let Some(latest) = &manifest {
                findings::print_table(latest, None);
            }
            if manifest.is_some() && !kinds.is_empty() {
                println!();
            }
            let options = TableOptions {
                is_class_level: request.class_level,
                with_libraries: request.libraries,
                is_complete: request.all,
            };
            if manifest.is_none() || !kinds.is_empty() {
                to_stdout(|out| write_table(out, &run, &pairs, options))?;
            }
        }
    }
    Ok(0)
}

/// The findings of the last refinement, or those that are about certain tests.
fn manifest(store: &Path, run: &StoredRun, meant: Option<&Meant<'_>>) -> Result<StoredRefinement, Error> {
    let refinements = Store::open_to_read(store)?.refinements()?;
    let Some(mut latest) = refinements.into_iter().next() else {
        return Err(Error::Usage("there is no refinement yet; run 'untether refine' first".to_owned()));
    };
    if latest.started_ms < run.summary.started_ms {
        eprintln!("untether: note: the findings are older than the last run; 'untether refine' looks again");
    }
    if let Some(meant) = meant {
        let is_meant =
            |finding: &Finding| finding.others().iter().chain([&finding.test]).any(|name| meant.mentions(name));
        latest.findings.retain(is_meant);
    }
    Ok(latest)
}

/// None for what is not read off a single run.
fn model_kind(kind: Kind) -> Option<DependencyKind> {
    match kind {
        Kind::Data => Some(DependencyKind::Data),
        Kind::Anti => Some(DependencyKind::Anti),
        Kind::Candidate => Some(DependencyKind::Candidate),
        Kind::Manifest => None,
    }
}

/// An error that suggests the nearest names where no test has the given one.
pub(crate) fn check_name(run: &StoredRun, given: &str) -> Result<(), Error> {
    Run::new(&run.detections, Path::new(".")).find_all(given, None)?;
    Ok(())
}

fn write_findings(out: &mut dyn Write, findings: &[Finding]) -> IoResult<()> {
    for finding in findings {
        let relation = match finding.role {
            Role::Brittle => "setter",
            Role::Victim => "polluter",
        };
        for other in finding.others() {
            write_edge(out, other, &finding.test, relation, "style=bold")?;
        }
    }
    Ok(())
}
