//! How tests and classes are named.

/// The class part of a test's id.
pub fn class_of(test: &str) -> &str {
    test.split('#').next().unwrap_or(test)
}

/// A test's id without the number of an invocation: invocations of one method are run together.
pub fn method_of(id: &str) -> &str {
    let start = id.find('#').unwrap_or(id.len());
    match id[start..].find('[') {
        Some(bracket) => &id[..start + bracket],
        None => id,
    }
}

/// The class that it stands in, at the top of its file.
pub fn outermost(class: &str) -> &str {
    class.split('$').next().unwrap_or(class)
}

/// Whether the class is that one or nested in it.
pub fn is_within(class: &str, outer: &str) -> bool {
    class.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
}

/// `com.example.Outer$Inner` without its package; a test instance as a root, `com.example.ATest.this`, keeps its end.
pub fn simple_name(class: &str) -> &str {
    let stem = class.strip_suffix(".this").unwrap_or(class);
    let start = stem.rfind('.').map_or(0, |dot| dot + 1);
    &class[start..]
}

/// Whether the class, or a field that is named with its class, belongs to the JDK.
pub fn is_jdk(name: &str) -> bool {
    ["java.", "javax.", "jdk.", "sun.", "com.sun."].iter().any(|prefix| name.starts_with(prefix))
}
