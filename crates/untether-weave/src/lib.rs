//! What to insert where, and why a class or a method was left alone.
//!
//! What a run wants to know is chosen by [`Families`] of probes; one pass over each method serves all of them.
//! [`Weaver::weave`] takes class bytes and gives woven bytes. It knows the probes' names and
//! descriptors ([`probe`]) but nothing of a JVM: field facts come through [`Resolver`], numbers for
//! fields and classes through [`Numbering`].

pub mod boundary;
mod bypass;
pub mod foundation;
mod heap;
mod hooks;
mod initializers;
mod pass;
pub mod probe;
mod redundancy;
mod shape;
mod uses;
mod values;
mod weaver;

pub use heap::Accesses;
pub use shape::{ClassShape, FieldShape, Resolver, resolve_field};
pub use uses::{GATED, is_jdk_name};
pub use weaver::{Families, Numbering, Refusal, Weaver, Woven};
