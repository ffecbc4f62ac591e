//! Dependencies grouped by pair of tests, the best channel of each first.

use std::collections::{BTreeMap, HashMap};

use untether_analysis::dependencies;
use untether_model::{Dependency, DependencyKind, Detection, Labels, Resource, StackLine, Unit};

use crate::naming::Meant;
use crate::rank::{Rank, Ranker, is_property, is_property_table};
use crate::run::{Party, Run};

/// Which dependencies are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Query<'q> {
    pub kinds: &'q [DependencyKind],
    /// Between classes instead of between tests.
    pub is_class_level: bool,
    /// Only those between what this means and what `other` means, in either direction; all where it is none.
    pub one: Option<&'q Meant<'q>>,
    pub other: Option<&'q Meant<'q>>,
}

/// A resource between two tests.
#[derive(Debug, Clone, Copy)]
pub struct Channel {
    /// The detection, and in it the resource and stacks.
    pub(crate) jvm: usize,
    pub(crate) resource: u32,
    pub(crate) labels: Labels,
    pub(crate) write_stack: Option<u32>,
    pub(crate) read_stack: Option<u32>,
    pub(crate) rank: Rank,
}

/// `to` depends on `from` (data), must come before it (anti, with `from` the reader), or might (candidate).
#[derive(Debug, Clone)]
pub struct Pair {
    pub kind: DependencyKind,
    pub from: Party,
    pub to: Party,
    /// Best first; never empty.
    pub(crate) channels: Vec<Channel>,
}

impl Pair {
    /// Whether the tests meet in the project's own code.
    pub fn is_own(&self) -> bool {
        self.channels.first().is_some_and(|channel| channel.rank.standing.is_own())
    }

    /// The one that wrote and the one that read.
    pub fn writer_and_reader(&self) -> (Party, Party) {
        match self.kind {
            DependencyKind::Anti => (self.to, self.from),
            DependencyKind::Data | DependencyKind::Candidate => (self.from, self.to),
        }
    }
}

type PairKey = (DependencyKind, usize, Party, Party);

impl Run<'_> {
    /// In the order of the kinds, JVMs and readers.
    pub fn pairs(&self, query: &Query<'_>) -> Vec<Pair> {
        let mut grouped: BTreeMap<PairKey, HashMap<u32, Channel>> = BTreeMap::new();
        for (jvm, detection) in self.detections.iter().enumerate() {
            let module = self.module_of[jvm];
            let is_meant = |unit: &Unit, meant: Option<&Meant<'_>>| {
                meant.is_none_or(|meant| meant.holds(module, unit, query.is_class_level))
            };
            let mut ranker = Ranker::new(detection);
            let found = dependencies(
                detection,
                query.kinds,
                |unit| is_meant(unit, query.one),
                |unit| is_meant(unit, query.other),
            );
            for dependency in found {
                let from = self.party_of_unit(jvm, dependency.from, query.is_class_level);
                let to = self.party_of_unit(jvm, dependency.to, query.is_class_level);
                if from == to {
                    continue;
                }
                let channel = Channel::new(jvm, &dependency, ranker.rank(&dependency));
                let channels = grouped.entry((dependency.kind, jvm, to, from)).or_default();
                let best = channels.entry(dependency.resource).or_insert(channel);
                if channel.rank < best.rank {
                    *best = channel;
                }
            }
        }
        let pair = |((kind, _, to, from), channels): (PairKey, HashMap<u32, Channel>)| {
            let mut channels: Vec<Channel> = channels.into_values().collect();
            channels.sort_by_key(|channel| (channel.rank, channel.resource));
            Pair { kind, from, to, channels }
        };
        grouped.into_iter().map(pair).collect()
    }

    /// Where tests meet in own code, what they share in libraries is noise; and who reads one property goes through the
    /// table of all of them, which says nothing more.
    pub(crate) fn telling_channels<'p>(&self, pair: &'p Pair) -> impl Iterator<Item = &'p Channel> {
        let is_own = pair.is_own();
        let names_one = pair.channels.iter().any(|channel| is_property(self.resource(channel)));
        pair.channels.iter().filter(move |channel| {
            let is_noise = names_one && is_property_table(self.resource(channel));
            channel.rank.standing.is_own() == is_own && !is_noise
        })
    }

    pub(crate) fn detection(&self, channel: &Channel) -> &Detection {
        &self.detections[channel.jvm]
    }

    pub(crate) fn resource(&self, channel: &Channel) -> &Resource {
        self.detection(channel).resource(channel.resource)
    }

    pub(crate) fn write_lines(&self, channel: &Channel) -> &[StackLine] {
        self.detection(channel).stack(channel.write_stack)
    }

    pub(crate) fn read_lines(&self, channel: &Channel) -> &[StackLine] {
        self.detection(channel).stack(channel.read_stack)
    }

    /// What channels are grouped by: the field, or the one property.
    pub(crate) fn field(&self, channel: &Channel) -> &str {
        let resource = self.resource(channel);
        if is_property(resource) { &resource.name } else { &resource.field }
    }
}

impl Channel {
    fn new(jvm: usize, dependency: &Dependency, rank: Rank) -> Self {
        Channel {
            jvm,
            resource: dependency.resource,
            labels: dependency.labels,
            write_stack: dependency.write_stack,
            read_stack: dependency.read_stack,
            rank,
        }
    }
}
