//! Whole test classes, each as if it were the first in its JVM: put back in between, or in a JVM of its own.
//!
//! A JVM that cannot be put back is replaced before the next class, so isolation is true or paid for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use untether_model::{ClassOutcome, Status, TestOutcome, Verdict};
use untether_wire::{Isolation, WorkerFrame};

use crate::error::RunnerError;
use crate::results::status_of;
use crate::schedule::{Execution, Executor, Followed, LiveJvm};
use crate::watch::Watching;

/// A class and the lines of a plan that run it: its name, or its tests where an engine knows them by ids only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeClass {
    pub name: String,
    pub lines: Vec<String>,
}

impl WholeClass {
    pub fn new(name: &str) -> Self {
        WholeClass { name: name.to_owned(), lines: vec![name.to_owned()] }
    }
}

/// What each class finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// What was there before the class ahead of it, which is put back.
    PutBack(Isolation),
    /// A fresh JVM.
    Fresh,
    /// A fresh JVM, and the files that were there before the class ahead of it.
    FreshWithFiles,
}

impl World {
    /// What is put back, where something is.
    fn isolation(self) -> Isolation {
        match self {
            World::PutBack(isolation) => isolation,
            World::Fresh => Isolation::None,
            World::FreshWithFiles => Isolation::Class,
        }
    }
}

/// What came of classes, in their order.
#[derive(Debug, Clone, Default)]
pub struct Isolated {
    pub classes: Vec<ClassOutcome>,
    pub jvms: usize,
}

/// A class with its number among those that were asked for.
type Told = Result<Execution<(usize, ClassOutcome)>, RunnerError>;

impl Executor {
    /// Runs the classes in so many JVMs at a time. Hands each over as it ends.
    pub fn run_classes(
        &self,
        classes: &[WholeClass],
        world: World,
        jobs: usize,
        mut each: impl FnMut(&ClassOutcome),
    ) -> Result<Execution<Isolated>, RunnerError> {
        let (next, jvms) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (sender, receiver) = channel();
        let mut found: Vec<Option<ClassOutcome>> = vec![None; classes.len()];
        let mut result = Ok(());
        let mut is_out_of_time = false;
        thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, classes.len().max(1)) {
                let (sender, next, jvms) = (sender.clone(), &next, &jvms);
                scope.spawn(move || self.run_share(classes, world, next, jvms, |told| sender.send(told).is_ok()));
            }
            drop(sender);
            while let Ok(told) = receiver.recv() {
                match told {
                    Ok(Execution::Ended((number, outcome))) => {
                        each(&outcome);
                        found[number] = Some(outcome);
                        continue;
                    }
                    Ok(Execution::OutOfTime) => is_out_of_time = true,
                    Err(error) => result = Err(error),
                }
                next.store(classes.len(), Ordering::Relaxed);
            }
        });
        result?;
        if is_out_of_time {
            return Ok(Execution::OutOfTime);
        }
        let classes = found.into_iter().flatten().collect();
        Ok(Execution::Ended(Isolated { classes, jvms: jvms.into_inner() }))
    }

    /// Takes one class after the other, in one JVM after the other.
    fn run_share(
        &self,
        classes: &[WholeClass],
        world: World,
        next: &AtomicUsize,
        jvms: &AtomicUsize,
        each: impl Fn(Told) -> bool,
    ) {
        let mut current: Option<(usize, LiveJvm)> = None;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(class) = classes.get(at) else { return };
            let started = match current.take() {
                Some(jvm) => Ok(jvm),
                None => {
                    let number = jvms.fetch_add(1, Ordering::Relaxed);
                    self.start_for(world).map(|jvm| (number, jvm))
                }
            };
            let ran = started.and_then(|(number, mut jvm)| {
                let (outcome, followed) = self.run_class(class, number, world.isolation(), &mut jvm)?;
                if matches!(followed, Followed::PlanOver) && matches!(world, World::PutBack(_)) {
                    current = Some((number, jvm));
                }
                Ok(match followed {
                    Followed::OutOfTime => Execution::OutOfTime,
                    _ => Execution::Ended((at, outcome)),
                })
            });
            let goes_on = matches!(ran, Ok(Execution::Ended(_)));
            if !each(ran) || !goes_on {
                return;
            }
        }
    }

    /// A JVM that takes one plan after the other.
    fn start_for(&self, world: World) -> Result<LiveJvm, RunnerError> {
        match world.isolation() {
            Isolation::None => self.start_plain(),
            isolation => self.start_unused(Watching::ToIsolate(isolation)),
        }
    }

    fn run_class(
        &self,
        class: &WholeClass,
        jvm_number: usize,
        isolation: Isolation,
        jvm: &mut LiveJvm,
    ) -> Result<(ClassOutcome, Followed), RunnerError> {
        let mut lines = class.lines.clone();
        if isolation != Isolation::None {
            lines.push("!isolated".to_owned());
        }
        jvm.give(&self.context.plan(&lines));
        let mut outcome =
            ClassOutcome { class: class.name.clone(), jvm: jvm_number, tests: Vec::new(), left_behind: None };
        let mut open = None;
        let followed = self.follow_frames(jvm, self.limits.per_test, |frame| match frame {
            WorkerFrame::Started { id } => open = Some(id),
            WorkerFrame::Ended { id, status, nanos, message } => {
                open = None;
                outcome.tests.push(TestOutcome { id, verdict: Verdict { status: status_of(status), nanos, message } });
            }
            _ => {}
        })?;
        let cause = match &followed {
            Followed::PlanOver | Followed::Done | Followed::OutOfTime => None,
            Followed::NotRestorable(reason) => {
                outcome.left_behind = Some(reason.clone());
                None
            }
            Followed::Died(ending) => Some((Status::Died, ending.clone())),
            Followed::Hung(message) => Some((Status::TimedOut, message.clone())),
        };
        if let Some((status, message)) = cause {
            let id = open.unwrap_or_else(|| class.name.clone());
            outcome.tests.push(TestOutcome { id, verdict: Verdict { status, nanos: 0, message } });
        }
        Ok((outcome, followed))
    }
}
