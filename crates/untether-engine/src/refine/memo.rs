//! Under what keys the store remembers what was run: everything that decides what comes of it, and nothing else. So a
//! refinement that was stopped asks for the same and finds it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use untether_analysis::refine::Fingerprinted;
use untether_model::{ContentHash, ContentHasher, Launch, PutBack, Schedule, Trial, World, class_of};
use untether_runner::WorkerContext;

fn key(feed: impl FnOnce(&mut ContentHasher)) -> ContentHash {
    let mut hasher = ContentHasher::default();
    feed(&mut hasher);
    hasher.finish()
}

/// What a test comes to also depends on the JVM.
pub(super) fn jvm_key(launch: &Launch, context: &WorkerContext) -> ContentHash {
    key(|hasher| {
        hasher.text(&launch.java_version);
        hasher.texts(context.settings());
    })
}

fn launch_key(launch: &Launch, test_timeout: Duration) -> ContentHash {
    key(|hasher| {
        hasher.text(&launch.directory);
        hasher.texts(&launch.class_path);
        hasher.texts(&launch.left_files);
        hasher.number(test_timeout.as_secs());
    })
}

pub(super) struct Memo<'m> {
    launch: ContentHash,
    fingerprinted: &'m Fingerprinted<'m, 'm>,
    /// How often each schedule has been asked for in this refinement.
    occurrences: HashMap<String, usize>,
}

impl<'m> Memo<'m> {
    pub(super) fn new(launch: &Launch, test_timeout: Duration, fingerprinted: &'m Fingerprinted<'m, 'm>) -> Self {
        Memo { launch: launch_key(launch, test_timeout), fingerprinted, occurrences: HashMap::new() }
    }

    /// The key of a schedule, and the how manieth time it is asked for.
    pub(super) fn schedule(&mut self, schedule: &Schedule) -> (String, usize) {
        let key = key(|hasher| {
            hasher.hash(self.launch);
            hasher.texts(&schedule.tests);
            self.feed_classes(hasher, schedule.tests.iter());
        });
        let key = key.to_string();
        let occurrence = self.occurrences.entry(key.clone()).or_default();
        *occurrence += 1;
        (key, *occurrence)
    }

    pub(super) fn trial(&self, trial: &Trial) -> String {
        let tests = trial.prelude.iter().chain(&trial.before).chain(std::iter::once(&trial.last));
        let key = key(|hasher| {
            hasher.hash(self.launch);
            feed_trial(hasher, trial);
            self.feed_classes(hasher, tests);
        });
        format!("trial-{key}")
    }

    /// What the classes of tests look like.
    fn feed_classes<'t>(&self, hasher: &mut ContentHasher, tests: impl Iterator<Item = &'t String>) {
        let classes: BTreeMap<&str, &str> =
            tests.map(|test| (class_of(test), self.fingerprinted.of_class(test))).collect();
        for (class, fingerprint) in classes {
            hasher.texts([class, fingerprint]);
        }
    }
}

fn feed_trial(hasher: &mut ContentHasher, trial: &Trial) {
    let (kind, fields): (u64, &[String]) = match &trial.put_back {
        PutBack::Nothing => (0, &[]),
        PutBack::Only(fields) => (1, fields),
        PutBack::AllBut(fields) => (2, fields),
        PutBack::Ask => (3, &[]),
    };
    hasher.texts(&trial.prelude);
    hasher.texts(&trial.before);
    hasher.number(kind);
    hasher.texts(fields);
    hasher.text(&trial.last);
    hasher.number(u64::from(trial.world == World::Cold));
}
