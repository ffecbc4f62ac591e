//! What was found, as a person or a program reads it: tables, JSON and graphs.
//!
//! A [`Run`] names the tests, its [`Pair`]s say which of them meet where, the project's own code first. Everything is
//! written to a writer that the caller gives; nothing here prints, and nothing knows where a run is stored.

mod doctor;
mod dot;
mod findings;
mod fix;
mod isolation;
mod json;
mod naming;
mod notes;
mod pairs;
mod rank;
mod refinement;
mod refinement_summary;
mod replay;
mod run;
mod selection;
mod stack;
pub mod style;
mod summary;
mod table;
mod text;
mod why;

pub use doctor::{Health, JvmHealth, Remembered, write_health, write_health_json};
pub use dot::write_graph;
pub use findings::{finding_order, finding_sentence};
pub use isolation::{write_isolation, write_isolation_json, write_isolation_summary};
pub use json::{JSON_VERSION, write_json};
pub use naming::{Meant, NameError, is_named};
pub use notes::write_notes;
pub use pairs::{Channel, Pair, Query};
pub use refinement::{FindingView, finding_views, write_findings, write_refinement, write_refinement_json};
pub use refinement_summary::RefinementSummary;
pub use replay::{write_replay, write_replay_json};
pub use run::{Party, Run};
pub use selection::{
    reason_text, selection_sentence, write_contradictions, write_selected, write_selection, write_selection_json,
    write_skipped,
};
pub use summary::Summary;
pub use table::{TableOptions, write_table};
pub use text::count;
pub use why::{WhyOptions, pairs_between, write_nothing_between, write_why};
