//! Which classes are the project's own: those in folders of the class path.

use std::collections::BTreeSet;

use untether_model::{Detection, Trace};

/// What a JVM's trace says, with those of the classes that it names noted which are the project's own.
pub(crate) fn detection_of(trace: &Trace) -> Detection {
    let mut detection = untether_analysis::detect(trace);
    let own = untether_project::classes_in_folders(&detection.launch.class_path);
    let of_field = |field: &str| field.rsplit_once('.').map(|(class, _)| class.to_owned());
    let named = detection.stacks.iter().flatten().map(|line| line.class.clone());
    let of_fields = detection.resources.iter().filter_map(|resource| of_field(&resource.field));
    let named: BTreeSet<String> = named.chain(of_fields).filter(|class| own.contains(class)).collect();
    detection.own_classes = named.into_iter().collect();
    detection
}
