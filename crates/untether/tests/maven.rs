//! `untether detect -- mvn ...` on the example projects, as a user would run it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use support::{command, copy_of, text, untether};

fn pairs(project: &Path) -> BTreeSet<(String, String)> {
    pairs_of(project, &[])
}

fn pairs_of(project: &Path, arguments: &[&str]) -> BTreeSet<(String, String)> {
    let output = untether(project, &[&["deps", "--format", "json"], arguments].concat());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["version"], 2);
    let ids = support::party_ids(&document);
    let id = |value: &serde_json::Value| ids[&value.as_u64().unwrap()].clone();
    document["dependencies"].as_array().unwrap().iter().map(|d| (id(&d["from"]), id(&d["to"]))).collect()
}

fn owned(pairs: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
}

#[test]
fn the_bookshop_shows_its_hidden_dependencies_and_their_stacks() {
    let project = copy_of("bookshop", "bookshop");
    let output = untether(&project, &["detect", "--", "mvn", "-q", "-B", "test"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("watched 30 tests in 1 JVM"), "{errors}");
    let expected = owned(&[
        ("bookshop.CartTest#checkingOutPlacesAnOrder", "bookshop.OrderTest#theNextOrderGetsTheNextNumber"),
        ("bookshop.OrderTest#theNextOrderGetsTheNextNumber", "bookshop.StockListTest#aShippedOrderLeavesTheStock"),
        ("bookshop.ExchangeRatesTest#loadsThePublishedRates", "bookshop.PriceCalculatorTest#convertsPricesIntoDollars"),
        ("bookshop.CsvExportTest", "bookshop.StockListTest#theStockListCanBeReadByASpreadsheet"),
        ("bookshop.OrderTest#turkishReceiptsHaveADecimalComma", "bookshop.OrderTest#theReceiptListsEveryBook"),
        ("bookshop.OrderTest#turkishReceiptsHaveADecimalComma", "bookshop.StockListTest#poetryStandsOnItsOwnShelf"),
    ]);
    assert_eq!(pairs(&project), expected);
    let of_turkish: BTreeSet<(String, String)> =
        expected.into_iter().filter(|(from, _)| from.ends_with("#turkishReceiptsHaveADecimalComma")).collect();
    assert_eq!(pairs_of(&project, &["--test", "OrderTest#turkishReceiptsHaveADecimalComma"]), of_turkish);
    // Between classes, a test stands for its class.
    let of_stock_list = owned(&[
        ("bookshop.OrderTest", "bookshop.StockListTest"),
        ("bookshop.CsvExportTest", "bookshop.StockListTest"),
    ]);
    for test in ["StockListTest", "StockListTest#poetryStandsOnItsOwnShelf"] {
        assert_eq!(pairs_of(&project, &["--class-level", "--test", test]), of_stock_list);
    }
    let why =
        untether(&project, &["why", "CartTest#checkingOutPlacesAnOrder", "OrderTest#theNextOrderGetsTheNextNumber"]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(
        why.contains("Order.lastNumber") && why.contains("CartTest.java:") && why.contains("OrderTest.java:"),
        "{why}"
    );
    // The launch context of the forked JVM is kept, without what we put into its environment.
    let store = std::fs::read(project.join(".untether/store.sqlite")).unwrap();
    let holds = |text: &[u8]| store.windows(text.len()).any(|window| window == text);
    assert!(holds(b"surefire") && !holds(b"UNTETHER_OPTIONS") && !holds(b"libuntether_agent"));
}

/// The test classes that a build runs, and how many it leaves out.
fn run(project: &Path, build: &[&str]) -> (BTreeSet<String>, usize) {
    let output = untether(project, &[&["run", "--format", "json", "--", "mvn", "-q", "-B"], build].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let selected = document["selected"].as_array().unwrap().iter();
    let names = selected.map(|selected| selected["test"].as_str().unwrap().to_owned()).collect();
    (names, document["skipped"].as_array().unwrap().len())
}

#[test]
fn with_coverage_only_what_a_change_can_affect_runs() {
    let project = copy_of("bookshop", "bookshop-covered");
    // Its agent is another that rewrites classes, and comes with classes of its own.
    let build = ["org.jacoco:jacoco-maven-plugin:0.8.13:prepare-agent", "test"];
    let (first, skipped) = run(&project, &build);
    assert_eq!((first.len(), skipped), (8, 0));
    assert_eq!(run(&project, &build), (BTreeSet::new(), 8));
    change(&project.join("src/main/java/bookshop/ExchangeRates.java"));
    let (changed, skipped) = run(&project, &build);
    assert!(changed.contains("bookshop.ExchangeRatesTest") && skipped > 0, "{changed:?} {skipped}");
    assert_eq!(changed.len() + skipped, 8);
}

/// The names of all files that a build tool has written about its tests, with how many of them each tells of.
fn reports(project: &Path) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut folders = vec![project.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with("TEST-") && path.to_string_lossy().contains("surefire-reports") {
                let text = std::fs::read_to_string(path).unwrap();
                let tests = text.split(" tests=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
                found.insert((name, tests.to_owned()));
            }
        }
    }
    found
}

fn change(source: &Path) {
    let code = std::fs::read_to_string(source).unwrap();
    let end = code.rfind('}').unwrap();
    std::fs::write(source, format!("{}    int added() {{\n        return 1;\n    }}\n}}\n", &code[..end])).unwrap();
}

/// One module has JUnit 4 and one Jupiter, in several JVMs at once.
#[test]
fn in_a_reactor_with_several_forks_only_what_a_change_can_affect_runs_and_is_reported() {
    let project = copy_of("reactor", "reactor-selected");
    let (first, skipped) = run(&project, &["verify"]);
    assert!(first.len() > 2 && skipped == 0, "{first:?}");
    let all = reports(&project);
    assert!(!all.is_empty());
    // What is left out leaves no trace in the reports of the build: those that it would write are not there.
    for (name, _) in &all {
        let found = Command::new("find").arg(&project).args(["-name", name, "-delete"]).status().unwrap();
        assert!(found.success());
    }
    assert_eq!(run(&project, &["verify"]), (BTreeSet::new(), first.len()));
    assert_eq!(reports(&project), BTreeSet::new());
    let source = project.join("modern/src/test/java/modern/GuestbookTest.java");
    change(&source);
    let (changed, skipped) = run(&project, &["verify"]);
    assert_eq!(changed, BTreeSet::from(["modern.GuestbookTest".to_owned()]));
    assert_eq!(skipped, first.len() - 1);
    let written: Vec<String> = reports(&project).into_iter().map(|(name, _)| name).collect();
    assert_eq!(written, ["TEST-modern.GuestbookTest.xml"]);
}

#[test]
fn what_is_left_out_can_be_audited_and_nothing_need_be_kept() {
    let project = copy_of("bookshop", "bookshop-audited");
    let run = |arguments: &[&str]| {
        let output = untether(&project, &[&["run"], arguments, &["--", "mvn", "-q", "-B", "test"]].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, _, said) = run(&["--no-collect"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("is not known yet"), "nothing is kept, so nothing is missed: {said}");
    let (code, _, said) = run(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("8 of 8 test classes selected"), "nothing was kept: {said}");
    assert!(said.contains("untether detect -- COMMAND"), "a detection is suggested once: {said}");
    let (code, _, said) = run(&["-v"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("0 of 8 test classes selected") && !said.contains("untether detect --"), "{said}");
    change(&project.join("src/main/java/bookshop/ExchangeRates.java"));
    let (code, _, said) = run(&["-v", "--audit"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("bookshop.ExchangeRates") && said.contains("all that was left out passes"), "{said}");
}

#[test]
fn a_reactor_with_a_literal_arg_line_and_several_forks_is_watched() {
    let project = copy_of("reactor", "reactor");
    let output = untether(&project, &["detect", "--", "mvn", "-q", "-B", "verify"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = owned(&[
        ("legacy.FirstVisitTest#countsTheFirstVisit", "legacy.SecondVisitTest#countsTheSecondVisit"),
        ("modern.GuestbookTest#aGuestSigns", "modern.GuestbookTest#theBookRemembersTheGuest"),
    ]);
    assert_eq!(pairs(&project), expected);
}

#[test]
fn a_jvm_for_each_class_has_no_dependencies_between_classes() {
    let project = copy_of("reactor", "reactor-no-reuse");
    let output = untether(
        &project,
        &[
            "detect",
            "--",
            "mvn",
            "-q",
            "-B",
            "test",
            "-pl",
            "legacy",
            "-DreuseForks=false",
            "-DforkCount=1",
            "-Dmaven.test.failure.ignore=true",
        ],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(pairs(&project), owned(&[]));
}

/// What a run with these arguments says, as JSON: what the build tool prints goes elsewhere.
fn isolated(project: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = untether(project, arguments);
    let said = text(&output.stdout);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{}", text(&output.stderr)))
}

#[test]
fn a_project_that_wants_a_jvm_for_each_class_has_the_same_outcomes_isolated_in_one() {
    let project = copy_of("bookshop", "bookshop-isolated");
    let pom = project.join("pom.xml");
    let source = std::fs::read_to_string(&pom).unwrap();
    let of_their_own = "<reuseForks>false</reuseForks><testFailureIgnore>true</testFailureIgnore>";
    let changed = source.replacen("<runOrder>", &format!("{of_their_own}<runOrder>"), 1);
    assert_ne!(source, changed);
    std::fs::write(&pom, changed).unwrap();
    let maven = ["mvn", "-q", "-B", "test"];
    let arguments = [&["run", "--isolate", "--check", "--format", "json", "--"][..], &maven].concat();
    let document = isolated(&project, &arguments);
    assert_eq!(document["jvm_starts"], 1, "{document}");
    let classes = document["classes"].as_array().unwrap();
    assert!(classes.len() > 3, "{document}");
    assert_eq!(document["check"]["jvm_starts"].as_u64(), Some(classes.len() as u64), "{document}");
    assert_eq!(document["check"]["differences"], serde_json::json!([]));
    // Tests that need others before them fail, as they do in a JVM of their class's own.
    let outcome = |test: &str| {
        let tests = classes.iter().flat_map(|class| class["tests"].as_array().unwrap());
        tests.into_iter().find(|it| it["id"] == test).map(|it| it["outcome"].clone()).unwrap()
    };
    assert_eq!(outcome("bookshop.PriceCalculatorTest#convertsPricesIntoDollars"), "failed", "{document}");
    assert_eq!(outcome("bookshop.ExchangeRatesTest#loadsThePublishedRates"), "passed", "{document}");
}

#[test]
fn a_build_that_fails_keeps_its_exit_code_and_its_results() {
    let project = copy_of("reactor", "reactor-failing");
    let test = project.join("legacy/src/test/java/legacy/SecondVisitTest.java");
    let source = std::fs::read_to_string(&test).unwrap();
    let at = source.rfind('}').unwrap();
    let failing = "    @org.junit.Test public void fails() { throw new IllegalStateException(\"on purpose\"); }\n";
    std::fs::write(&test, format!("{}{failing}}}\n", &source[..at])).unwrap();
    let output = untether(&project, &["detect", "--", "mvn", "-q", "-B", "test", "-pl", "legacy"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let deps = untether(&project, &["deps", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&deps.stdout).unwrap();
    let failed: Vec<_> =
        document["tests"].as_array().unwrap().iter().filter(|test| test["outcome"] == "failed").collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["message"].as_str().unwrap().contains("on purpose"));
}

#[test]
fn a_project_below_a_folder_with_letters_of_its_own_language_is_watched_and_refined() {
    let project = copy_of("bookshop", "küche 100%/bookshop");
    // Whether locations in the manifest are absolute or not, one has such a letter.
    let pom = std::fs::read_to_string(project.join("pom.xml")).unwrap();
    let output = "<build>\n    <testOutputDirectory>target/prüfung</testOutputDirectory>";
    std::fs::write(project.join("pom.xml"), pom.replacen("<build>", output, 1)).unwrap();
    let run = |arguments: &[&str]| command(&project, arguments).env("LC_ALL", "C.UTF-8").output().unwrap();
    let output = run(&["detect", "--", "mvn", "-q", "-B", "test"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Workers are started with the class path that was named by a jar of only a manifest.
    let output = run(&["refine", "--quiet", "--format", "json", "--test", "PriceCalculatorTest"]);
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
    assert_eq!(document["manifest"][0]["setters"][0], "bookshop.ExchangeRatesTest#loadsThePublishedRates");
    assert_eq!(document["differing"].as_array().unwrap().len(), 0, "{document}");
}

#[test]
fn a_build_without_tests_is_no_internal_problem() {
    let project = copy_of("bookshop", "bookshop-skipped");
    let skipped = untether(&project, &["detect", "--", "mvn", "-q", "-B", "test", "-DskipTests"]);
    assert_eq!(skipped.status.code(), Some(0), "{}", text(&skipped.stderr));
    assert!(text(&skipped.stderr).contains("no test was run, as the command asks"), "{}", text(&skipped.stderr));
    std::fs::remove_dir_all(project.join("src/test")).unwrap();
    std::fs::remove_dir_all(project.join("target")).unwrap();
    let empty = untether(&project, &["detect", "--", "mvn", "-q", "-B", "test"]);
    assert_eq!(empty.status.code(), Some(0), "{}", text(&empty.stderr));
    assert!(text(&empty.stderr).contains("no test was seen. There are none, or"), "{}", text(&empty.stderr));
}
