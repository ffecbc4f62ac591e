//! `untether deps`: the dependencies of the last run, by resource or by pair.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use untether_model::{DependencyKind, Finding, Role, class_of};
use untether_store::{Store, StoredRun};

use crate::arguments::{DepsArguments, GraphFormat, Kind};
use crate::error::Error;
use crate::findings::{self, FindingView};
use crate::view::{self, DependencyView, JSON_VERSION, TestView};

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    tests: Vec<TestView>,
    dependencies: &'d [DependencyView<'d>],
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<Vec<FindingView<'d>>>,
}

pub(crate) fn run(store: &Path, request: &DepsArguments) -> Result<u8, Error> {
    let run = Store::open_to_read(store)?.latest_run()?;
    let kinds: Vec<DependencyKind> = if request.kind.is_empty() {
        vec![DependencyKind::Data]
    } else {
        request.kind.iter().filter_map(|kind| model_kind(*kind)).collect()
    };
    let mut manifest = None;
    if request.kind.contains(&Kind::Manifest) {
        let refinements = Store::open_to_read(store)?.refinements()?;
        let Some(latest) = refinements.into_iter().next() else {
            return Err(Error::Usage("there is no refinement yet; run 'untether refine' first".to_owned()));
        };
        if latest.started_ms < run.summary.started_ms {
            eprintln!("untether: note: the findings are older than the last run; 'untether refine' looks again");
        }
        let mut findings = latest.findings;
        if let Some(test) = &request.test {
            let is_about = |finding: &Finding| {
                finding.others().iter().chain([&finding.test]).any(|name| view::is_named(name, test))
            };
            findings.retain(is_about);
        }
        manifest = Some(findings);
    }
    if let Some(test) = &request.test {
        check_name(&run, test)?;
    }
    // Between classes, a test stands for its class.
    let of_test = request.test.as_deref().map(|test| if request.class_level { class_of(test) } else { test });
    let pairs = view::pairs(&run, &kinds, request.class_level, (of_test, None));
    match request.format {
        GraphFormat::Json => {
            let document = Document {
                version: JSON_VERSION,
                tests: view::tests(&run),
                dependencies: &pairs,
                manifest: manifest.as_deref().map(findings::views),
            };
            println!("{}", serde_json::to_string_pretty(&document).map_err(|e| Error::Failed(e.to_string()))?);
        }
        GraphFormat::Dot => print_dot(&pairs, manifest.as_deref().unwrap_or_default()),
        GraphFormat::Table => {
            if let Some(findings) = &manifest {
                findings::print_table(findings, None);
            }
            if manifest.is_none() || !kinds.is_empty() {
                if manifest.is_some() {
                    println!();
                }
                print_table(&pairs, request.class_level);
            }
        }
    }
    Ok(0)
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
    let names: BTreeSet<&str> = run.detections.iter().flat_map(|d| &d.units).map(|unit| unit.name.as_str()).collect();
    if names.iter().any(|name| view::is_named(name, given)) {
        return Ok(());
    }
    let wanted = given.rsplit(['.', '#']).next().unwrap_or(given).to_lowercase();
    let near: Vec<&str> = names.into_iter().filter(|name| name.to_lowercase().contains(&wanted)).take(3).collect();
    let hint = if near.is_empty() {
        "'untether deps --format json' lists all tests".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    Err(Error::Usage(format!("no test or class named '{given}' in the last run; {hint}")))
}

fn print_dot(pairs: &[DependencyView<'_>], findings: &[Finding]) {
    println!("digraph dependencies {{");
    println!("  rankdir=LR; node [shape=box];");
    for pair in pairs {
        let through = pair.resources.first().map_or("", |resource| resource.name);
        let more = if pair.resources.len() > 1 { format!(" +{}", pair.resources.len() - 1) } else { String::new() };
        println!("  {:?} -> {:?} [label={:?}];", pair.from, pair.to, format!("{through}{more}"));
    }
    for finding in findings {
        let style = match finding.role {
            Role::Brittle => "setter",
            Role::Victim => "polluter",
        };
        for other in finding.others() {
            println!("  {other:?} -> {:?} [label={style:?}, style=bold];", finding.test);
        }
    }
    println!("}}");
}

/// A pair with the names of what lies between, below one root.
type PairThrough<'p> = (&'p DependencyView<'p>, Vec<String>);

/// One block per static root, most readers first: one field is one thing to fix.
fn print_table(pairs: &[DependencyView<'_>], is_class_level: bool) {
    let mut by_root: BTreeMap<(DependencyKind, &str), Vec<PairThrough<'_>>> = BTreeMap::new();
    for pair in pairs {
        let mut of_pair: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for resource in &pair.resources {
            let labels: String = resource
                .labels
                .iter()
                .filter_map(|label| serde_json::to_value(label).ok()?.as_str().map(|text| format!(" ({text})")))
                .collect();
            of_pair.entry(resource.root).or_default().push(format!("{}{labels}", resource.name));
        }
        for (root, names) in of_pair {
            by_root.entry((pair.kind, root)).or_default().push((pair, names));
        }
    }
    if by_root.is_empty() {
        println!("no dependencies");
        return;
    }
    let mut roots: Vec<_> = by_root.into_iter().collect();
    roots.sort_by_key(|((kind, root), pairs)| (*kind, std::cmp::Reverse(pairs.len()), *root));
    for (index, ((kind, root), pairs)) in roots.iter().enumerate() {
        if index > 0 {
            println!();
        }
        let tests: BTreeSet<&str> = pairs.iter().flat_map(|(pair, _)| [pair.from, pair.to]).collect();
        let kind = match kind {
            DependencyKind::Data => "",
            DependencyKind::Anti => " (anti)",
            DependencyKind::Candidate => " (candidates)",
        };
        println!(
            "{root}{kind}: {} between {} {}",
            view::count(pairs.len(), "dependency", "dependencies"),
            tests.len(),
            if is_class_level { "classes" } else { "tests" }
        );
        const MOST: usize = 20;
        for (pair, names) in pairs.iter().take(MOST) {
            println!("  {} -> {}", pair.from, pair.to);
            let more = if names.len() > 3 { format!(" and {} more", names.len() - 3) } else { String::new() };
            println!("      through {}{more}", names[..names.len().min(3)].join(", "));
        }
        if pairs.len() > MOST {
            println!("  ... and {} more; see --format json, or --test TEST for one test", pairs.len() - MOST);
        }
    }
}
