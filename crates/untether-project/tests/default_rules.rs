//! Every default rule about the JDK names something that the JDKs of this machine have: a rule with a misspelt name
//! would silently do nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../untether-classfile/tests/support/mod.rs"]
mod support;

use std::path::Path;

use support::{Jdk, jdks};
use untether_classfile::ClassFile;
use untether_project::Config;
use untether_wire::glob_matches;

/// What some JDKs have, from 17 on, and others do not.
const NOT_IN_ALL: &[&str] = &[
    "java.lang.Compiler.*",
    "java.lang.ProcessBuilder.LOGGER",
    "java.lang.System.security",
    "java.lang.System.allowSecurityManager",
    "java.lang.ThreadBuilders.*",
    "java.lang.ThreadBuilders$**",
    "java.lang.VirtualThread.*",
    "java.lang.VirtualThread$**",
    "java.io.ObjectOutputStream$Caches.*",
];

/// The names of all classes, and of all of their fields.
fn names(jdk: &Jdk) -> Vec<String> {
    let mut names = Vec::new();
    let modules = ["java.base", "java.desktop", "java.logging"];
    for class in modules.iter().flat_map(|module| jdk.classes(module)) {
        let parsed = ClassFile::parse(&class.bytes).unwrap();
        let name = class.name.split_once('/').unwrap().1.replace('/', ".");
        for field in &parsed.fields {
            names.push(format!("{name}.{}", String::from_utf8_lossy(parsed.pool.utf8(field.name_index).unwrap())));
        }
        names.push(name);
    }
    names
}

#[test]
fn every_default_rule_about_the_jdk_means_something() {
    let config = Config::load(Path::new("/nonexistent")).unwrap();
    let patterns: Vec<&str> = [&config.ignore, &config.opaque, &config.immutable]
        .iter()
        .flat_map(|rules| rules.patterns())
        .map(|pattern| pattern.trim_start_matches('!'))
        .filter(|pattern| pattern.starts_with("java.") && !NOT_IN_ALL.contains(pattern))
        .collect();
    assert!(patterns.len() > 100, "only {} rules about the JDK", patterns.len());
    for jdk in jdks() {
        let names = names(&jdk);
        let idle: Vec<&&str> =
            patterns.iter().filter(|pattern| !names.iter().any(|name| glob_matches(pattern, name))).collect();
        assert!(idle.is_empty(), "JDK {} has nothing that these rules name: {idle:#?}", jdk.version);
    }
}
