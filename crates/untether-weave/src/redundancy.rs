//! Which probes are needed: one that always runs after the same probe of the same value is not.
//!
//! Requests are collected in the order of the code. A forward analysis over basic blocks then finds
//! what has been probed on every way to a block. Only values that are the same everywhere in the method
//! are carried from block to block, and nothing is carried into loops or handlers or over a call that
//! may wait or run tests: tests come and go meanwhile, and what follows must be probed again.

use std::collections::HashSet;

use untether_classfile::{Code, CodeEditor, Instruction, Result, opcode};

use crate::values::Value;

/// Larger methods keep all their probes: the sets of the analysis grow with blocks times probes.
const MOST_BLOCKS: usize = 1000;

/// What a probe is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) receiver: Value,
    pub(crate) slot: u32,
    pub(crate) is_write: bool,
    /// The receiver is the same value in every block.
    pub(crate) is_stable: bool,
}

#[derive(Debug)]
enum Edit {
    Before(Vec<u8>),
    After(Vec<u8>),
    /// Nothing is inserted, but whatever was probed before counts no longer.
    Barrier,
}

#[derive(Debug)]
struct Request {
    block: usize,
    pc: u32,
    key: Option<Key>,
    edit: Edit,
}

#[derive(Debug, Default)]
struct Block {
    /// Blocks from which control can come here, by number.
    predecessors: Vec<usize>,
    /// Control comes from elsewhere as well: the method's start, a handler, a backward jump.
    is_entry: bool,
}

/// The probes that a method asks for.
#[derive(Debug)]
pub(crate) struct Requests {
    /// The number of the block that starts at a pc, plus one.
    starts: Vec<u32>,
    blocks: Vec<Block>,
    current: usize,
    requests: Vec<Request>,
}

impl Requests {
    pub(crate) fn new(code: &Code<'_>) -> Result<Self> {
        let instructions = code.instructions().collect::<Result<Vec<_>>>()?;
        let mut starts = vec![0u32; code.bytes.len() + 1];
        let mark = |starts: &mut Vec<u32>, pc: i64| {
            if let Some(slot) = usize::try_from(pc).ok().and_then(|pc| starts.get_mut(pc)) {
                *slot = 1;
            }
        };
        mark(&mut starts, 0);
        for instruction in &instructions {
            instruction.targets(|pc| mark(&mut starts, pc));
            if ends(instruction) || instruction.is_branch() {
                mark(&mut starts, i64::from(instruction.pc) + instruction.bytes.len() as i64);
            }
        }
        for entry in &code.exceptions {
            mark(&mut starts, entry.handler.into());
        }
        let mut count = 0;
        for start in starts.iter_mut().filter(|start| **start != 0) {
            count += 1;
            *start = count;
        }
        let mut requests = Requests { starts, blocks: Vec::new(), current: 0, requests: Vec::new() };
        requests.blocks.resize_with(count as usize, Block::default);
        requests.connect(code, &instructions);
        Ok(requests)
    }

    fn connect(&mut self, code: &Code<'_>, instructions: &[Instruction<'_>]) {
        let mut current = 0;
        self.blocks[0].is_entry = true;
        for (index, instruction) in instructions.iter().enumerate() {
            current = self.block_at(instruction.pc).unwrap_or(current);
            instruction.targets(|pc| {
                let Some(target) = u32::try_from(pc).ok().and_then(|pc| self.block_at(pc)) else { return };
                self.blocks[target].predecessors.push(current);
                self.blocks[target].is_entry |= pc <= i64::from(instruction.pc);
            });
            let next = instructions.get(index + 1).and_then(|next| self.block_at(next.pc));
            if let Some(next) = next {
                if !ends(instruction) {
                    self.blocks[next].predecessors.push(current);
                } else if matches!(instruction.opcode, opcode::JSR | opcode::JSR_W) {
                    self.blocks[next].is_entry = true;
                }
            }
        }
        for entry in &code.exceptions {
            if let Some(handler) = self.block_at(entry.handler.into()) {
                self.blocks[handler].is_entry = true;
            }
        }
    }

    fn block_at(&self, pc: u32) -> Option<usize> {
        let number = self.starts.get(pc as usize).copied().unwrap_or(0) as usize;
        number.checked_sub(1)
    }

    /// Moves to the block that starts here, if one does and values may differ from the one before.
    pub(crate) fn starts_block(&mut self, pc: u32) -> bool {
        let Some(block) = self.block_at(pc) else { return false };
        let previous = self.current;
        self.current = block;
        // A block that only the one before falls into sees the same values.
        self.blocks[block].is_entry || self.blocks[block].predecessors != [previous]
    }

    /// Whether control leaves here for good, so that what follows knows nothing.
    pub(crate) fn ends_block(&self, instruction: &Instruction<'_>) -> bool {
        ends(instruction)
    }

    pub(crate) fn add(&mut self, pc: u32, key: Option<Key>, bytes: Vec<u8>, is_after: bool) {
        let edit = if is_after { Edit::After(bytes) } else { Edit::Before(bytes) };
        self.requests.push(Request { block: self.current, pc, key, edit });
    }

    /// Another test may be running after this instruction.
    pub(crate) fn add_barrier(&mut self, pc: u32) {
        self.requests.push(Request { block: self.current, pc, key: None, edit: Edit::Barrier });
    }

    /// Inserts what no earlier probe makes redundant.
    pub(crate) fn insert_needed(&self, editor: &mut CodeEditor<'_, '_>) {
        let available = self.available();
        let mut done: HashSet<Key> = HashSet::new();
        let mut block = usize::MAX;
        for request in &self.requests {
            if request.block != block {
                block = request.block;
                done.clone_from(&available[block]);
            }
            if let Some(key) = request.key {
                let covering = Key { is_write: true, ..key };
                if done.contains(&key) || done.contains(&covering) {
                    continue;
                }
                done.insert(key);
            }
            match &request.edit {
                Edit::Before(bytes) => editor.before(request.pc, bytes),
                Edit::After(bytes) => editor.after(request.pc, bytes),
                Edit::Barrier => done.clear(),
            }
        }
    }

    /// For each block, what was probed on every way to it.
    fn available(&self) -> Vec<HashSet<Key>> {
        let mut made: Vec<HashSet<Key>> = vec![HashSet::new(); self.blocks.len()];
        if self.blocks.len() > MOST_BLOCKS {
            return made;
        }
        let mut is_barrier = vec![false; self.blocks.len()];
        for request in &self.requests {
            if matches!(request.edit, Edit::Barrier) {
                made[request.block].clear();
                is_barrier[request.block] = true;
            } else if let Some(key) = request.key.filter(|key| key.is_stable) {
                made[request.block].insert(key);
            }
        }
        // Without backward edges (their targets are entries), one pass in the order of the code suffices.
        let mut at_end: Vec<HashSet<Key>> = Vec::with_capacity(self.blocks.len());
        let mut at_start = Vec::with_capacity(self.blocks.len());
        for (number, block) in self.blocks.iter().enumerate() {
            let mut known = HashSet::new();
            if !block.is_entry
                && let Some((first, rest)) = block.predecessors.split_first()
                && block.predecessors.iter().all(|&before| before < number)
            {
                known.clone_from(&at_end[*first]);
                known.retain(|key| rest.iter().all(|&before| at_end[before].contains(key)));
            }
            let mut end = if is_barrier[number] { HashSet::new() } else { known.clone() };
            end.extend(made[number].iter().copied());
            at_start.push(known);
            at_end.push(end);
        }
        at_start
    }
}

/// Whether control does not simply go on to the next instruction.
fn ends(instruction: &Instruction<'_>) -> bool {
    instruction.ends_block() || matches!(instruction.opcode, opcode::JSR | opcode::JSR_W)
}
