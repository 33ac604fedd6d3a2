// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where in an array each cached object stands: what a heap and a set to draw from both have to know.

const OUT: u32 = u32::MAX;

/// 12 bytes; a size has 48 bits, as everywhere.
#[derive(Clone, Copy)]
struct Object {
    at: u32,
    size_low: u32,
    size_high: u16,
}

impl Object {
    #[inline]
    fn of(at: u32, size: u64) -> Self {
        Object { at, size_low: size as u32, size_high: (size >> 32) as u16 }
    }

    #[inline]
    fn size(&self) -> u64 {
        u64::from(self.size_high) << 32 | u64::from(self.size_low)
    }
}

/// The places of the cached objects, and their weights.
#[derive(Default)]
pub struct Places {
    objects: Vec<Object>,
    used: u64,
}

impl Places {
    /// Memory per object.
    pub const BYTES_PER_OBJECT: usize = std::mem::size_of::<Object>();

    /// Makes room for ids below `ids`.
    pub fn ensure_ids(&mut self, ids: u32) {
        if ids as usize > self.objects.len() {
            self.objects.resize(ids as usize, Object::of(OUT, 0));
        }
    }

    /// Whether it is cached.
    #[inline]
    pub fn contains(&self, id: u32) -> bool {
        self.objects.get(id as usize).is_some_and(|object| object.at != OUT)
    }

    /// Weight of all that are.
    #[inline]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Weight of one that is.
    #[inline]
    pub fn size(&self, id: u32) -> u64 {
        self.objects[id as usize].size()
    }

    /// Place of one that is.
    #[inline]
    pub fn at(&self, id: u32) -> usize {
        self.objects[id as usize].at as usize
    }

    /// Adds one that is not cached.
    #[inline]
    pub fn insert(&mut self, id: u32, size: u64, at: usize) {
        self.objects[id as usize] = Object::of(at as u32, size);
        self.used += size;
    }

    /// Says that one that is cached stands elsewhere now.
    #[inline]
    pub fn set(&mut self, id: u32, at: usize) {
        self.objects[id as usize].at = at as u32;
    }

    /// Takes out one that is cached, and says where it stood.
    #[inline]
    pub fn remove(&mut self, id: u32) -> usize {
        let object = &mut self.objects[id as usize];
        self.used -= object.size();
        std::mem::replace(&mut object.at, OUT) as usize
    }
}
