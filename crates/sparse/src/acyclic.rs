//! Acyclic colouring: neighbours differ, and no cycle has two colours only.
//!
//! Every two colours then span trees, whose entries are found from the leaves to the root.

use crate::graph::Adjacency;
use crate::wanted::{Wanted, choose, room};

const NONE: u32 = u32::MAX;

/// The two-coloured trees.
#[derive(Clone, Debug)]
pub(crate) struct Trees {
    /// Where the steps of each tree begin.
    pub(crate) start: Vec<u32>,
    /// (leaf, parent, edge), leaves first.
    pub(crate) steps: Vec<(u32, u32, u32)>,
}

impl Trees {
    pub(crate) fn count(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn tree(&self, t: usize) -> &[(u32, u32, u32)] {
        &self.steps[self.start[t] as usize..self.start[t + 1] as usize]
    }

    /// The hub, if the tree is a star of two edges or more: all its leaves are cut before it.
    pub(crate) fn hub(&self, t: usize) -> Option<u32> {
        match self.tree(t) {
            [] | [_] => None,
            [(_, hub, _), rest @ ..] => rest.iter().all(|(_, p, _)| p == hub).then_some(*hub),
        }
    }
}

/// Colours the vertices in this order (Gebremedhin, Tarafdar, Manne, Pothen 2007, algorithm 3.1). Of
/// colours that are kept, the trees are right if the colours are.
pub(crate) fn color(
    graph: &Adjacency,
    order: &[u32],
    wanted: Option<Wanted<'_>>,
) -> (Vec<u32>, Forest) {
    let mut colors = vec![0u32; graph.len()];
    let mut forbidden = vec![NONE; room(wanted)];
    let mut first = vec![(NONE, NONE); room(wanted)];
    let mut forest = Forest::new(graph.edges);
    for (place, &v) in order.iter().enumerate() {
        for &(w, _) in graph.of(v) {
            forbidden[colors[w as usize] as usize] = v;
        }
        for &(w, _) in graph.of(v).iter().filter(|(w, _)| colors[*w as usize] != 0) {
            for &(x, edge) in graph.of(w) {
                let color = colors[x as usize] as usize;
                if x == v || color == 0 || forbidden[color] == v {
                    continue;
                }
                let tree = forest.find(edge) as usize;
                match &mut forest.edges[tree] {
                    // Through two neighbours: with this colour v would close a cycle.
                    Edge { by, from, .. } if *by == v && *from != w => forbidden[color] = v,
                    Edge { by, .. } if *by == v => {}
                    edge => (edge.by, edge.from) = (v, w),
                }
            }
        }
        let own = choose(wanted, place, v, &mut forbidden);
        first.resize(forbidden.len(), (NONE, NONE));
        colors[v as usize] = own;
        for &(w, edge) in graph.of(v) {
            let color = colors[w as usize] as usize;
            if color == 0 {
                continue;
            }
            let (p, other) = first[color];
            if p == v {
                forest.join(edge, other);
            } else {
                first[color] = (v, edge);
            }
            for &(x, other) in graph.of(w) {
                if x != v && colors[x as usize] == own {
                    forest.join(edge, other);
                }
            }
        }
    }
    (colors, forest)
}

/// An edge among the sets of edges.
#[derive(Clone, Copy, Debug)]
struct Edge {
    /// Another edge of the set; of a root, the size of the set instead.
    parent: u32,
    /// Of a root: the vertex that last met the set.
    by: u32,
    /// The neighbour through which it first did.
    from: u32,
}

/// The two-coloured trees as sets of edges, joined by size with paths halved. Colouring needs no more; the
/// steps are laid out for who reads entries.
#[derive(Clone, Debug)]
pub(crate) struct Forest {
    edges: Vec<Edge>,
    sets: usize,
}

/// Marks a size.
const ROOT: u32 = 1 << 31;

impl Forest {
    fn new(n: usize) -> Self {
        Forest { edges: vec![Edge { parent: ROOT | 1, by: NONE, from: NONE }; n], sets: n }
    }

    #[inline]
    fn find(&mut self, mut e: u32) -> u32 {
        loop {
            let above = self.edges[e as usize].parent;
            if above & ROOT != 0 {
                return e;
            }
            let next = self.edges[above as usize].parent;
            if next & ROOT != 0 {
                return above;
            }
            self.edges[e as usize].parent = next;
            e = next;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        if self.edges[a as usize].parent < self.edges[b as usize].parent {
            std::mem::swap(&mut a, &mut b);
        }
        self.edges[a as usize].parent += self.edges[b as usize].parent & !ROOT;
        self.edges[b as usize].parent = a;
        self.sets -= 1;
    }

    /// The steps of all trees, given the ends of the edges as they are numbered: leaves are cut off until
    /// nothing is left. Few lists and of known lengths: for a small matrix making them is most of the work.
    pub(crate) fn trees(
        mut self,
        vertices: usize,
        edges: impl Iterator<Item = (u32, u32)>,
    ) -> Trees {
        // Trees are numbered as their first edges are. Counts go two places up, so that filling turns
        // starts into ends in place.
        self.edges.iter_mut().for_each(|edge| edge.by = NONE);
        let mut start = vec![0u32; self.sets + 2];
        let mut count = 0;
        for edge in 0..self.edges.len() {
            let root = self.find(edge as u32) as usize;
            if self.edges[root].by == NONE {
                self.edges[root].by = count;
                count += 1;
            }
            let tree = self.edges[root].by;
            self.edges[edge].by = tree;
            start[tree as usize + 2] += 1;
        }
        for t in 2..start.len() {
            start[t] += start[t - 1];
        }
        let mut ends = vec![(0u32, 0u32, 0u32); self.edges.len()];
        for (edge, (v, w)) in edges.enumerate() {
            let place = &mut start[self.edges[edge].by as usize + 1];
            ends[*place as usize] = (v, w, edge as u32);
            *place += 1;
        }
        start.truncate(self.sets + 1);
        // Of a vertex in a tree: its degree, and the exclusive or of its neighbours and edges: when one is
        // left, it is that one.
        let mut around = vec![(0u32, 0u32, 0u32); vertices];
        // A leaf stands here before it is cut; the root of a tree is met last and is none.
        let mut steps = Vec::with_capacity(self.edges.len() + 1);
        for t in 0..self.sets {
            let edges = &ends[start[t] as usize..start[t + 1] as usize];
            for &(a, b, edge) in edges {
                for (v, w) in [(a, b), (b, a)] {
                    let around = &mut around[v as usize];
                    *around = (around.0 + 1, around.1 ^ w, around.2 ^ edge);
                }
            }
            let mut done = steps.len();
            for &(a, b, _) in edges {
                let leaves = [a, b].into_iter().filter(|v| around[*v as usize].0 == 1);
                steps.extend(leaves.map(|leaf| (leaf, NONE, NONE)));
            }
            while let Some(step) = steps.get_mut(done) {
                let leaf = step.0;
                let (degree, parent, edge) = std::mem::take(&mut around[leaf as usize]);
                if degree == 0 {
                    steps.truncate(done);
                    break;
                }
                *step = (leaf, parent, edge);
                done += 1;
                let above = &mut around[parent as usize];
                *above = (above.0 - 1, above.1 ^ leaf, above.2 ^ edge);
                if above.0 == 1 {
                    steps.push((parent, NONE, NONE));
                }
            }
        }
        Trees { start, steps }
    }
}
