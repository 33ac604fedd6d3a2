// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Intrusive lists in one flat array, indexed by the object's dense number: no hashing and no allocation per request.

use super::MOST_BYTES;

/// Place of an object that is in no list.
pub const ABSENT: u8 = 0;

/// Index of an object's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// 16 bytes, so that a node lies in one cache line. So a size has 48 bits.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
struct Node {
    prev: u32,
    next: u32,
    size_low: u32,
    size_high: u16,
    place: u8,
    count: u8,
}

impl Node {
    #[inline(always)]
    fn size(&self) -> u64 {
        u64::from(self.size_high) << 32 | u64::from(self.size_low)
    }

    #[inline(always)]
    fn set_size(&mut self, size: u64) {
        debug_assert!(size <= MOST_BYTES);
        (self.size_low, self.size_high) = (size as u32, (size >> 32) as u16);
    }
}

/// `LISTS` circular lists over objects, each object in at most one of them. A list is numbered from 1; [`ABSENT`] is none.
///
/// The first `LISTS + 1` nodes are the lists' heads (number 0 is unused), so no operation has to look for an end. In a list,
/// the front is where objects come in, the back where they leave.
pub struct Table<const LISTS: usize> {
    nodes: Vec<Node>,
    weights: [u64; LISTS],
}

impl<const LISTS: usize> Default for Table<LISTS> {
    fn default() -> Self {
        let mut nodes = vec![Node::default(); LISTS + 1];
        for (head, node) in nodes.iter_mut().enumerate() {
            (node.prev, node.next) = (head as u32, head as u32);
        }
        Table { nodes, weights: [0; LISTS] }
    }
}

impl<const LISTS: usize> Table<LISTS> {
    /// Memory per object.
    pub const BYTES_PER_OBJECT: usize = std::mem::size_of::<Node>();

    /// Makes room for ids below `ids`.
    pub fn ensure_ids(&mut self, ids: u32) {
        let length = ids as usize + LISTS + 1;
        if length > self.nodes.len() {
            self.nodes.resize(length, Node::default());
        }
    }

    /// The node of an object.
    #[inline(always)]
    pub fn slot(id: u32) -> Slot {
        Slot(id + LISTS as u32 + 1)
    }

    /// The object of a node.
    #[inline(always)]
    pub fn id(slot: Slot) -> u32 {
        slot.0 - (LISTS as u32 + 1)
    }

    /// The list an object is in.
    #[inline(always)]
    pub fn place(&self, slot: Slot) -> u8 {
        self.nodes[slot.0 as usize].place
    }

    /// The list an object of that id is in; [`ABSENT`] for ids never announced.
    pub fn place_of(&self, id: u32) -> u8 {
        self.nodes.get(id as usize + LISTS + 1).map_or(ABSENT, |node| node.place)
    }

    /// The object's weight when it came in.
    #[inline(always)]
    pub fn size(&self, slot: Slot) -> u64 {
        self.nodes[slot.0 as usize].size()
    }

    /// A small number the policy keeps with the object.
    #[inline(always)]
    pub fn count(&self, slot: Slot) -> u8 {
        self.nodes[slot.0 as usize].count
    }

    /// Sets that number.
    #[inline(always)]
    pub fn set_count(&mut self, slot: Slot, count: u8) {
        self.nodes[slot.0 as usize].count = count;
    }

    /// Raises that number by one, up to `most`.
    #[inline(always)]
    pub fn count_hit(&mut self, slot: Slot, most: u8) {
        let count = &mut self.nodes[slot.0 as usize].count;
        *count = (*count + 1).min(most);
    }

    /// Moves an object to the front of a list of that capacity, from whose back the others spill over to the front of `spill`.
    #[inline(always)]
    pub fn promote(&mut self, list: u8, capacity: u64, slot: Slot, spill: u8) {
        self.move_to(list, slot);
        while self.weight(list) > capacity {
            let Some(last) = self.back(list) else { break };
            self.move_to(spill, last);
        }
    }

    /// Weight of a list.
    #[inline(always)]
    pub fn weight(&self, list: u8) -> u64 {
        self.weights[list as usize - 1]
    }

    /// The object at the back of a list.
    #[inline(always)]
    pub fn back(&self, list: u8) -> Option<Slot> {
        self.object(self.nodes[list as usize].prev)
    }

    /// The object before `slot`, towards the front.
    #[inline(always)]
    pub fn towards_front(&self, slot: Slot) -> Option<Slot> {
        self.object(self.nodes[slot.0 as usize].prev)
    }

    #[inline(always)]
    fn object(&self, index: u32) -> Option<Slot> {
        (index > LISTS as u32).then_some(Slot(index))
    }

    /// Puts an object that is in no list at the front of one.
    #[inline(always)]
    pub fn push_front(&mut self, list: u8, slot: Slot, size: u64) {
        self.weights[list as usize - 1] += size;
        self.nodes[slot.0 as usize].set_size(size);
        self.nodes[slot.0 as usize].place = list;
        self.link(list, slot);
    }

    #[inline(always)]
    fn link(&mut self, list: u8, slot: Slot) {
        let head = u32::from(list);
        let first = self.nodes[head as usize].next;
        let node = &mut self.nodes[slot.0 as usize];
        (node.prev, node.next) = (head, first);
        self.nodes[first as usize].prev = slot.0;
        self.nodes[head as usize].next = slot.0;
    }

    #[inline(always)]
    fn unlink(&mut self, slot: Slot) {
        let Node { prev, next, .. } = self.nodes[slot.0 as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
    }

    /// Takes an object out of its list.
    #[inline(always)]
    pub fn remove(&mut self, slot: Slot) {
        self.remove_from(self.place(slot), slot);
    }

    /// As [`Table::remove`], by a caller who knows the list: if that is a constant, no address has to be worked out.
    #[inline(always)]
    pub fn remove_from(&mut self, list: u8, slot: Slot) {
        debug_assert_eq!(self.place(slot), list);
        self.unlink(slot);
        let node = &mut self.nodes[slot.0 as usize];
        node.place = ABSENT;
        self.weights[list as usize - 1] -= node.size();
    }

    /// Moves an object to the front of its own list.
    #[inline(always)]
    pub fn refresh(&mut self, slot: Slot) {
        let list = self.place(slot);
        if self.nodes[list as usize].next != slot.0 {
            self.unlink(slot);
            self.link(list, slot);
        }
    }

    /// Moves an object to the front of a list.
    #[inline(always)]
    pub fn move_to(&mut self, list: u8, slot: Slot) {
        let size = self.size(slot);
        self.remove(slot);
        self.push_front(list, slot, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// More than 32 bits.
    const LARGE: u64 = (7 << 32) + 1;

    fn contents(table: &Table<2>, list: u8) -> Vec<u32> {
        std::iter::successors(table.back(list), |&slot| table.towards_front(slot)).map(Table::<2>::id).collect()
    }

    proptest! {
        #[test]
        fn lists_behave_as_queues(operations in prop::collection::vec((0..3u8, 0..12u32, 1..=2u8), 0..200)) {
            let mut table = Table::<2>::default();
            table.ensure_ids(12);
            let mut queues = [VecDeque::new(), VecDeque::new()];
            for (operation, id, list) in operations {
                let slot = Table::<2>::slot(id);
                let at = queues.iter().position(|q| q.contains(&id));
                prop_assert_eq!(table.place(slot), at.map_or(ABSENT, |at| at as u8 + 1));
                match (operation, at) {
                    (_, None) => {
                        table.push_front(list, slot, u64::from(id) + LARGE);
                        queues[list as usize - 1].push_back(id);
                    }
                    (0, Some(at)) => {
                        table.remove(slot);
                        queues[at].retain(|&x| x != id);
                    }
                    (1, Some(at)) => {
                        table.refresh(slot);
                        queues[at].retain(|&x| x != id);
                        queues[at].push_back(id);
                    }
                    (_, Some(at)) => {
                        table.move_to(list, slot);
                        queues[at].retain(|&x| x != id);
                        queues[list as usize - 1].push_back(id);
                    }
                }
                for list in 1..=2u8 {
                    let queue = &queues[list as usize - 1];
                    prop_assert_eq!(contents(&table, list), queue.iter().copied().collect::<Vec<_>>());
                    prop_assert_eq!(table.weight(list), queue.iter().map(|&id| u64::from(id) + LARGE).sum::<u64>());
                }
            }
        }
    }

    #[test]
    fn a_node_is_sixteen_bytes() {
        assert_eq!(Table::<1>::BYTES_PER_OBJECT, 16);
    }
}
