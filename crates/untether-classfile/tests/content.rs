//! What counts as a change of a class: sources are compiled twice, and their contents compared.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use untether_classfile::{ClassFile, Content};

/// The contents of all classes that a source compiles to, by name.
fn contents(folder: &Path, source: &str, options: &[&str]) -> BTreeMap<String, Content> {
    std::fs::create_dir_all(folder).unwrap();
    let file = folder.join("Subject.java");
    std::fs::write(&file, source).unwrap();
    let out = folder.join("classes");
    let status = Command::new("javac").args(options).arg("-d").arg(&out).arg(&file).status().unwrap();
    assert!(status.success(), "javac refused {source}");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(&out).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let class = ClassFile::parse(&bytes).unwrap();
        let name = String::from_utf8_lossy(class.name().unwrap()).into_owned();
        found.insert(name, Content::of(&class).unwrap());
    }
    found
}

const BEFORE: &str = r#"
import java.lang.annotation.*;
import java.util.function.*;

@Retention(RetentionPolicy.RUNTIME) @interface Mark { int value() default 3; String[] names() default {"a", "b"}; }

interface Shape { default int area() { return 1; } }

sealed interface Sealed permits One, Two {}
record One(int width, String name) implements Sealed {}
record Two(@Mark int width) implements Sealed {}
enum Colour { RED, GREEN }

@Mark(5)
class Subject implements Shape {
    static final int LIMIT = 7;
    private int first;
    private long second;

    int count(int amount) throws Exception {
        int sum = 0;
        for (int i = 0; i < amount; i++) {
            switch (i) { case 1: sum += LIMIT; break; case 2: case 3: sum += 2; break; default: sum--; }
            switch (i % 2000) { case 100: sum += 1; break; case 1000: sum += 3; break; default: }
        }
        try { sum += Integer.parseInt("12"); } catch (NumberFormatException wrong) { throw new Exception("no " + wrong); }
        return sum;
    }

    Supplier<String> greet(String name) { return () -> "hello " + name + second; }

    class Inner { int get() { return first; } }
}
"#;

/// Whether the edit changes the content of any class.
fn differs(name: &str, edit: impl Fn(&str) -> String, options: [&[&str]; 2]) -> bool {
    let folder = std::env::temp_dir().join(format!("untether-content-{name}-{}", std::process::id()));
    let after = edit(BEFORE);
    let found = (contents(&folder.join("1"), BEFORE, options[0]), contents(&folder.join("2"), &after, options[1]));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(found.0.contains_key("Subject$Inner"));
    found.0 != found.1
}

#[test]
fn what_only_debuggers_see_is_no_change() {
    let same = |source: &str| source.to_owned();
    assert!(!differs("again", same, [&["-g"], &["-g"]]));
    assert!(!differs("stripped", same, [&["-g"], &["-g:none"]]));
    assert!(!differs("shifted", |source| source.replace("\n", "\n\n// a comment\n"), [&["-g"], &["-g"]]));
    assert!(!differs("renamed", |source| source.replace("sum", "total"), [&["-g"], &["-g"]]));
}

/// The methods of a class come in another order, and with them the constants of its pool.
#[test]
fn the_order_of_methods_is_no_change() {
    let swap = |source: &str| {
        let greet = "    Supplier<String> greet(String name) { return () -> \"hello \" + name + second; }\n";
        assert!(source.contains(greet));
        source.replace(greet, "").replace("    int count(", &format!("{greet}    int count("))
    };
    assert!(!differs("swapped", swap, [&["-g"], &["-g"]]));
}

/// A constant beyond the first 255 is loaded by a longer instruction: the same code stands at other places.
#[test]
fn where_in_the_pool_a_constant_stands_is_no_change() {
    let many: String = (0..300).map(|n| format!("    String text{n}() {{ return \"text {n}\"; }}\n")).collect();
    let last = "    boolean last(boolean is) { return is ? \"other\".isEmpty() : \"last\".isEmpty(); }\n";
    let folder = std::env::temp_dir().join(format!("untether-content-pool-{}", std::process::id()));
    let first = contents(&folder.join("1"), &format!("class Subject {{\n{last}{many}}}"), &[]);
    let second = contents(&folder.join("2"), &format!("class Subject {{\n{many}{last}}}"), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(first == second);
}

#[test]
fn everything_else_is_a_change() {
    let edits = [
        ("constant", "LIMIT = 7", "LIMIT = 8"),
        ("code", "sum--", "sum++"),
        ("branch", "i < amount", "i <= amount"),
        ("table", "case 2: case 3:", "case 3: case 2: case 4:"),
        ("lookup", "case 1000:", "case 1001:"),
        ("text", "\"12\"", "\"13\""),
        ("caught", "NumberFormatException wrong", "IllegalArgumentException wrong"),
        ("thrown", "throws Exception", "throws Exception, java.io.IOException"),
        ("lambda", "hello ", "goodbye "),
        ("modifier", "private int first", "protected int first"),
        ("fields", "private int first;\n    private long second;", "private long second;\n    private int first;"),
        ("annotation", "@Mark(5)", "@Mark(6)"),
        ("without", "@Mark(5)\n", ""),
        ("default", "default 3", "default 4"),
        ("names", "{\"a\", \"b\"}", "{\"b\", \"a\"}"),
        ("enum", "RED, GREEN", "GREEN, RED"),
        ("record", "int width, String name", "String name, int width"),
        ("component", "@Mark int width", "@Mark(9) int width"),
        ("permits", "permits One, Two", "permits Two, One"),
        ("implements", "class Subject implements Shape", "class Subject"),
        ("overrides", "class Inner {", "class Inner { public String toString() { return \"\"; }"),
        ("signature", "Supplier<String> greet", "Supplier<? extends CharSequence> greet"),
        ("nested", "class Inner {", "class Another {} class Inner {"),
        ("method", "int get()", "int got()"),
    ];
    let folder = std::env::temp_dir().join(format!("untether-content-edits-{}", std::process::id()));
    let before = contents(&folder.join("before"), BEFORE, &[]);
    for (name, from, to) in edits {
        assert!(BEFORE.contains(from), "{name}");
        let after = contents(&folder.join(name), &BEFORE.replace(from, to), &[]);
        assert!(before != after, "{name}: {from} -> {to}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_belongs_to_a_class_is_named() {
    let folder = std::env::temp_dir().join(format!("untether-content-named-{}", std::process::id()));
    let found = contents(&folder, BEFORE, &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let names = |set: &std::collections::BTreeSet<Vec<u8>>| -> Vec<String> {
        set.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    };
    assert_eq!(names(&found["Subject"].supertypes), ["Shape", "java/lang/Object"]);
    assert_eq!(names(&found["Subject"].annotations), ["Mark"]);
    assert_eq!(names(&found["Two"].annotations), ["Mark"]);
    assert_eq!(names(&found["Mark"].annotations), ["java/lang/annotation/Retention"]);
}
