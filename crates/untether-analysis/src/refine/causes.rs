//! Through which fields a finding comes about, by experiment: between the tests to blame and the one that differs,
//! some fields are put back, and the outcome is looked at again.
//!
//! For a victim the cause is the fewest fields that, put back, heal it; for a brittle test the fewest that, left as its
//! setters made them while all others are put back, are enough for it. Where putting everything back changes nothing,
//! the cause lies outside of what is watched.

use std::collections::BTreeMap;

use untether_model::{Cause, Certainty, Channel, Finding, PutBack, Role, Status, Trial, Tried};

use crate::refine::ddmin::minimise;
use crate::refine::diagnose::{is_of_disturbed, status_of};
use crate::refine::{Phase, Session, Stopped};

/// Fields that are tried one by one in the first round, and at most.
const FEW: usize = 6;
const MOST_SINGLES: usize = 120;

/// Channels that a finding keeps.
const MOST_CHANNELS: usize = 8;

impl Session<'_, '_> {
    /// Proves the causes of the findings from this one on, as far as that can be done.
    pub(crate) fn prove_causes(&mut self, from: usize) -> Result<(), Stopped> {
        let mut changed: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        let lists: std::collections::BTreeSet<Vec<String>> =
            self.findings[from..].iter().map(|finding| finding.others().to_vec()).collect();
        let questions: Vec<Trial> = lists
            .iter()
            .map(|before| Trial { before: before.clone(), put_back: PutBack::Nothing, last: None })
            .collect();
        for (list, tried) in lists.into_iter().zip(self.try_all(&questions)?) {
            if let Some(Tried::Changed(fields)) = tried {
                changed.insert(list, fields);
            }
        }
        for number in from..self.findings.len() {
            self.progress(Phase::Causes { left: self.findings.len() - number });
            let finding = self.findings[number].clone();
            let cause = match changed.get(finding.others()) {
                // It lies between the setters and the test, and what comes between undoes what the setters did.
                _ if is_of_disturbed(&finding) => self.cause_of_setters(&finding),
                Some(fields) => self.prove(&finding, fields)?,
                None => None,
            };
            let kept = &mut self.findings[number];
            if let Some(cause) = cause {
                kept.cause = cause;
            }
            arrange(kept);
        }
        Ok(())
    }

    fn cause_of_setters(&self, finding: &Finding) -> Option<Cause> {
        let is_brittle = |other: &&Finding| other.role == Role::Brittle && other.test == finding.test;
        let brittle = self.findings.iter().find(is_brittle)?;
        Some(Cause { certainty: Certainty::Likely, fields: brittle.cause.fields.clone() })
    }

    /// The cause, where the finding shows at all in JVMs that are put back.
    fn prove(&mut self, finding: &Finding, changed: &[String]) -> Result<Option<Cause>, Stopped> {
        let fields = self.ranked(finding, changed);
        let (few, more) = fields.split_at(fields.len().min(FEW));
        let mut first = vec![PutBack::Nothing, everything(finding, &fields)];
        first.extend(few.iter().map(|field| this(finding, &[field.clone()])));
        let found = self.outcomes(finding, &first)?;
        let (with, without) = after_others(finding);
        if found[0] != Some(with) || found[1].is_none() {
            return Ok(None);
        }
        if found[1] != Some(without) {
            return Ok(Some(Cause { certainty: Certainty::Outside, fields: Vec::new() }));
        }
        let wanted = wanted(finding);
        let proven = |fields: Vec<String>| Some(Cause { certainty: Certainty::Proven, fields });
        if let Some(hit) = found[2..].iter().position(|status| *status == Some(wanted)) {
            return Ok(proven(vec![few[hit].clone()]));
        }
        let more = &more[..more.len().min(MOST_SINGLES)];
        let rest: Vec<PutBack> = more.iter().map(|field| this(finding, std::slice::from_ref(field))).collect();
        let found = self.outcomes(finding, &rest)?;
        if let Some(hit) = found.iter().position(|status| *status == Some(wanted)) {
            return Ok(proven(vec![more[hit].clone()]));
        }
        // Likely fields stand last, where minimising keeps them by preference.
        let all: Vec<String> = fields.into_iter().rev().collect();
        let mut fewest = minimise(all, |trials| {
            let trials: Vec<PutBack> = trials.iter().map(|fields| this(finding, fields)).collect();
            let found = self.outcomes(finding, &trials)?;
            Ok::<_, Stopped>(found.into_iter().map(|status| status == Some(wanted)).collect())
        })?;
        fewest.reverse();
        Ok(if fewest.is_empty() { None } else { proven(fewest) })
    }

    /// What the finding's test comes to with each of these put back after the others.
    pub(crate) fn outcomes(&mut self, finding: &Finding, put_back: &[PutBack]) -> Result<Vec<Option<Status>>, Stopped> {
        let trial = |put_back: &PutBack| Trial {
            before: finding.others().to_vec(),
            put_back: put_back.clone(),
            last: Some(finding.test.clone()),
        };
        let trials: Vec<Trial> = put_back.iter().map(trial).collect();
        Ok(self.try_all(&trials)?.into_iter().map(status_of).collect())
    }

    /// The changed fields, likely causes first: where the tests were seen to meet, the project's own before others.
    fn ranked(&self, finding: &Finding, changed: &[String]) -> Vec<String> {
        let mut fields: Vec<(bool, usize, usize, &String)> = changed
            .iter()
            .map(|field| {
                let met = finding.resources.iter().position(|channel| &channel.field == field);
                let at = met.unwrap_or(usize::MAX);
                (met.is_none(), self.evidence.remoteness(field), at, field)
            })
            .collect();
        fields.sort_by(|a, b| {
            let key = |entry: &(bool, usize, usize, &String)| (entry.1, entry.0, entry.2);
            key(a).cmp(&key(b)).then_with(|| a.3.cmp(b.3))
        });
        fields.into_iter().map(|(.., field)| field.clone()).collect()
    }
}

/// What the test comes to after the others, and without what they did.
fn after_others(finding: &Finding) -> (Status, Status) {
    match finding.role {
        Role::Brittle => (finding.outcome.counter, finding.outcome.violated),
        Role::Victim => (finding.outcome.violated, finding.outcome.counter),
    }
}

/// The outcome that an experiment with the right fields has.
fn wanted(finding: &Finding) -> Status {
    finding.outcome.counter
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
        finding.resources.clear();
        return;
    }
    let fields = &finding.cause.fields;
    let is_bare = |channel: &Channel| channel.write.is_empty() || channel.read.is_empty();
    finding.resources.sort_by_key(|channel| {
        let rank = fields.iter().position(|field| field == &channel.field).unwrap_or(fields.len());
        (rank, rank == fields.len() && is_bare(channel))
    });
    if finding.cause.certainty == Certainty::Proven {
        finding.resources.retain(|channel| fields.contains(&channel.field));
    } else {
        finding.cause.fields = finding.resources.first().map(|channel| channel.field.clone()).into_iter().collect();
    }
    finding.resources.truncate(MOST_CHANNELS);
}
