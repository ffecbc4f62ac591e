//! Who acts in a trace: on whose behalf, and who belongs together.

use std::collections::HashMap;

use untether_model::{ActorKind, Trace, Unit, UnitKind};

pub(crate) struct Actors<'t> {
    trace: &'t Trace,
    /// The unit of each test or class actor.
    unit_of: HashMap<u32, u32>,
}

impl<'t> Actors<'t> {
    /// With the units that stand for tests and classes.
    pub(crate) fn of(trace: &'t Trace) -> (Self, Vec<Unit>) {
        let mut units = Vec::new();
        let mut unit_of = HashMap::new();
        for (number, actor) in trace.actors.iter().enumerate().skip(1) {
            let kind = match actor.kind {
                ActorKind::Test => UnitKind::Test,
                ActorKind::Class => UnitKind::Class,
                ActorKind::Outside | ActorKind::Initializer => continue,
            };
            unit_of.insert(number as u32, units.len() as u32);
            units.push(Unit {
                kind,
                name: actor.name.clone(),
                display_name: actor.detail.clone(),
                outcome: actor.outcome.clone(),
            });
        }
        (Actors { trace, unit_of }, units)
    }

    /// The unit of a test or a class.
    pub(crate) fn unit(&self, actor: u32) -> Option<u32> {
        self.unit_of.get(&actor).copied()
    }

    pub(crate) fn kind(&self, actor: u32) -> ActorKind {
        self.trace.actors.get(actor as usize).map_or(ActorKind::Outside, |a| a.kind)
    }

    pub(crate) fn parent(&self, actor: u32) -> u32 {
        self.trace.actors.get(actor as usize).map_or(0, |a| a.parent)
    }

    /// The test or fixture on whose behalf `actor` acts.
    pub(crate) fn beneficiary(&self, mut actor: u32) -> Option<u32> {
        while self.kind(actor) == ActorKind::Initializer {
            actor = self.parent(actor);
        }
        self.unit_of.contains_key(&actor).then_some(actor)
    }

    /// A class's fixtures and its tests do not depend on each other: they run together.
    pub(crate) fn are_family(&self, one: u32, other: u32) -> bool {
        one == other || self.is_fixture_of(one, other) || self.is_fixture_of(other, one)
    }

    fn is_fixture_of(&self, class: u32, unit: u32) -> bool {
        if self.kind(class) != ActorKind::Class {
            return false;
        }
        let mut at = self.parent(unit);
        while at != 0 {
            if at == class {
                return true;
            }
            at = self.parent(at);
        }
        false
    }

    /// The outermost class in whose run the actor acts.
    pub(crate) fn class_run(&self, mut actor: u32) -> u32 {
        let mut found = 0;
        while actor != 0 {
            if self.kind(actor) == ActorKind::Class {
                found = actor;
            }
            actor = self.parent(actor);
        }
        found
    }
}
