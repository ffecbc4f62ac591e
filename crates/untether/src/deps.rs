//! `untether deps`: the dependencies of the last run, and with `--kind manifest` what refinement made of them.

use std::path::Path;

use untether_engine::latest_refinement;
use untether_model::{DependencyKind, Finding, RefinementRecord};
use untether_report::{
    Meant, Query, Run, TableOptions, finding_views, write_findings, write_graph, write_json, write_table,
};
use untether_store::{Store, StoredRun};

use crate::arguments::{DepsArguments, GraphFormat, Kind};
use crate::error::Error;
use crate::output::to_stdout;
use crate::place;

pub(crate) fn run(store: &Path, request: &DepsArguments) -> Result<u8, Error> {
    let stored = Store::open_to_read(store)?.latest_run()?;
    let run = Run::new(&stored.detections, &place::folder_of(store));
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
    to_stdout(|out| match request.format {
        GraphFormat::Json => write_json(out, &run, &pairs, manifest.as_ref().map(finding_views)),
        GraphFormat::Dot => {
            let findings = manifest.as_ref().map_or(&[][..], |latest| &latest.findings);
            write_graph(out, &run, &pairs, request.libraries, findings)
        }
        GraphFormat::Table => {
            if let Some(latest) = &manifest {
                write_findings(out, latest, None)?;
                if kinds.is_empty() {
                    return Ok(());
                }
                writeln!(out)?;
            }
            let options = TableOptions {
                is_class_level: request.class_level,
                with_libraries: request.libraries,
                is_complete: request.all,
            };
            write_table(out, &run, &pairs, options)
        }
    })?;
    Ok(0)
}

/// The findings of the last refinement, or those that are about certain tests.
fn manifest(store: &Path, run: &StoredRun, meant: Option<&Meant<'_>>) -> Result<RefinementRecord, Error> {
    let mut latest = latest_refinement(store)?;
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
