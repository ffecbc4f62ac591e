//! Every suite under `fixtures/refine` is watched and refined, and what is found is compared with what its source
//! says. Proofs are replayed, interrupted refinements go on, and unchanged tests are not run again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use support::manifests::{differences, expected, json, texts};
use support::{class_path_of, compile, each, java_files, jdks, repository, scratch, untether};

/// A folder in which the fixture has been watched.
fn watched(fixture: &str, purpose: &str) -> PathBuf {
    let home = jdks().into_iter().next().unwrap();
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = scratch("refine-classes");
    static COMPILED: Mutex<bool> = Mutex::new(false);
    {
        let mut is_compiled = COMPILED.lock().unwrap();
        if !*is_compiled {
            compile(&home, &libraries, &java_files(&repository().join("fixtures/refine")), &classes);
            *is_compiled = true;
        }
    }
    watched_from(&classes, fixture, purpose)
}

/// The same, from classes of one's own.
fn watched_from(classes: &Path, fixture: &str, purpose: &str) -> PathBuf {
    watched_by(&jdks().into_iter().next().unwrap(), classes, fixture, purpose)
}

fn watched_by(home: &Path, classes: &Path, fixture: &str, purpose: &str) -> PathBuf {
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let run = scratch("refine").join(format!("{fixture}-{purpose}"));
    let _ = std::fs::remove_dir_all(&run);
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join("turns"), "").unwrap();
    let output = untether(
        &run,
        &[
            "detect",
            "--quiet",
            "--classpath",
            &format!("{}:{libraries}", classes.display()),
            "--include",
            &format!("refine.{fixture}.*Test"),
            "--java",
            &home.display().to_string(),
        ],
    );
    assert!(run.join(".untether").exists(), "{}", String::from_utf8_lossy(&output.stderr));
    run
}

#[test]
fn every_fixture_has_exactly_the_manifest_dependencies_that_its_source_says() {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(repository().join("fixtures/refine"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| support::is_wanted(&path.file_name().unwrap().to_string_lossy()))
        .collect();
    folders.sort();
    each(folders, |folder| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let run = watched(&name, "found");
        // Where a test hangs, a limit is waited for: longer ones are tried only where the machine is busy.
        let limits = if name == "hangs" { &["5s", "30s", "3m"][..] } else { &["10m"] };
        let mut wrong = Vec::new();
        for limit in limits {
            let arguments =
                ["refine", "--format", "json", "--quiet", "--fresh", "--jobs", "1", "--test-timeout", limit];
            let document = json(&run, &arguments);
            wrong = differences(&expected(&folder, "refine"), &document);
            if document["is_complete"] != true {
                wrong.push("is not complete".to_owned());
            }
            if wrong.is_empty() {
                break;
            }
        }
        wrong.into_iter().map(|text| format!("{name}: {text}")).collect()
    });
}

/// What is put back, and how, differs between JDKs in what they keep for threads.
#[test]
fn causes_are_proven_on_the_newest_jdk_as_well() {
    let jdks = jdks();
    let [_, .., newest] = jdks.as_slice() else { return };
    watched("brittle", "compiled");
    let some = ["brittle", "noise", "system_property", "thread_locals_fill", "victim"];
    each(some.into_iter().filter(|name| support::is_wanted(name)).collect(), |name| {
        let run = watched_by(newest, &scratch("refine-classes"), name, "newest");
        let document = json(&run, &["refine", "--format", "json", "--quiet", "--jobs", "1"]);
        let mut wrong = differences(&expected(&repository().join("fixtures/refine").join(name), "refine"), &document);
        for finding in document["manifest"].as_array().unwrap() {
            if finding["proof"] != "proven" {
                wrong.push(format!("the cause is {}", finding["cause"]));
            }
        }
        wrong.into_iter().map(|text| format!("{name}: {text}")).collect()
    });
}

#[test]
fn a_proof_can_be_replayed_and_a_known_finding_is_not_new() {
    let run = watched("brittle", "replayed");
    assert_eq!(untether(&run, &["replay", "abc"]).status.code(), Some(2), "there is nothing to replay yet");
    let first = untether(&run, &["refine", "--quiet", "--fail-on", "new"]);
    assert_eq!(first.status.code(), Some(1), "{}", String::from_utf8_lossy(&first.stderr));
    let listed = json(&run, &["deps", "--kind", "manifest", "--format", "json"]);
    let finding = &listed["manifest"][0];
    assert_eq!(finding["test"], "refine.brittle.BUsesTest#uses");
    assert_eq!(finding["outcome"]["reference"], "passed");
    assert_eq!(finding["outcome"]["violated"], "failed");
    assert!(finding["outcome"]["message"].as_str().unwrap().contains("loaded"));
    assert!(finding["fix"].as_str().unwrap().contains("ALoadsTest.java"), "{}", finding["fix"]);
    let id = finding["id"].as_str().unwrap();
    let replayed = json(&run, &["replay", id, "--format", "json"]);
    assert_eq!(replayed["is_reproduced"], true);
    let outcome = |run: usize| replayed["runs"][run]["tests"].as_array().unwrap().last().unwrap()["outcome"].clone();
    assert_eq!((outcome(0), outcome(1)), ("passed".into(), "failed".into()));
    assert_eq!(untether(&run, &["replay", "zzzzzz"]).status.code(), Some(2));
    // What failed once does not pass because it is tried again.
    assert_eq!(untether(&run, &["refine", "--quiet", "--fail-on", "new"]).status.code(), Some(1));
    // Nothing has changed: nothing is run; and what was accepted is no news.
    assert_eq!(untether(&run, &["refine", "--quiet"]).status.code(), Some(0));
    let again = untether(&run, &["refine", "--quiet", "--fail-on", "new"]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(untether(&run, &["refine", "--quiet", "--fail-on", "any"]).status.code(), Some(1));
    let document = json(&run, &["refine", "--quiet", "--format", "json"]);
    assert_eq!(document["executions"], 0);
    assert_eq!(document["manifest"].as_array().unwrap().len(), 1);
    let fresh = json(&run, &["refine", "--quiet", "--fresh", "--format", "json"]);
    assert!(fresh["executions"].as_u64().unwrap() > 0);
    assert_eq!(fresh["manifest"].as_array().unwrap().len(), 1);
}

#[test]
fn a_refinement_that_ran_out_of_time_goes_on_where_it_was() {
    let run = watched("hangs", "resumed");
    // Long enough to run the original order, however busy the machine is; the hanging test alone takes longer.
    let (cut_off, limit) = (2..10)
        .map(|power| 1u32 << power)
        .find_map(|budget| {
            let (budget, limit) = (format!("{budget}s"), format!("{}s", budget * 3 / 2));
            let arguments = ["refine", "--quiet", "--format", "json", "--jobs", "1", "--test-timeout", &limit];
            let document = json(&run, &[&arguments[..], &["--budget", &budget]].concat());
            (document["executions"].as_u64().unwrap() > 0).then_some((document, limit))
        })
        .unwrap();
    assert_eq!(cut_off["is_complete"], false);
    assert_eq!(cut_off["manifest"].as_array().unwrap().len(), 0);
    let arguments = ["refine", "--quiet", "--format", "json", "--jobs", "1", "--test-timeout", &limit];
    let whole = json(&run, &arguments);
    assert_eq!(whole["is_complete"], true);
    assert_eq!(whole["manifest"][0]["test"], "refine.hangs.APassesTest#passes");
    assert_eq!(whole["manifest"][0]["outcome"]["violated"], "timed-out");
}

#[test]
fn strategies_agree_where_they_look() {
    let run = watched("write_after_write", "strategies");
    for (strategy, finds) in
        [("reverse", true), ("isolate", true), ("pradet", true), ("pairs", true), ("random:6:1", true)]
    {
        let document = json(&run, &["refine", "--quiet", "--fresh", "--format", "json", "--strategy", strategy]);
        let found = document["manifest"].as_array().unwrap().iter().any(|finding| {
            finding["test"] == "refine.write_after_write.BReadsTest#reads" && finding["role"] == "brittle"
        });
        assert_eq!(found, finds, "{strategy}: {document}");
        assert_eq!(document["strategy"], strategy);
        assert!(document["jvm_starts"].as_u64().unwrap() > 2);
    }
    let wrong = untether(&run, &["refine", "--strategy", "random:many:1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("random:N:SEED"));
}

#[test]
fn what_cannot_be_judged_is_still_named_when_nothing_has_changed() {
    let run = watched("junit3_suite", "again");
    let arguments = ["refine", "--quiet", "--format", "json"];
    let first = json(&run, &arguments);
    assert_eq!(texts(&first["differing"]), ["refine.junit3_suite.OldTest$Elsewhere#testReads"]);
    let again = json(&run, &arguments);
    assert_eq!(again["executions"], 0);
    for key in ["differing", "failing", "manifest"] {
        assert_eq!(again[key], first[key], "{key}");
    }
}

#[test]
fn a_project_that_was_cleaned_is_told_so_and_keeps_what_was_found() {
    let home = jdks().into_iter().next().unwrap();
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let classes = scratch("refine-cleaned");
    compile(&home, &libraries, &java_files(&repository().join("fixtures/refine/brittle")), &classes);
    let run = watched_from(&classes, "brittle", "cleaned");
    let before = json(&run, &["deps", "--format", "json"]);
    assert!(!before["dependencies"].as_array().unwrap().is_empty());
    std::fs::remove_dir_all(&classes).unwrap();
    let output = untether(&run, &["refine", "--quiet"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("none of the tests could be run") && errors.contains("'untether detect'"), "{errors}");
    assert_eq!(json(&run, &["deps", "--format", "json"]), before);
}

#[test]
fn files_that_the_first_run_left_behind_do_not_hide_a_dependency() {
    let home = jdks().into_iter().next().unwrap();
    let libraries = class_path_of(&repository().join("fixtures/pom.xml"), "fixtures");
    let run = scratch("refine").join("left_behind");
    let _ = std::fs::remove_dir_all(&run);
    std::fs::create_dir_all(&run).unwrap();
    compile(
        &home,
        &libraries,
        &java_files(&repository().join("fixtures/files/left_behind")),
        &run.join("target/classes"),
    );
    let class_path = format!("{}:{libraries}", run.join("target/classes").display());
    let java = home.display().to_string();
    untether(
        &run,
        &["detect", "--quiet", "--classpath", &class_path, "--include", "files.left_behind.*Test", "--java", &java],
    );
    let left = run.join("target/data/x.db");
    assert!(left.is_file());
    let document = json(&run, &["refine", "--format", "json", "--quiet"]);
    let findings = document["manifest"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{document:#}");
    assert_eq!(findings[0]["test"], "files.left_behind.BNeedsTest#needs");
    assert_eq!(findings[0]["role"], "brittle");
    assert_eq!(texts(&findings[0]["setters"]), ["files.left_behind.AMakesTest#makes"]);
    assert_eq!(findings[0]["proof"], "likely");
    assert_eq!(findings[0]["resources"][0]["name"], "file:target/data/x.db");
    assert!(left.is_file(), "what was there before is there again");
}
