//! What `deps` and `why` print for a small run that is made by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use untether_model::{
    Access, AccessMode, DependencyKind, Detection, Label, Labels, Launch, Outcome, OutcomeStatus, Resource,
    ResourceKind, StackLine, Unit, UnitKind,
};
use untether_report::{
    NameError, Pair, Query, Run, Summary, TableOptions, WhyOptions, write_graph, write_json, write_table, write_why,
};

fn unit(name: &str) -> Unit {
    let outcome =
        Outcome { status: OutcomeStatus::Passed, nanos: 1_500_000, message: String::new(), trace: String::new() };
    let kind = if name.contains('#') { UnitKind::Test } else { UnitKind::Class };
    Unit {
        kind,
        name: name.to_owned(),
        display_name: String::new(),
        outcome: (kind == UnitKind::Test).then_some(outcome),
    }
}

fn resource(name: &str, field: &str, path: &str, root: &str) -> Resource {
    let kind = if root == "java.lang.System.props" { ResourceKind::Property } else { ResourceKind::Heap };
    Resource { kind, name: name.to_owned(), field: field.to_owned(), path: path.to_owned(), root: root.to_owned() }
}

fn stack(lines: &[&str]) -> Vec<StackLine> {
    let line = |(text, number): (&&str, u32)| {
        let (class, method) = text.split_once('#').unwrap();
        let file = format!("{}.java", class.rsplit('.').next().unwrap());
        StackLine { class: class.to_owned(), method: method.to_owned(), file, line: number * 10 }
    };
    lines.iter().zip(1..).map(line).collect()
}

/// A write by one unit that another reads, with stacks 0 and 1 of own code or 2 and 3 of libraries.
fn flow(resource: u32, from: u32, to: u32, stacks: (u32, u32), labels: &[Label]) -> [Access; 2] {
    let labels: Labels = labels.iter().copied().collect();
    let write = Access {
        resource,
        unit: from,
        position: from * 100,
        mode: AccessMode::Write,
        labels,
        source: None,
        stack: Some(stacks.0),
        source_stack: None,
    };
    let read = Access {
        unit: to,
        position: to * 100,
        mode: AccessMode::Read,
        source: Some(from),
        stack: Some(stacks.1),
        source_stack: Some(stacks.0),
        ..write
    };
    [write, read]
}

/// A shop with a static map, a bean in a library's context, a property, a lazy singleton, and noise of a library.
fn shop(directory: &str) -> Detection {
    let bean =
        "Contexts.cache.map.table[3].val.beanFactory.singletonObjects.table[17].val.advised.targetSource.target.count";
    let library = stack(&["lib.Pool#take", "lib.Engine#run", "org.junit.platform.Launcher#run"]);
    let through_library = stack(&[
        "java.util.HashMap#put",
        "shop.Rates#load",
        "lib.Proxy#invoke",
        "lib.Proxy#proceed",
        "lib.Interceptor#around",
        "lib.Interceptor#intercept",
        "lib.Chain#next",
        "lib.Chain#call",
        "shop.ATest#loads",
        "jdk.internal.reflect.DirectMethodHandleAccessor#invoke",
        "org.junit.platform.Launcher#run",
    ]);
    Detection {
        launch: Launch { directory: directory.to_owned(), ..Launch::default() },
        units: ["shop.ATest", "shop.ATest#loads", "shop.BTest#reads", "shop.CTest#counts[1]", "shop.CTest#counts[2]"]
            .map(unit)
            .into(),
        resources: vec![
            resource("Pool.free[3]", "lib.Pool.free", "Pool.free[3]", "lib.Pool.free"),
            resource("Rates.RATES[\"USD\"]", "shop.Rates.RATES", "Rates.RATES.table[3]", "shop.Rates.RATES"),
            resource("Rates.RATES[\"EUR\"]", "shop.Rates.RATES", "Rates.RATES.table[5]", "shop.Rates.RATES"),
            resource("Cart.count", "shop.Cart.count", bean, "lib.Contexts.cache"),
            resource(
                "property:shop.mode",
                "java.lang.System.props",
                "System.props.map.table[1]",
                "java.lang.System.props",
            ),
            resource("system properties", "java.lang.System.props", "System.props.map.table", "java.lang.System.props"),
            resource("Shop.instance", "shop.Shop.instance", "Shop.instance", "shop.Shop.instance"),
        ],
        accesses: [
            flow(0, 1, 2, (2, 2), &[]),
            flow(1, 1, 2, (0, 1), &[]),
            flow(2, 1, 3, (0, 1), &[]),
            flow(3, 2, 3, (1, 1), &[]),
            flow(4, 0, 2, (1, 1), &[]),
            flow(5, 0, 2, (1, 1), &[]),
            flow(6, 1, 2, (1, 1), &[Label::Lazy]),
            flow(0, 3, 4, (2, 2), &[]),
        ]
        .concat(),
        stacks: vec![through_library, stack(&["shop.Rates#get", "shop.BTest#reads"]), library],
        own_classes: ["shop.ATest", "shop.BTest", "shop.Cart", "shop.Rates", "shop.Shop"].map(str::to_owned).into(),
        is_complete: true,
        ..Detection::default()
    }
}

const DATA: &[DependencyKind] = &[DependencyKind::Data];

fn data(run: &Run<'_>) -> Vec<Pair> {
    run.pairs(&Query { kinds: DATA, is_class_level: false, one: None, other: None })
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn table(run: &Run<'_>, with_libraries: bool) -> String {
    let options = TableOptions { is_class_level: false, with_libraries, is_complete: false };
    text(|out| write_table(out, run, &data(run), options))
}

#[test]
fn deps_shows_own_state_first_and_counts_the_rest() {
    let detections = [shop("/p/shop")];
    let run = Run::new(&detections, Path::new("/p"));
    insta::assert_snapshot!("deps", table(&run, false));
    insta::assert_snapshot!("deps_with_libraries", table(&run, true));
    insta::assert_snapshot!("summary", text(|out| Summary::new(&run).write(out, "untether: ")));
}

#[test]
fn deps_between_classes_and_as_a_graph() {
    let detections = [shop("/p/shop")];
    let run = Run::new(&detections, Path::new("/p"));
    let query = Query { kinds: DATA, is_class_level: true, one: None, other: None };
    let options = TableOptions { is_class_level: true, with_libraries: false, is_complete: false };
    insta::assert_snapshot!("deps_class_level", text(|out| write_table(out, &run, &run.pairs(&query), options)));
    insta::assert_snapshot!("deps_dot", text(|out| write_graph(out, &run, &data(&run), false, &[])));
}

#[test]
fn json_writes_everything_once() {
    let detections = [shop("/p/shop")];
    let run = Run::new(&detections, Path::new("/p"));
    let json = text(|out| write_json(out, &run, &data(&run), None::<()>));
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["version"], 2);
    insta::assert_snapshot!("deps_json", json);
}

#[test]
fn why_shows_the_most_telling_resource_in_full() {
    let detections = [shop("/p/shop")];
    let run = Run::new(&detections, Path::new("/p"));
    let (writer, reader) = (run.find("loads", None).unwrap(), run.find("BTest#reads", None).unwrap());
    let pairs = run.pairs(&Query { kinds: DATA, is_class_level: false, one: Some(&writer), other: Some(&reader) });
    insta::assert_snapshot!("why", text(|out| write_why(out, &run, &pairs, WhyOptions { is_complete: false })));
    insta::assert_snapshot!("why_all", text(|out| write_why(out, &run, &pairs, WhyOptions { is_complete: true })));
}

#[test]
fn tests_of_equal_names_are_told_apart_by_their_modules() {
    let detections = [shop("/p/orders"), shop("/p/billing")];
    let run = Run::new(&detections, Path::new("/p"));
    insta::assert_snapshot!("deps_modules", table(&run, false));
    let error = run.find("BTest#reads", None).unwrap_err();
    assert_eq!(error.to_string(), "'BTest#reads' may be orders:shop.BTest#reads or billing:shop.BTest#reads");
    assert_eq!(run.find("billing:BTest#reads", None).unwrap().label, "billing:shop.BTest#reads");
    assert_eq!(run.find("reads", Some("orders")).unwrap().label, "orders:shop.BTest#reads");
    assert!(matches!(run.find("reads", Some("no")), Err(NameError::NoModule { .. })));
    let billing = run.find_module("billing").unwrap();
    let pairs = run.pairs(&Query { kinds: DATA, is_class_level: false, one: Some(&billing), other: None });
    assert_eq!(pairs.len() * 2, data(&run).len());
}

#[test]
fn names_that_mean_nothing_get_the_nearest() {
    let detections = [shop("/p/shop")];
    let run = Run::new(&detections, Path::new("/p"));
    let error = run.find("DTest#counts", None).unwrap_err().to_string();
    assert!(error.contains("did you mean shop.CTest#counts[1] or shop.CTest#counts[2]?"), "{error}");
    assert_eq!(run.find("counts", None).unwrap().label, "shop.CTest#counts");
    assert_eq!(run.find("CTest", None).unwrap().label, "shop.CTest");
}
