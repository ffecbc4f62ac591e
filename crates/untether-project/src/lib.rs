//! What untether knows of a project before anything runs: its configuration and class paths.

mod class_path;
mod code;
mod config;
mod fingerprint;
mod order;
mod outside;

pub use class_path::{ClassPathError, classes_in_folders, find_test_classes, is_test_name, jars_first};
pub use code::{Code, facts_of};
pub use config::{Config, ConfigError, DEFAULTS};
pub use fingerprint::Fingerprints;
pub use order::{OrderError, read_order};
pub use outside::{Outside, is_outside_name, listed, listed_without_classes, version_of};
