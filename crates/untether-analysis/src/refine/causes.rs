//! Through which fields a finding comes about, by experiment: between the tests to blame and the one that differs,
//! some fields are put back, and the outcome is looked at again.
//!
//! For a victim the cause is the fewest fields that, put back, heal it; for a brittle test the fewest that, left as its
//! setters made them while all others are put back, are enough for it. Where putting everything back changes nothing,
//! the cause lies outside of what is watched.
//!
//! That is tried in JVMs that are put back, as it takes many experiments. Of tests that come to something else there, or
//! where JVMs cannot be put back, each experiment has a JVM of its own, and so there are few of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use untether_model::{
    Cause, Certainty, Channel, Finding, PutBack, Role, Status, Trial, Tried, Verdict, World, class_of, outermost,
};

use crate::refine::ddmin::minimise;
use crate::refine::diagnose::{is_alike, is_of_disturbed, verdict_of};
use crate::refine::evidence::NEAR;
use crate::refine::{Phase, Session, Stopped};

/// Fields that are tried one by one in the first round, and at most, in JVMs that answer many questions and in those that
/// answer one.
const FEW: usize = 6;
const FEW_COLD: usize = 1;
const MOST_SINGLES: usize = 120;
const MOST_COLD_SINGLES: usize = 16;

/// Of those after the first round, so many at once in JVMs that answer one question.
const COLD_AT_ONCE: usize = 3;

/// Fields among which the fewest are looked for in JVMs of their own.
const MOST_COLD_FIELDS: usize = 24;

/// Channels that a finding keeps.
const MOST_CHANNELS: usize = 8;

/// Where and how experiments are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// For findings whose other tests change fields of the project's own, or what programs set in the JDK.
    Near,
    /// The test has run once before: what its class needs, a context say, is there, and so it is not the others who made it.
    Prepared,
    /// For the others.
    Remote,
    Cold,
}

impl Setting {
    fn world(self) -> World {
        if self == Setting::Cold { World::Cold } else { World::Warm }
    }

    /// How many of the likeliest fields are tried at first.
    fn few(self) -> usize {
        if self == Setting::Cold { FEW_COLD } else { FEW }
    }
}

/// A finding whose cause is looked for.
struct Open {
    /// Into the findings.
    number: usize,
    finding: Finding,
    /// What all experiments about it have in common.
    trial: Trial,
    /// The fields that its other tests changed, likely causes first.
    fields: Vec<String>,
    /// Whether the tests were seen to meet in the project's own state.
    has_near_channel: bool,
}

impl Session<'_, '_> {
    /// Proves the causes of the findings from this one on, as far as that can be done. All are asked about at once, as
    /// one JVM can answer many questions.
    pub(crate) fn prove_causes(&mut self, from: usize) -> Result<(), Stopped> {
        let settings = [Setting::Near, Setting::Prepared, Setting::Remote, Setting::Cold];
        let proved = settings.into_iter().try_for_each(|setting| self.prove_in(setting, from));
        for number in from..self.findings.len() {
            let finding = &self.findings[number];
            if is_of_disturbed(finding) && finding.cause.certainty == Certainty::Likely {
                self.take_cause_of_setters(number);
            }
            arrange(&mut self.findings[number]);
        }
        proved
    }

    fn prove_in(&mut self, setting: Setting, from: usize) -> Result<(), Stopped> {
        let mut open = self.changed_fields(setting, from)?;
        if open.is_empty() {
            return Ok(());
        }
        self.progress(Phase::Causes { left: open.len() });
        self.try_likely(setting, &mut open)?;
        self.try_singly(setting, &mut open)?;
        // In a prepared JVM, a single field is looked for; in cold ones, each experiment costs a JVM.
        let most = match setting {
            Setting::Near | Setting::Remote => usize::MAX,
            Setting::Prepared => 0,
            Setting::Cold => MOST_COLD_FIELDS,
        };
        open.retain(|one| one.fields.len() <= most);
        for left in (1..=open.len()).rev() {
            self.progress(Phase::Causes { left });
            let one = &open[left - 1];
            let fields = self.fewest_fields(one)?;
            if !fields.is_empty() {
                self.findings[one.number].cause = Cause { certainty: Certainty::Proven, fields };
            }
        }
        Ok(())
    }

    fn take_cause_of_setters(&mut self, number: usize) {
        let test = &self.findings[number].test;
        let brittle = self.findings.iter().find(|other| other.role == Role::Brittle && &other.test == test);
        if let Some(fields) = brittle.map(|brittle| brittle.cause.fields.clone()) {
            self.findings[number].cause = Cause { certainty: Certainty::Likely, fields };
        }
    }

    /// Whether experiments in this setting can tell more about the finding than is known.
    fn is_asked(&self, setting: Setting, finding: &Finding) -> bool {
        // What a test comes to in a JVM that is put back proves nothing where it is not to be trusted.
        let is_trusted = self.evidence.test(&finding.test).is_some_and(|test| self.is_trusted(test));
        let is_open = finding.cause.certainty == Certainty::Likely;
        match setting {
            Setting::Near | Setting::Remote => is_trusted && is_open,
            // The context that a framework keeps is less of an answer than what the project's own code keeps in it.
            Setting::Prepared => {
                let is_remote = |field: &String| self.evidence.remoteness(field) > NEAR;
                let is_remote = is_open || finding.cause.fields.iter().any(is_remote);
                let is_apart = finding.others().iter().all(|other| !is_in_one_run(other, &finding.test));
                is_trusted && is_remote && is_apart && finding.role == Role::Victim && !is_of_disturbed(finding)
            }
            Setting::Cold => is_open,
        }
    }

    /// What the tests of each finding change.
    fn changed_fields(&mut self, setting: Setting, from: usize) -> Result<Vec<Open>, Stopped> {
        let asked: Vec<usize> =
            (from..self.findings.len()).filter(|&number| self.is_asked(setting, &self.findings[number])).collect();
        let open: Vec<(usize, Trial)> = asked
            .into_iter()
            .filter_map(|number| Some((number, trial_about(&self.findings[number], setting)?)))
            .collect();
        // Which fields differ depends on the test itself only where its class's fixtures have run before the others.
        let question = |trial: &Trial| {
            let is_within = trial.before.last().is_some_and(|other| is_in_one_run(other, &trial.last));
            let last = if is_within { trial.last.clone() } else { String::new() };
            Trial { put_back: PutBack::Ask, last, ..trial.clone() }
        };
        let mut trials: Vec<Trial> = open.iter().map(|(_, trial)| question(trial)).collect();
        let mut seen = HashSet::new();
        trials.retain(|trial| seen.insert(trial.clone()));
        let mut changed: HashMap<Trial, Vec<String>> = HashMap::new();
        let tried = self.try_all(&trials)?;
        for (trial, tried) in trials.into_iter().zip(tried) {
            if let Some(Tried::Changed(fields)) = tried {
                changed.insert(trial, fields);
            }
        }
        let known = |(number, trial): (usize, Trial)| {
            let finding = self.findings[number].clone();
            let mut fields = self.ranked(&finding, changed.get(&question(&trial))?);
            let remoteness = |field: &String| self.evidence.remoteness(field);
            if setting == Setting::Prepared {
                fields.retain(|field| remoteness(field) == 0);
            }
            let is_meant = match setting {
                Setting::Near => fields.first().is_none_or(|field| remoteness(field) <= NEAR),
                Setting::Prepared => !fields.is_empty(),
                Setting::Remote | Setting::Cold => true,
            };
            let has_near_channel = finding.resources.iter().any(|channel| remoteness(&channel.field) <= NEAR);
            is_meant.then_some(Open { number, finding, trial, fields, has_near_channel })
        };
        Ok(open.into_iter().filter_map(known).collect())
    }

    /// Nothing put back, everything, and the likeliest fields one by one. Keeps those that are still open.
    fn try_likely(&mut self, setting: Setting, open: &mut Vec<Open>) -> Result<(), Stopped> {
        let questions: Vec<(usize, PutBack)> = open
            .iter()
            .enumerate()
            .flat_map(|(at, one)| {
                let few =
                    one.fields.iter().take(setting.few()).map(|field| this(&one.finding, std::slice::from_ref(field)));
                let both = [PutBack::Nothing, everything(&one.finding, &one.fields)];
                both.into_iter().chain(few).map(move |put_back| (at, put_back)).collect::<Vec<_>>()
            })
            .collect();
        let answers = self.outcomes(open, &questions)?;
        let mut is_open = vec![false; open.len()];
        for (at, one) in open.iter().enumerate() {
            let found: Vec<Option<Verdict>> = questions
                .iter()
                .zip(&answers)
                .filter(|((of, _), _)| *of == at)
                .map(|(_, found)| found.clone())
                .collect();
            let (with, without) = after_others(&one.finding);
            let cause = &mut self.findings[one.number].cause;
            let [Some(nothing), Some(everything), few @ ..] = &found[..] else { continue };
            // Who fails there for another reason may do so because of other fields.
            let failed = if one.finding.role == Role::Victim { nothing } else { everything };
            let is_same = failed.status != one.finding.outcome.violated
                || is_alike(&failed.message, &one.finding.outcome.message);
            if nothing.status != with || !is_same {
                // It does not show in such a JVM.
                continue;
            }
            // Where a brittle test passes without anything that its setters did, to keep a field of it shows nothing.
            let can_tell = everything.status == without || one.finding.role == Role::Victim;
            let hit = few.iter().position(|found| shows(found.as_ref(), &one.finding)).filter(|_| can_tell);
            if let Some(hit) = hit {
                *cause = proven(&one.fields[hit]);
            } else if everything.status == without {
                is_open[at] = true;
            } else if !is_of_disturbed(&one.finding)
                && setting != Setting::Prepared
                && (setting != Setting::Cold || !one.has_near_channel)
            {
                // In a cold JVM, what initializers computed from the state is not put back: that may be the reason. And
                // what a disturber took away, a thread local say, may be what could not be put back.
                *cause = Cause { certainty: Certainty::Outside, fields: Vec::new() };
            }
        }
        let mut is_open = is_open.into_iter();
        open.retain(|_| is_open.next() == Some(true));
        Ok(())
    }

    /// All other fields one by one: at once where one JVM answers many questions, else a few of each finding at a time.
    fn try_singly(&mut self, setting: Setting, open: &mut Vec<Open>) -> Result<(), Stopped> {
        let (most, at_once) = match setting {
            Setting::Cold => (MOST_COLD_SINGLES, COLD_AT_ONCE),
            _ => (setting.few() + MOST_SINGLES, MOST_SINGLES),
        };
        for from in (setting.few()..most).step_by(at_once) {
            self.try_some_singly(from..(from + at_once).min(most), open)?;
        }
        Ok(())
    }

    /// Those of the fields that stand at these places. Keeps the findings that are still open.
    fn try_some_singly(&mut self, places: Range<usize>, open: &mut Vec<Open>) -> Result<(), Stopped> {
        let mut asked: Vec<(usize, String)> = Vec::new();
        for (at, one) in open.iter().enumerate() {
            let some = one.fields.iter().take(places.end).skip(places.start);
            asked.extend(some.map(|field| (at, field.clone())));
        }
        let questions: Vec<(usize, PutBack)> =
            asked.iter().map(|(at, field)| (*at, this(&open[*at].finding, std::slice::from_ref(field)))).collect();
        let answers = self.outcomes(open, &questions)?;
        let mut hits: BTreeMap<usize, String> = BTreeMap::new();
        for ((at, field), found) in asked.into_iter().zip(answers) {
            if shows(found.as_ref(), &open[at].finding) {
                hits.entry(at).or_insert(field);
            }
        }
        for (&at, field) in &hits {
            self.findings[open[at].number].cause = proven(field);
        }
        let mut at = 0..;
        open.retain(|_| at.next().is_some_and(|at| !hits.contains_key(&at)));
        Ok(())
    }

    /// No field alone: the fewest that together decide it.
    fn fewest_fields(&mut self, one: &Open) -> Result<Vec<String>, Stopped> {
        // Likely fields stand last, where minimising keeps them by preference.
        let all: Vec<String> = one.fields.iter().rev().cloned().collect();
        let mut is_answered = true;
        let mut try_these = |session: &mut Self, lists: &[Vec<String>]| -> Result<Vec<bool>, Stopped> {
            let questions: Vec<(usize, PutBack)> = lists.iter().map(|fields| (0, this(&one.finding, fields))).collect();
            let found = session.outcomes(std::slice::from_ref(one), &questions)?;
            is_answered &= found.iter().all(Option::is_some);
            Ok(found.iter().map(|found| shows(found.as_ref(), &one.finding)).collect())
        };
        let mut fewest = minimise(all, |lists| try_these(self, lists))?;
        fewest.reverse();
        let holds = try_these(self, std::slice::from_ref(&fewest))?;
        Ok(if is_answered && holds == [true] { fewest } else { Vec::new() })
    }

    /// What the tests of findings come to with these fields put back after the others.
    fn outcomes(&mut self, open: &[Open], questions: &[(usize, PutBack)]) -> Result<Vec<Option<Verdict>>, Stopped> {
        let trials: Vec<Trial> = questions
            .iter()
            .map(|(at, put_back)| Trial { put_back: put_back.clone(), ..open[*at].trial.clone() })
            .collect();
        Ok(self.try_all(&trials)?.into_iter().map(verdict_of).collect())
    }

    /// The changed fields, likely causes first: where the tests were seen to meet, the project's own before others.
    fn ranked(&self, finding: &Finding, changed: &[String]) -> Vec<String> {
        let is_known = |field: &String| {
            let is_cause =
                |other: &Finding| other.cause.certainty == Certainty::Proven && other.cause.fields == [field.clone()];
            self.findings.iter().any(|other| other.others() == finding.others() && is_cause(other))
        };
        let mut fields = changed.to_vec();
        fields.sort_by_cached_key(|field| {
            let met = finding.resources.iter().position(|channel| &channel.field == field);
            let at = met.unwrap_or(usize::MAX);
            (!is_known(field), self.evidence.remoteness(field), met.is_none(), at, field.clone())
        });
        fields
    }
}

fn is_in_one_run(one: &str, other: &str) -> bool {
    outermost(class_of(one)) == outermost(class_of(other))
}

/// The tests of the finding, with nothing put back. What comes between setters and their test undoes what the setters did,
/// so that is what may be put back.
fn trial_about(finding: &Finding, setting: Setting) -> Option<Trial> {
    let others = finding.others();
    let setters = if is_of_disturbed(finding) { finding.counter_schedule.split_last()?.1 } else { &[] };
    let before = others.strip_prefix(setters)?;
    let prelude = if setting == Setting::Prepared { vec![finding.test.clone()] } else { setters.to_vec() };
    let last = finding.test.clone();
    let put_back = PutBack::Nothing;
    Some(Trial { prelude, before: before.to_vec(), put_back, last, world: setting.world() })
}

/// Whether these fields were enough.
fn shows(found: Option<&Verdict>, finding: &Finding) -> bool {
    found.is_some_and(|verdict| verdict.status == finding.outcome.counter)
}

/// What the test comes to after the others, and without what they did.
fn after_others(finding: &Finding) -> (Status, Status) {
    match finding.role {
        Role::Brittle => (finding.outcome.counter, finding.outcome.violated),
        Role::Victim => (finding.outcome.violated, finding.outcome.counter),
    }
}

fn proven(field: &str) -> Cause {
    Cause { certainty: Certainty::Proven, fields: vec![field.to_owned()] }
}

/// The experiment that shows whether these fields are enough.
fn this(finding: &Finding, fields: &[String]) -> PutBack {
    match finding.role {
        Role::Brittle => PutBack::AllBut(fields.to_vec()),
        Role::Victim => PutBack::Only(fields.to_vec()),
    }
}

fn everything(finding: &Finding, fields: &[String]) -> PutBack {
    match finding.role {
        Role::Brittle => PutBack::AllBut(vec!["-".to_owned()]),
        Role::Victim => PutBack::Only(fields.to_vec()),
    }
}

/// The cause's channels come first; where the cause is outside of what is watched, there are none.
pub fn arrange(finding: &mut Finding) {
    if finding.cause.certainty == Certainty::Outside {
        // Of what cannot be put back, only what is no field is left.
        finding.resources.retain(|channel| channel.kind.is_outside_of_heap());
        let Some(first) = finding.resources.first() else { return };
        finding.cause.fields = vec![first.field.clone()];
        finding.cause.certainty = Certainty::Likely;
    }
    let fields = &finding.cause.fields;
    let is_bare = |channel: &Channel| channel.write.is_empty() || channel.read.is_empty();
    finding.resources.sort_by_key(|channel| {
        let rank = fields.iter().position(|field| field == &channel.field).unwrap_or(fields.len());
        (rank, rank == fields.len() && is_bare(channel))
    });
    if finding.cause.certainty == Certainty::Proven {
        finding.resources.retain(|channel| fields.contains(&channel.field));
    } else if finding.cause.fields.is_empty() {
        finding.cause.fields = finding.resources.first().map(|channel| channel.field.clone()).into_iter().collect();
    }
    finding.resources.truncate(MOST_CHANNELS);
}
