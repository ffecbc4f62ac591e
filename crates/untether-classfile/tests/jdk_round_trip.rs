//! Every class of every JDK on this machine survives being read and written.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{Class, codes, jdks};
use untether_classfile::{ClassFile, Code, CodeEditor, Content};

/// All of a JDK's modules together have more classes than this.
const MANY: usize = 20_000;

/// What the editor drops, because it holds pcs that nothing at run time can read.
const DROPPED: [&[u8]; 2] = [b"RuntimeVisibleTypeAnnotations", b"RuntimeInvisibleTypeAnnotations"];

fn check(property: impl Fn(&Class) -> Result<(), String> + Sync) {
    for jdk in jdks() {
        let (count, complaints) = jdk.check_classes(&property);
        assert!(complaints.is_empty(), "{}: {complaints:#?}", jdk.home.display());
        assert!(count > MANY, "{} has only {count} classes", jdk.home.display());
    }
}

fn same(what: &str, found: &[u8], expected: &[u8]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
    Err(format!("{what}: {} bytes instead of {}, the first difference is at {at}", found.len(), expected.len()))
}

#[test]
fn a_class_is_written_as_it_was_read() {
    check(|class| {
        let parsed = ClassFile::parse(&class.bytes).map_err(|error| error.to_string())?;
        same("class", &parsed.to_bytes(), &class.bytes)
    });
}

#[test]
fn every_class_has_a_content() {
    check(|class| {
        let parsed = ClassFile::parse(&class.bytes).map_err(|error| error.to_string())?;
        Content::of(&parsed).map(|_| ()).map_err(|error| error.to_string())
    });
}

#[test]
fn the_code_of_a_method_is_written_as_it_was_read() {
    check(|class| {
        let parsed = ClassFile::parse(&class.bytes).map_err(|error| error.to_string())?;
        for (method, content) in codes(&parsed) {
            let code = Code::parse(content).map_err(|error| format!("{method}: {error}"))?;
            same(&method, &code.to_bytes(), content)?;
            let length: usize = code.instructions().map(|instruction| instruction.map_or(0, |i| i.bytes.len())).sum();
            if length != code.bytes.len() {
                return Err(format!("{method}: its instructions cover {length} of {} bytes", code.bytes.len()));
            }
        }
        Ok(())
    });
}

#[test]
fn an_editor_without_edits_changes_nothing_but_the_annotations_it_drops() {
    check(|class| {
        let parsed = ClassFile::parse(&class.bytes).map_err(|error| error.to_string())?;
        let mut pool = parsed.pool.clone();
        for (method, content) in codes(&parsed) {
            let mut code = Code::parse(content).map_err(|error| format!("{method}: {error}"))?;
            let edited = CodeEditor::new(&code).apply(&mut pool).map_err(|error| format!("{method}: {error}"))?;
            code.attributes.retain(|a| !parsed.pool.utf8(a.name_index).is_ok_and(|name| DROPPED.contains(&name)));
            same(&method, &edited, &code.to_bytes())?;
        }
        Ok(())
    });
}
