//! Sets of input indices, immutable once made.
//!
//! A value of a program mostly depends on few inputs: up to [`INLINE`] indices are kept in the set
//! itself, and their unions are made in registers. Larger sets are stretches of one arena, in one of
//! two kinds. **Sorted** ones are rising lists of indices: best where a value depends on some inputs.
//! **Blocked** ones are lists of 64-input blocks with a bit mask each: best where it depends on many.
//!
//! A stretch that has grown beyond [`GROW`] entries gets a vector of its own, and a union that only
//! adds at its end extends that vector: older sets remain prefixes of it. So a sum over all inputs
//! costs the number of its terms, not its square.

/// How large index sets are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SetKind {
    /// Rising lists of indices.
    #[default]
    Sorted,
    /// Lists of blocks of 64 inputs with bit masks.
    Blocked,
}

/// How many indices fit into a set itself: one vector register.
const INLINE: usize = 8;

/// Behind the last index of a set that holds its indices itself.
const NOTHING: u32 = u32::MAX;

/// Stretches of more entries than this have a vector of their own.
const GROW: usize = 48;

/// In `len`: the entries are in the arena.
const ARENA: u32 = 1 << 31;

/// In the position of a stretch: it is a prefix of a vector of its own.
const GROWN: u32 = 1 << 31;

/// A set of indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Set {
    /// The indices, rising; or the position of the entries in the arena.
    words: [u32; INLINE],
    /// How many indices; or `ARENA` and how many entries.
    len: u32,
}

impl Set {
    pub(super) const EMPTY: Set = Set { words: [NOTHING; INLINE], len: 0 };

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(super) fn singleton(i: u32) -> Set {
        let mut set = Set::EMPTY;
        set.words[0] = i;
        set.len = 1;
        set
    }

    #[inline(always)]
    fn is_inline(&self) -> bool {
        self.len & ARENA == 0
    }

    #[inline(always)]
    fn indices(&self) -> &[u32] {
        &self.words[..(self.len as usize).min(INLINE)]
    }

    /// The number of entries in the arena.
    #[inline(always)]
    fn entries(&self) -> usize {
        (self.len & !ARENA) as usize
    }

    fn in_arena(position: u32, entries: usize) -> Set {
        let mut words = [NOTHING; INLINE];
        words[0] = position;
        Set { words, len: ARENA | entries as u32 }
    }

    /// The vector of its own, if it has one.
    fn grown(&self) -> Option<usize> {
        (!self.is_inline() && self.words[0] & GROWN != 0)
            .then_some((self.words[0] & !GROWN) as usize)
    }
}

/// Entries of sets: indices, or blocks and masks.
#[derive(Debug, Default)]
struct Entries {
    keys: Vec<u32>,
    /// Empty for sorted sets.
    masks: Vec<u64>,
}

impl Entries {
    fn clear(&mut self) {
        self.keys.clear();
        self.masks.clear();
    }
}

/// Entries of one set.
#[derive(Clone, Copy)]
struct View<'s> {
    keys: &'s [u32],
    masks: &'s [u64],
}

/// The large sets of one trace.
#[derive(Debug)]
pub(super) struct Sets {
    kind: SetKind,
    small: Entries,
    grown: Vec<Entries>,
    /// Room for a union.
    merged: Entries,
    /// Room for the entries of an operand that holds its indices itself.
    operand: Entries,
}

impl Sets {
    pub(super) fn new(kind: SetKind) -> Sets {
        Sets {
            kind,
            small: Entries::default(),
            grown: Vec::new(),
            merged: Entries::default(),
            operand: Entries::default(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.small.clear();
        self.grown.clear();
    }

    /// The union of two sets, or `None` if there is no room for it.
    #[inline]
    pub(super) fn union(&mut self, a: Set, b: Set) -> Option<Set> {
        if b.is_empty() || a == b {
            return Some(a);
        }
        if a.is_empty() {
            return Some(b);
        }
        if a.is_inline() && b.is_inline() {
            let (large, little) = if a.len >= b.len { (a, b) } else { (b, a) };
            if let Some(set) = insert_all(large, little) {
                return Some(set);
            }
        }
        self.merge(a, b)
    }

    #[cold]
    #[inline(never)]
    fn merge(&mut self, a: Set, b: Set) -> Option<Set> {
        let (large, little) = match (a.is_inline(), b.is_inline()) {
            (true, true) => (self.store_union(a, b)?, Set::EMPTY),
            (false, true) => (a, b),
            (true, false) => (b, a),
            (false, false) if a.entries() >= b.entries() => (a, b),
            (false, false) => (b, a),
        };
        if little.is_empty() {
            return Some(large);
        }
        let mut operand = std::mem::take(&mut self.operand);
        let mut tail = std::mem::take(&mut self.merged);
        operand.clear();
        tail.clear();
        if little.is_inline() {
            push_indices(self.kind, little.indices(), &mut operand);
        }
        let view = if little.is_inline() {
            View { keys: &operand.keys, masks: &operand.masks }
        } else {
            self.view(&little)
        };
        let result = match self.missing(&large, view, &mut tail) {
            // Nothing is missing, or only entries behind the last one of a vector that ends there.
            Addition::Nothing => Some(large),
            Addition::Behind => {
                let entries = &mut self.grown[large.grown()?];
                entries.keys.extend_from_slice(&tail.keys);
                entries.masks.extend_from_slice(&tail.masks);
                Some(Set { len: large.len + tail.keys.len() as u32, ..large })
            }
            Addition::Anywhere => {
                tail.clear();
                merge_entries(self.kind, self.view(&large), view, &mut tail);
                self.store(&tail)
            }
        };
        self.operand = operand;
        self.merged = tail;
        result
    }

    /// Puts the union of two sets that hold their indices themselves into the arena.
    fn store_union(&mut self, a: Set, b: Set) -> Option<Set> {
        let mut indices = [0; 2 * INLINE];
        let mut count = 0;
        for i in a.indices().iter().chain(b.indices()) {
            indices[count] = *i;
            count += 1;
        }
        indices[..count].sort_unstable();
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        push_indices(self.kind, &indices[..count], &mut merged);
        let set = self.store(&merged);
        self.merged = merged;
        set
    }

    /// A set with these entries.
    fn store(&mut self, entries: &Entries) -> Option<Set> {
        let count = entries.keys.len();
        if count <= GROW {
            let start = self.small.keys.len();
            if start + GROW >= GROWN as usize {
                return None;
            }
            self.small.keys.extend_from_slice(&entries.keys);
            self.small.masks.extend_from_slice(&entries.masks);
            return Some(Set::in_arena(start as u32, count));
        }
        let position = u32::try_from(self.grown.len()).ok().filter(|p| p & GROWN == 0)?;
        let mut own = Entries::default();
        own.keys.reserve(2 * count);
        own.keys.extend_from_slice(&entries.keys);
        own.masks.reserve(2 * entries.masks.len());
        own.masks.extend_from_slice(&entries.masks);
        self.grown.push(own);
        Some(Set::in_arena(GROWN | position, count))
    }

    /// The entries of a set in the arena.
    fn view(&self, set: &Set) -> View<'_> {
        let (entries, start) = match set.grown() {
            Some(position) => (&self.grown[position], 0),
            None => (&self.small, set.words[0] as usize),
        };
        let range = start..start + set.entries();
        View { keys: &entries.keys[range.clone()], masks: entries.masks.get(range).unwrap_or(&[]) }
    }

    /// What a set lacks of the entries of another.
    fn missing(&self, large: &Set, little: View<'_>, tail: &mut Entries) -> Addition {
        let own = self.view(large);
        let Some(&last) = own.keys.last() else { return Addition::Anywhere };
        let owns_end = large.grown().is_some_and(|p| self.grown[p].keys.len() == large.entries());
        for (i, &key) in little.keys.iter().enumerate() {
            let bits = little.masks.get(i).copied().unwrap_or(1);
            let missing = bits & !own.bits(key);
            if missing == 0 {
                continue;
            }
            // A block that is already last may be listed again with further bits.
            if !owns_end || key < last {
                return Addition::Anywhere;
            }
            tail.keys.push(key);
            if self.kind == SetKind::Blocked {
                tail.masks.push(missing);
            }
        }
        if tail.keys.is_empty() { Addition::Nothing } else { Addition::Behind }
    }

    /// Appends the indices of a set, rising.
    #[inline]
    pub(super) fn append_to(&self, list: &mut Vec<u32>, set: Set) {
        match set.is_inline() {
            true => list.extend_from_slice(set.indices()),
            false => list.extend(self.iter(set)),
        }
    }

    /// The indices of a set, rising.
    #[inline]
    pub(super) fn iter(&self, set: Set) -> Indices<'_> {
        if set.is_inline() {
            return Indices {
                inline: set,
                at: 0,
                view: View { keys: &[], masks: &[] },
                block: 0,
                bits: 0,
            };
        }
        Indices { inline: Set::EMPTY, at: 0, view: self.view(&set), block: 0, bits: 0 }
    }
}

enum Addition {
    Nothing,
    Behind,
    Anywhere,
}

impl View<'_> {
    /// The bits of a block (of a sorted set: 1 if the index is in it).
    fn bits(&self, key: u32) -> u64 {
        let from = self.keys.partition_point(|k| *k < key);
        let mut bits = 0;
        for (i, k) in self.keys.iter().enumerate().skip(from) {
            if *k != key {
                break;
            }
            bits |= self.masks.get(i).copied().unwrap_or(1);
        }
        bits
    }
}

/// Adds the indices of one small set to another; `None` if they do not fit.
#[inline(always)]
fn insert_all(large: Set, little: Set) -> Option<Set> {
    let mut lanes = Lanes::load(&large.words);
    let mut len = large.len;
    for &v in little.indices() {
        if lanes.contains(v) {
            continue;
        }
        if len as usize == INLINE {
            return None;
        }
        lanes = lanes.insert(v);
        len += 1;
    }
    Some(Set { words: lanes.store(), len })
}

/// The indices of a small set in a vector register. Left to itself, LLVM mixes vector and scalar code
/// here, at twice the time.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[derive(Clone, Copy)]
struct Lanes(std::arch::x86_64::__m256i);

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
impl Lanes {
    #[inline(always)]
    fn load(words: &[u32; INLINE]) -> Lanes {
        // SAFETY: `words` has the 32 bytes that are loaded; AVX2 is enabled in this build.
        Lanes(unsafe { std::arch::x86_64::_mm256_loadu_si256(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self) -> [u32; INLINE] {
        let mut words = [0; INLINE];
        // SAFETY: `words` has the 32 bytes that are stored; AVX2 is enabled in this build.
        unsafe { std::arch::x86_64::_mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) };
        words
    }

    #[inline(always)]
    fn contains(self, v: u32) -> bool {
        use std::arch::x86_64::{_mm256_cmpeq_epi32, _mm256_movemask_epi8, _mm256_set1_epi32};
        // SAFETY: AVX2 is enabled in this build.
        unsafe {
            _mm256_movemask_epi8(_mm256_cmpeq_epi32(self.0, _mm256_set1_epi32(v as i32))) != 0
        }
    }

    /// Insertion into a rising list: each lane keeps its index, or takes v or its neighbour's.
    #[inline(always)]
    fn insert(self, v: u32) -> Lanes {
        use std::arch::x86_64::{
            _mm256_blend_epi32, _mm256_max_epu32, _mm256_min_epu32, _mm256_permutevar8x32_epi32,
            _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256,
        };
        // SAFETY: AVX2 is enabled in this build.
        unsafe {
            let shifted =
                _mm256_permutevar8x32_epi32(self.0, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
            let shifted = _mm256_blend_epi32::<1>(shifted, _mm256_setzero_si256());
            let above = _mm256_max_epu32(shifted, _mm256_set1_epi32(v as i32));
            Lanes(_mm256_min_epu32(self.0, above))
        }
    }
}

/// The indices of a small set where there is no explicit vector.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
#[derive(Clone, Copy)]
struct Lanes([u32; INLINE]);

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
impl Lanes {
    #[inline(always)]
    fn load(words: &[u32; INLINE]) -> Lanes {
        Lanes(*words)
    }

    #[inline(always)]
    fn store(self) -> [u32; INLINE] {
        self.0
    }

    #[inline(always)]
    fn contains(self, v: u32) -> bool {
        self.0.iter().fold(false, |found, x| found | (*x == v))
    }

    /// Insertion into a rising list: each lane keeps its index, or takes v or its neighbour's.
    #[inline(always)]
    fn insert(self, v: u32) -> Lanes {
        let lanes = self.0;
        let mut out = lanes;
        out[0] = lanes[0].min(v);
        for i in 1..INLINE {
            out[i] = lanes[i].min(lanes[i - 1].max(v));
        }
        Lanes(out)
    }
}

/// Appends rising indices (repeated ones once) as entries.
fn push_indices(kind: SetKind, indices: &[u32], out: &mut Entries) {
    for &i in indices {
        match kind {
            SetKind::Sorted => {
                if out.keys.last() != Some(&i) {
                    out.keys.push(i);
                }
            }
            SetKind::Blocked => {
                let bit = 1u64 << (i % 64);
                match (out.keys.last(), out.masks.last_mut()) {
                    (Some(&key), Some(mask)) if key == i / 64 => *mask |= bit,
                    _ => {
                        out.keys.push(i / 64);
                        out.masks.push(bit);
                    }
                }
            }
        }
    }
}

/// The union of two lists of entries, each key once.
fn merge_entries(kind: SetKind, x: View<'_>, y: View<'_>, out: &mut Entries) {
    let (mut i, mut j) = (0, 0);
    while i < x.keys.len() || j < y.keys.len() {
        let key = match (x.keys.get(i), y.keys.get(j)) {
            (Some(a), Some(b)) => *a.min(b),
            (Some(a), None) => *a,
            (None, Some(b)) => *b,
            (None, None) => return,
        };
        let mut bits = 0;
        while x.keys.get(i) == Some(&key) {
            bits |= x.masks.get(i).copied().unwrap_or(0);
            i += 1;
        }
        while y.keys.get(j) == Some(&key) {
            bits |= y.masks.get(j).copied().unwrap_or(0);
            j += 1;
        }
        out.keys.push(key);
        if kind == SetKind::Blocked {
            out.masks.push(bits);
        }
    }
}

/// The indices of a set, rising.
pub(super) struct Indices<'s> {
    /// A set that holds its indices itself, and how many of them have been given.
    inline: Set,
    at: usize,
    view: View<'s>,
    block: u32,
    bits: u64,
}

impl Iterator for Indices<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.at < self.inline.len as usize {
            self.at += 1;
            return self.inline.words.get(self.at - 1).copied();
        }
        self.next_in_arena()
    }
}

impl Indices<'_> {
    fn next_in_arena(&mut self) -> Option<u32> {
        if self.bits == 0 {
            let (&key, rest) = self.view.keys.split_first()?;
            self.view.keys = rest;
            let Some((&mask, rest)) = self.view.masks.split_first() else { return Some(key) };
            (self.block, self.bits, self.view.masks) = (key, mask, rest);
            // A block may be listed again with further bits.
            while self.view.keys.first() == Some(&key) {
                self.bits |= self.view.masks[0];
                self.view.keys = &self.view.keys[1..];
                self.view.masks = &self.view.masks[1..];
            }
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(self.block * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn contents(sets: &Sets, set: Set) -> Vec<u32> {
        sets.iter(set).collect()
    }

    /// A deterministic stream of numbers.
    fn stream(seed: u64) -> impl FnMut(u32) -> u32 {
        let mut state = seed;
        move |bound| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(bound)) as u32
        }
    }

    #[test]
    fn unions_agree_with_a_tree_set_and_older_sets_stay_as_they_were() {
        for kind in [SetKind::Sorted, SetKind::Blocked] {
            for inputs in [1, 5, 64, 65, 300, 2000] {
                let mut random = stream(u64::from(inputs));
                let mut sets = Sets::new(kind);
                let mut made: Vec<(Set, BTreeSet<u32>)> =
                    (0..inputs).map(|i| (Set::singleton(i), BTreeSet::from([i]))).collect();
                for _ in 0..3000 {
                    let recent = made.len().saturating_sub(20) as u32;
                    let mut pick = || {
                        let i = if random(2) == 0 {
                            random(made.len() as u32)
                        } else {
                            recent + random(made.len() as u32 - recent)
                        };
                        made[i as usize].clone()
                    };
                    let ((a, x), (b, y)) = (pick(), pick());
                    let union = sets.union(a, b).expect("room");
                    made.push((union, x.union(&y).copied().collect()));
                }
                for (set, expected) in &made {
                    assert_eq!(contents(&sets, *set), expected.iter().copied().collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn a_running_sum_shares_its_prefixes() {
        for kind in [SetKind::Sorted, SetKind::Blocked] {
            let n = 20_000;
            let mut sets = Sets::new(kind);
            let mut sum = Set::EMPTY;
            for i in 0..n - 1 {
                let term = sets.union(Set::singleton(i), Set::singleton(i + 1)).expect("room");
                sum = sets.union(sum, term).expect("room");
            }
            assert_eq!(contents(&sets, sum).len(), n as usize);
            let entries: usize =
                sets.grown.iter().map(|g| g.keys.len()).sum::<usize>() + sets.small.keys.len();
            assert!(entries < 20 * n as usize, "{entries} entries for {n} inputs");
        }
    }
}
