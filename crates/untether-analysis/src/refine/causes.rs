//! Through which fields a finding comes about, by experiment: between the tests to blame and the one that differs,
//! some fields are put back, and the outcome is looked at again.
//!
//! For a victim the cause is the fewest fields that, put back, heal it; for a brittle test the fewest that, left as its
//! setters made them while all others are put back, are enough for it. Where putting everything back changes nothing,
//! the cause lies outside of what is watched.

use std::collections::{BTreeMap, BTreeSet};

use untether_model::{Cause, Certainty, Channel, Finding, PutBack, Role, Status, Trial, Tried};

use crate::refine::ddmin::minimise;
use crate::refine::diagnose::{is_of_disturbed, status_of};
use crate::refine::{Phase, Session, Stopped};

/// Fields that are tried one by one in the first round, and at most.
const FEW: usize = 6;
const MOST_SINGLES: usize = 120;

/// Channels that a finding keeps.
const MOST_CHANNELS: usize = 8;

/// A finding whose cause is looked for.
struct Open {
    /// Into the findings.
    number: usize,
    finding: Finding,
    /// The fields that its other tests changed, likely causes first.
    fields: Vec<String>,
}

impl Session<'_, '_> {
    /// Proves the causes of the findings from this one on, as far as that can be done. All are asked about at once, as
    /// one JVM can answer many questions.
    pub(crate) fn prove_causes(&mut self, from: usize) -> Result<(), Stopped> {
        let mut open = self.changed_fields(from)?;
        self.progress(Phase::Causes { left: open.len() });
        self.try_likely(&mut open)?;
        self.try_singly(&mut open)?;
        for left in (1..=open.len()).rev() {
            self.progress(Phase::Causes { left });
            let one = &open[left - 1];
            let fields = self.fewest_fields(one)?;
            if !fields.is_empty() {
                self.findings[one.number].cause = Cause { certainty: Certainty::Proven, fields };
            }
        }
        for number in from..self.findings.len() {
            if is_of_disturbed(&self.findings[number]) {
                self.take_cause_of_setters(number);
            }
            arrange(&mut self.findings[number]);
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

    /// What the tests of each finding change. What comes between setters and their test undoes what the setters did.
    fn changed_fields(&mut self, from: usize) -> Result<Vec<Open>, Stopped> {
        let lists: BTreeSet<Vec<String>> =
            self.findings[from..].iter().map(|finding| finding.others().to_vec()).collect();
        let questions: Vec<Trial> = lists
            .iter()
            .map(|before| Trial { before: before.clone(), put_back: PutBack::Nothing, last: None })
            .collect();
        let mut changed: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for (list, tried) in lists.into_iter().zip(self.try_all(&questions)?) {
            if let Some(Tried::Changed(fields)) = tried {
                changed.insert(list, fields);
            }
        }
        let mut open = Vec::new();
        for number in from..self.findings.len() {
            let finding = self.findings[number].clone();
            // What a test comes to in a JVM that is put back proves nothing where it is not to be trusted.
            let is_trusted = self.evidence.test(&finding.test).is_some_and(|test| self.is_trusted(test));
            let fields = changed.get(finding.others()).filter(|_| is_trusted && !is_of_disturbed(&finding));
            if let Some(fields) = fields {
                open.push(Open { number, fields: self.ranked(&finding, fields), finding });
            }
        }
        Ok(open)
    }

    /// Nothing put back, everything, and the likeliest fields one by one. Keeps those that are still open.
    fn try_likely(&mut self, open: &mut Vec<Open>) -> Result<(), Stopped> {
        let questions: Vec<(usize, PutBack)> = open
            .iter()
            .enumerate()
            .flat_map(|(at, one)| {
                let few = one.fields.iter().take(FEW).map(|field| this(&one.finding, std::slice::from_ref(field)));
                let both = [PutBack::Nothing, everything(&one.finding, &one.fields)];
                both.into_iter().chain(few).map(move |put_back| (at, put_back)).collect::<Vec<_>>()
            })
            .collect();
        let answers = self.outcomes(open, &questions)?;
        let mut is_open = vec![false; open.len()];
        for (at, one) in open.iter().enumerate() {
            let found: Vec<Option<Status>> =
                questions.iter().zip(&answers).filter(|((of, _), _)| *of == at).map(|(_, status)| *status).collect();
            let (with, without) = after_others(&one.finding);
            let cause = &mut self.findings[one.number].cause;
            if found[0] != Some(with) || found[1].is_none() {
                // It does not show in a JVM that is put back.
                continue;
            }
            if found[1] != Some(without) {
                *cause = Cause { certainty: Certainty::Outside, fields: Vec::new() };
                continue;
            }
            match found[2..].iter().position(|status| *status == Some(one.finding.outcome.counter)) {
                Some(hit) => *cause = proven(&one.fields[hit]),
                None => is_open[at] = true,
            }
        }
        let mut is_open = is_open.into_iter();
        open.retain(|_| is_open.next() == Some(true));
        Ok(())
    }

    /// All other fields one by one.
    fn try_singly(&mut self, open: &mut Vec<Open>) -> Result<(), Stopped> {
        let single = |at: usize, one: &Open, field: &String| (at, this(&one.finding, std::slice::from_ref(field)));
        let questions: Vec<(usize, PutBack)> = open
            .iter()
            .enumerate()
            .flat_map(|(at, one)| {
                one.fields.iter().skip(FEW).take(MOST_SINGLES).map(|field| single(at, one, field)).collect::<Vec<_>>()
            })
            .collect();
        let answers = self.outcomes(open, &questions)?;
        let mut hits: BTreeMap<usize, usize> = BTreeMap::new();
        let mut position = BTreeMap::new();
        for ((at, _), status) in questions.iter().zip(answers) {
            let field = position.entry(*at).or_insert(FEW);
            if status == Some(open[*at].finding.outcome.counter) {
                hits.entry(*at).or_insert(*field);
            }
            *field += 1;
        }
        for (&at, &field) in &hits {
            self.findings[open[at].number].cause = proven(&open[at].fields[field]);
        }
        let mut at = 0..;
        open.retain(|_| at.next().is_some_and(|at| !hits.contains_key(&at)));
        Ok(())
    }

    /// No field alone: the fewest that together decide it.
    fn fewest_fields(&mut self, one: &Open) -> Result<Vec<String>, Stopped> {
        // Likely fields stand last, where minimising keeps them by preference.
        let all: Vec<String> = one.fields.iter().rev().cloned().collect();
        let wanted = Some(one.finding.outcome.counter);
        let mut fewest = minimise(all, |trials| {
            let questions: Vec<(usize, PutBack)> =
                trials.iter().map(|fields| (0, this(&one.finding, fields))).collect();
            let found = self.outcomes(std::slice::from_ref(one), &questions)?;
            Ok::<_, Stopped>(found.into_iter().map(|status| status == wanted).collect())
        })?;
        fewest.reverse();
        Ok(fewest)
    }

    /// What the tests of findings come to with these fields put back after the others.
    fn outcomes(&mut self, open: &[Open], questions: &[(usize, PutBack)]) -> Result<Vec<Option<Status>>, Stopped> {
        let trials: Vec<Trial> = questions
            .iter()
            .map(|(at, put_back)| Trial {
                before: open[*at].finding.others().to_vec(),
                put_back: put_back.clone(),
                last: Some(open[*at].finding.test.clone()),
            })
            .collect();
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
    } else if finding.cause.fields.is_empty() {
        finding.cause.fields = finding.resources.first().map(|channel| channel.field.clone()).into_iter().collect();
    }
    finding.resources.truncate(MOST_CHANNELS);
}
