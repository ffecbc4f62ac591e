//! The shapes of frames, and the Java that writes them.

use std::fmt::Write as _;

/// Who writes a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The agent's native half.
    Agent,
    /// The agent's Java half.
    Runtime,
    /// The worker that runs tests.
    Worker,
}

/// One frame: its fields by name, each with its type in Java.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) tag: u8,
    pub(crate) side: Side,
    pub(crate) fields: &'static [(&'static str, &'static str)],
}

/// The name of an enum, and its values with their numbers.
pub(crate) type Codes = (&'static str, &'static [(&'static str, u32)]);

/// A class of `package` with a method for each of the frames that this side writes and a constant for each number. The
/// methods call `begin(tag)`, `integer`, `string` and `end` of `sink`.
pub(crate) fn java(
    (package, class, sink): (&str, &str, &str),
    header: Option<[u8; 8]>,
    shapes: &[Shape],
    side: Side,
    codes: &[Codes],
) -> String {
    let mut source =
        format!("package {package};\n\n/** Made from the crate untether-wire. */\nfinal class {class} {{\n");
    if let Some(header) = header {
        let bytes: Vec<String> = header.iter().map(u8::to_string).collect();
        let _ = writeln!(source, "    static final byte[] HEADER = {{{}}};", bytes.join(", "));
    }
    for (name, values) in codes {
        for (value, code) in *values {
            let _ = writeln!(source, "    static final int {}_{} = {code};", constant(name), constant(value));
        }
    }
    let _ = writeln!(source, "\n    private {class}() {{}}");
    for shape in shapes.iter().filter(|shape| shape.side == side) {
        method(&mut source, shape, sink);
    }
    source.push_str("}\n");
    source
}

/// A class of constants: names as Rust writes them, and numbers.
pub(crate) fn java_constants(package: &str, class: &str, values: &[(String, u32)]) -> String {
    let mut source = format!("package {package};\n\nfinal class {class} {{\n");
    for (name, value) in values {
        let _ = writeln!(source, "    static final int {} = {value};", constant(name));
    }
    let _ = write!(source, "\n    private {class}() {{}}\n}}\n");
    source
}

fn method(source: &mut String, shape: &Shape, sink: &str) {
    let parameters: Vec<String> = shape.fields.iter().map(|(name, java)| format!("{java} {}", camel(name))).collect();
    let name = shape.name[..1].to_lowercase() + &shape.name[1..];
    let _ = writeln!(source, "\n    static void {name}({}) {{", parameters.join(", "));
    let _ = writeln!(source, "        {sink}.begin({});", shape.tag);
    for (name, java) in shape.fields {
        let name = camel(name);
        let _ = match *java {
            "String" => writeln!(source, "        {sink}.string({name});"),
            "boolean" => writeln!(source, "        {sink}.integer({name} ? 1 : 0);"),
            _ => writeln!(source, "        {sink}.integer({name});"),
        };
    }
    let _ = writeln!(source, "        {sink}.end();\n    }}");
}

/// `unique_id` as `uniqueId`.
fn camel(name: &str) -> String {
    if name == "class" {
        return "className".to_owned();
    }
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
}

/// `ActorKind` as `ACTOR_KIND`.
fn constant(name: &str) -> String {
    let mut text = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::frame::Frame;
    use crate::schema::{Shape, Side};
    use crate::worker::WorkerFrame;

    #[test]
    fn tags_are_unique_and_java_writes_only_what_it_can() {
        for shapes in [Frame::SHAPES, WorkerFrame::SHAPES] {
            let tags: HashSet<u8> = shapes.iter().map(|shape| shape.tag).collect();
            assert_eq!(tags.len(), shapes.len());
            let is_written = |shape: &&Shape| shape.side != Side::Agent;
            for shape in shapes.iter().filter(is_written) {
                assert!(shape.fields.iter().all(|(_, java)| !java.is_empty()), "{shape:?}");
            }
        }
    }

    #[test]
    fn java_is_written_as_a_person_would() {
        let source = crate::runtime_frames("java.lang", "Frames", "Trace");
        let selector = "    static void selector(String test, String uniqueId) {
        Trace.begin(12);
        Trace.string(test);
        Trace.string(uniqueId);
        Trace.end();
    }
";
        assert!(source.contains(selector), "{source}");
        assert!(source.contains("static final int ACTOR_KIND_OUTSIDE = 4;"), "{source}");
        assert!(!source.contains("launch("), "the agent writes that: {source}");
    }
}
