//! What a run found, as a person or a program reads it: tables, JSON and graphs of dependencies.
//!
//! A [`Run`] names the tests, its [`Pair`]s say which of them meet where, the project's own code first. Everything is
//! written to a writer that the caller gives; nothing here prints, and nothing knows where a run is stored.

mod dot;
mod json;
mod naming;
mod pairs;
mod rank;
mod run;
mod stack;
mod summary;
mod table;
mod text;
mod why;

pub use dot::{write_edge, write_graph};
pub use json::{JSON_VERSION, write_json};
pub use naming::{Meant, NameError, is_named};
pub use pairs::{Channel, Pair, Query};
pub use run::{Party, Run};
pub use summary::Summary;
pub use table::{TableOptions, write_table};
pub use text::count;
pub use why::{WhyOptions, write_why};
