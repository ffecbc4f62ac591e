//! Pure algorithms over the model.
//!
//! [`detect`] turns what one JVM did into accesses of named resources; [`dependencies`] reads the
//! dependencies off them. Neither does I/O, so both are checked against naive models.

mod actors;
mod dependencies;
mod detect;
mod external;
mod names;
pub mod refine;

pub use dependencies::dependencies;
pub use detect::detect;
