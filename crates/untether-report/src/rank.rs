//! What a person would believe and care about: the project's own state, touched by its own code, before what libraries
//! keep for themselves.

use std::collections::HashMap;

use untether_frameworks::is_test_framework;
use untether_model::{
    Dependency, Detection, Label, Labels, Resource, ResourceKind, StackLine, is_jdk, is_program_setting,
};

/// Where state lives, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Standing {
    /// A field of the project's own classes.
    Own,
    /// Something that programs set in the JDK, set by the project's own code.
    Setting,
    /// A field of the project's own classes that was only filled or initialised: likely benign.
    OwnHinted,
    /// Anything else in libraries and the JDK.
    Library,
    LibraryHinted,
}

impl Standing {
    pub(crate) fn is_own(self) -> bool {
        self <= Standing::OwnHinted
    }
}

/// Less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rank {
    pub(crate) standing: Standing,
    /// How many of write and read are not made by the project's own code, but by a library on its behalf.
    pub(crate) detours: u8,
    /// Whether a label says that another order would show something else, or it is too general to tell much.
    pub(crate) is_qualified: bool,
    path_length: usize,
}

/// Ranks dependencies of one JVM; what is known of a stack is kept.
pub(crate) struct Ranker<'d> {
    detection: &'d Detection,
    stacks: HashMap<u32, Origin>,
}

/// Whose code a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The project's own code, or the JDK at its direct request.
    Own,
    /// A library that own code called.
    Called,
    /// Own code is nowhere in it.
    Foreign,
}

impl<'d> Ranker<'d> {
    pub(crate) fn new(detection: &'d Detection) -> Self {
        Ranker { detection, stacks: HashMap::new() }
    }

    pub(crate) fn rank(&mut self, dependency: &Dependency) -> Rank {
        let resource = self.detection.resource(dependency.resource);
        let (write, read) = (self.origin(dependency.write_stack), self.origin(dependency.read_stack));
        // What a library sets while own code calls it, and what only libraries read, is the library's.
        let is_meant = write == Origin::Own || (write == Origin::Called && read == Origin::Own);
        // Files and addresses are there for programs to use; what only libraries do with them is theirs.
        let is_used = resource.kind.is_outside_of_heap() && (write != Origin::Foreign || read != Origin::Foreign);
        let is_setting = is_program_setting(&resource.field) && is_meant || is_used;
        let standing = match (is_own_field(self.detection, &resource.field), is_benign(dependency.labels)) {
            (true, false) => Standing::Own,
            (true, true) => Standing::OwnHinted,
            (false, false) if is_setting => Standing::Setting,
            (false, true) if is_setting => Standing::OwnHinted,
            (false, false) => Standing::Library,
            (false, true) => Standing::LibraryHinted,
        };
        Rank {
            standing,
            detours: u8::from(write != Origin::Own) + u8::from(read != Origin::Own),
            is_qualified: dependency.labels.iter().any(is_qualifying) || is_property_table(resource),
            path_length: resource.path.len(),
        }
    }

    fn origin(&mut self, stack: Option<u32>) -> Origin {
        let Some(number) = stack else { return Origin::Foreign };
        let detection = self.detection;
        *self.stacks.entry(number).or_insert_with(|| {
            let lines = detection.stack(stack);
            if lines.first().is_some_and(|line| line.method.is_empty()) {
                // A program that a test has started.
                return Origin::Own;
            }
            let nearest = lines.iter().find(|line| !is_jdk(&line.class));
            if nearest.is_some_and(|line| is_own_line(detection, line)) {
                return Origin::Own;
            }
            if detection.own_line(lines).is_some() { Origin::Called } else { Origin::Foreign }
        })
    }
}

pub(crate) fn is_own_line(detection: &Detection, line: &StackLine) -> bool {
    detection.is_own(&line.class) && !is_test_framework(line.class.as_bytes())
}

fn is_own_field(detection: &Detection, field: &str) -> bool {
    let class = field.rsplit_once('.').map_or(field, |(class, _)| class);
    detection.is_own(class) && !is_test_framework(class.as_bytes())
}

/// One system property, or one variable of the environment.
pub(crate) fn is_property(resource: &Resource) -> bool {
    is_table(resource) && (resource.name.starts_with("property:") || resource.name.starts_with("env:"))
}

/// The table of all of them, not one.
pub(crate) fn is_property_table(resource: &Resource) -> bool {
    is_table(resource) && !is_property(resource)
}

fn is_table(resource: &Resource) -> bool {
    matches!(resource.kind, ResourceKind::Property | ResourceKind::Environment)
}

/// Labels that make a dependency likely harmless.
fn is_hint(label: Label) -> bool {
    matches!(label, Label::Lazy | Label::Initializer)
}

fn is_qualifying(label: Label) -> bool {
    matches!(label, Label::ClassLocal | Label::Repeated | Label::BelowEmpty)
}

fn is_benign(labels: Labels) -> bool {
    labels.iter().any(is_hint)
}
