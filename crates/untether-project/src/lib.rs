//! What untether knows of a project before anything runs: its configuration and class paths.

mod class_path;
mod config;
mod fingerprint;
mod order;

pub use class_path::{ClassPathError, classes_in_folders, find_test_classes, jars_first};
pub use config::{Config, ConfigError, DEFAULTS};
pub use fingerprint::Fingerprints;
pub use order::{OrderError, read_order};
