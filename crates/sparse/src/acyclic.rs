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
) -> (Vec<u32>, Trees) {
    let mut colors = vec![0u32; graph.len()];
    let mut forbidden = vec![NONE; room(wanted)];
    let mut first = vec![(NONE, NONE); room(wanted)];
    // By tree: the vertex being coloured, and the neighbour through which it first met the tree.
    let mut visits = vec![(NONE, NONE); graph.edges];
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
                match visits[tree] {
                    // Through two neighbours: with this colour v would close a cycle.
                    (p, q) if p == v && q != w => forbidden[color] = v,
                    (p, _) if p == v => {}
                    _ => visits[tree] = (v, w),
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
    (colors, trees(graph, &mut forest))
}

/// Sets of edges, joined by size with paths halved. A root has its size instead of a parent.
struct Forest {
    parent: Vec<u32>,
    sets: usize,
}

/// Marks a size.
const ROOT: u32 = 1 << 31;

impl Forest {
    fn new(n: usize) -> Self {
        Forest { parent: vec![ROOT | 1; n], sets: n }
    }

    #[inline]
    fn find(&mut self, mut e: u32) -> u32 {
        loop {
            let above = self.parent[e as usize];
            if above & ROOT != 0 {
                return e;
            }
            let next = self.parent[above as usize];
            if next & ROOT != 0 {
                return above;
            }
            self.parent[e as usize] = next;
            e = next;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        if self.parent[a as usize] < self.parent[b as usize] {
            std::mem::swap(&mut a, &mut b);
        }
        self.parent[a as usize] += self.parent[b as usize] & !ROOT;
        self.parent[b as usize] = a;
        self.sets -= 1;
    }
}

/// The steps of all trees: leaves are cut off until nothing is left. Few lists and of known lengths: for
/// a small matrix making them is most of the work.
fn trees(graph: &Adjacency, forest: &mut Forest) -> Trees {
    // Trees are numbered as their first edges are. Counts go two places up, so that filling turns starts
    // into ends in place.
    let mut tree_of = vec![NONE; graph.edges];
    let mut start = vec![0u32; forest.sets + 2];
    let mut count = 0;
    for edge in 0..graph.edges as u32 {
        let root = forest.find(edge) as usize;
        if tree_of[root] == NONE {
            tree_of[root] = count;
            count += 1;
        }
        tree_of[edge as usize] = tree_of[root];
        start[tree_of[root] as usize + 2] += 1;
    }
    for t in 2..start.len() {
        start[t] += start[t - 1];
    }
    let mut ends = vec![(0u32, 0u32, 0u32); graph.edges];
    for v in 0..graph.len() as u32 {
        for &(w, edge) in graph.of(v).iter().filter(|(w, _)| *w > v) {
            let place = &mut start[tree_of[edge as usize] as usize + 1];
            ends[*place as usize] = (v, w, edge);
            *place += 1;
        }
    }
    start.truncate(forest.sets + 1);
    // Of a vertex in a tree: its degree, and the exclusive or of its neighbours and edges: when one is left,
    // it is that one.
    let mut around = vec![(0u32, 0u32, 0u32); graph.len()];
    let mut steps = Vec::with_capacity(graph.edges);
    let mut leaves = Vec::with_capacity(graph.len());
    for t in 0..forest.sets {
        let edges = &ends[start[t] as usize..start[t + 1] as usize];
        for &(a, b, edge) in edges {
            for (v, w) in [(a, b), (b, a)] {
                let around = &mut around[v as usize];
                *around = (around.0 + 1, around.1 ^ w, around.2 ^ edge);
            }
        }
        leaves.clear();
        for &(a, b, _) in edges {
            leaves.extend([a, b].into_iter().filter(|v| around[*v as usize].0 == 1));
        }
        let mut done = 0;
        while let Some(&leaf) = leaves.get(done) {
            done += 1;
            let (degree, parent, edge) = std::mem::take(&mut around[leaf as usize]);
            if degree == 0 {
                continue;
            }
            steps.push((leaf, parent, edge));
            let above = &mut around[parent as usize];
            *above = (above.0 - 1, above.1 ^ leaf, above.2 ^ edge);
            if above.0 == 1 {
                leaves.push(parent);
            }
        }
    }
    Trees { start, steps }
}
