//! Names of slots: what a person calls them, and the path from a root.

use untether_model::{ENVIRONMENT, PROPERTIES, Resource, ResourceKind, Trace, simple_name};

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
    // Threads are roots for what they keep for variables; what subclasses keep themselves is another matter.
    if class == "ThreadLocal" && !places[0].ends_with("hreadLocals") {
        class = "java.lang.Thread";
    }
    let mut path = simple_name(class).to_owned();
    for place in &places {
        append(&mut path, place);
    }
    let mut root = class.to_owned();
    append(&mut root, places[0]);
    let field = if slot.field.is_empty() { root.clone() } else { slot.field.clone() };
    let kind = match field.as_str() {
        PROPERTIES => ResourceKind::Property,
        ENVIRONMENT => ResourceKind::Environment,
        _ => ResourceKind::Heap,
    };
    Resource { kind, name: name(&field, &slot.element, &slot.place), field, path, root }
}

/// What the slot is to the user of its class: collections by their elements, not by their tables and nodes.
fn name(field: &str, element: &str, place: &str) -> String {
    let key = element.strip_prefix("[\"").and_then(|rest| rest.strip_suffix("\"]"));
    match (field, key) {
        (PROPERTIES, Some(key)) => return format!("property:{key}"),
        (PROPERTIES, None) => return "system properties".to_owned(),
        (ENVIRONMENT, Some(key)) => return format!("env:{key}"),
        (ENVIRONMENT, None) => return "environment".to_owned(),
        _ => {}
    }
    let is_own_field = field.rsplit('.').next() == Some(place);
    let size = if element.is_empty() && !is_own_field && matches!(place, "size" | "count") { ".size()" } else { "" };
    format!("{}{element}{size}", simple_field(field))
}

/// `com.example.Outer$Inner.field` without its package.
fn simple_field(field: &str) -> &str {
    match field.rfind('.') {
        Some(dot) => &field[field[..dot].rfind('.').map_or(0, |package| package + 1)..],
        None => field,
    }
}

fn append(path: &mut String, place: &str) {
    if !place.starts_with('[') {
        path.push('.');
    }
    path.push_str(place);
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn collections_are_named_as_their_users_see_them() {
        assert_eq!(name("com.example.Rates.RATES", "[\"USD\"]", "val"), "Rates.RATES[\"USD\"]");
        assert_eq!(name("com.example.Chain.FILTERS", "[2]", "[2]"), "Chain.FILTERS[2]");
        assert_eq!(name("com.example.Chain.FILTERS", "", "elementData"), "Chain.FILTERS");
        assert_eq!(name("com.example.Chain.FILTERS", "", "size"), "Chain.FILTERS.size()");
        assert_eq!(name("com.example.App$Cart.size", "", "size"), "App$Cart.size");
        assert_eq!(name("java.lang.System.props", "[\"my.mode\"]", "[3]"), "property:my.mode");
        assert_eq!(name("java.lang.ProcessEnvironment.theEnvironment", "[\"HOME\"]", "[3]"), "env:HOME");
    }
}
