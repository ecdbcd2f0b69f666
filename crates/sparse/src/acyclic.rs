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

/// Sets of edges, joined by size with paths halved.
struct Forest {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl Forest {
    fn new(n: usize) -> Self {
        Forest { parent: (0..n as u32).collect(), size: vec![1; n] }
    }

    #[inline]
    fn find(&mut self, mut e: u32) -> u32 {
        while self.parent[e as usize] != e {
            let above = self.parent[self.parent[e as usize] as usize];
            self.parent[e as usize] = above;
            e = above;
        }
        e
    }

    fn join(&mut self, a: u32, b: u32) {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        if self.size[a as usize] < self.size[b as usize] {
            std::mem::swap(&mut a, &mut b);
        }
        self.parent[b as usize] = a;
        self.size[a as usize] += self.size[b as usize];
    }
}

/// The steps of all trees: leaves are cut off until nothing is left.
fn trees(graph: &Adjacency, forest: &mut Forest) -> Trees {
    let n = graph.len();
    // Trees are numbered as their first edges are.
    let mut number = vec![NONE; graph.edges];
    let mut start = vec![0u32];
    let mut tree_of = vec![0u32; graph.edges];
    for edge in 0..graph.edges as u32 {
        let root = forest.find(edge) as usize;
        if number[root] == NONE {
            number[root] = (start.len() - 1) as u32;
            start.push(0);
        }
        tree_of[edge as usize] = number[root];
        start[number[root] as usize + 1] += 1;
    }
    for t in 1..start.len() {
        start[t] += start[t - 1];
    }
    let mut next = start.clone();
    let mut ends = vec![(0u32, 0u32, 0u32); graph.edges];
    for v in 0..n as u32 {
        for &(w, edge) in graph.of(v).iter().filter(|(w, _)| *w > v) {
            let place = &mut next[tree_of[edge as usize] as usize];
            ends[*place as usize] = (v, w, edge);
            *place += 1;
        }
    }
    // Of the neighbours and edges of a vertex in a tree, the exclusive or is kept: when one is left, it
    // is that one.
    let (mut degree, mut around) = (vec![0u32; n], vec![(0u32, 0u32); n]);
    let mut steps = Vec::with_capacity(graph.edges);
    let mut leaves = Vec::new();
    for t in 0..start.len() - 1 {
        let edges = &ends[start[t] as usize..start[t + 1] as usize];
        for &(a, b, edge) in edges {
            for (v, w) in [(a, b), (b, a)] {
                degree[v as usize] += 1;
                let around = &mut around[v as usize];
                *around = (around.0 ^ w, around.1 ^ edge);
            }
        }
        leaves.clear();
        for &(a, b, _) in edges {
            leaves.extend([a, b].into_iter().filter(|v| degree[*v as usize] == 1));
        }
        let mut done = 0;
        while let Some(&leaf) = leaves.get(done) {
            done += 1;
            if degree[leaf as usize] == 0 {
                continue;
            }
            let (parent, edge) = std::mem::take(&mut around[leaf as usize]);
            degree[leaf as usize] = 0;
            steps.push((leaf, parent, edge));
            let above = &mut around[parent as usize];
            *above = (above.0 ^ leaf, above.1 ^ edge);
            degree[parent as usize] -= 1;
            if degree[parent as usize] == 1 {
                leaves.push(parent);
            }
        }
    }
    Trees { start, steps }
}
