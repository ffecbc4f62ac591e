//! What to insert where, and why a class or a method was left alone.
//!
//! [`Weaver::weave`] takes class bytes and gives woven bytes. It knows the probes' names and
//! descriptors ([`probe`]) but nothing of a JVM: field facts come through [`Resolver`], numbers for
//! fields and classes through [`Numbering`].

pub mod boundary;
mod bypass;
pub mod foundation;
mod heap;
pub mod probe;
mod redundancy;
mod shape;
mod values;
mod weaver;

pub use shape::{ClassShape, FieldShape, Resolver, resolve_field};
pub use weaver::{Numbering, ProbeSets, Refusal, Weaver, Woven};
