//! Names of slots: the path from a root.

use untether_model::{Resource, Trace};

/// The resource that a slot is.
pub(crate) fn resource(trace: &Trace, slot: u32) -> Resource {
    let slot = &trace.slots[slot as usize];
    let mut places = vec![slot.place.as_str()];
    let mut at = slot.object;
    let mut class = "";
    while let Some(object) = trace.objects.get(at as usize).filter(|_| at != 0) {
        if object.parent == 0 {
            class = &object.class;
            break;
        }
        places.push(&object.place);
        at = object.parent;
    }
    places.reverse();
    let mut name = simple_name(class).to_owned();
    for place in &places {
        append(&mut name, place);
    }
    let mut root = class.to_owned();
    append(&mut root, places[0]);
    Resource { name, root }
}

fn append(path: &mut String, place: &str) {
    if !place.starts_with('[') {
        path.push('.');
    }
    path.push_str(place);
}

/// `com.example.Outer$Inner.this` without its package.
fn simple_name(class: &str) -> &str {
    let stem = class.strip_suffix(".this").unwrap_or(class);
    let start = stem.rfind('.').map_or(0, |dot| dot + 1);
    &class[start..]
}
