//! Star colouring: neighbours differ, and no path of four vertices has two colours only.
//!
//! Every two colours then span stars, and an entry is read at the spoke, in the product of the hub's
//! colour.

use crate::graph::Adjacency;
use crate::wanted::{Wanted, choose, room};

const NONE: u32 = u32::MAX;

/// Which star each edge belongs to, and the hub of each star.
#[derive(Clone, Debug)]
pub(crate) struct Stars {
    pub(crate) star: Vec<u32>,
    /// The hub; of a single edge either end, see `single`.
    pub(crate) hub: Vec<u32>,
    /// Whether the star is one edge, whose hub may still be chosen.
    pub(crate) single: Vec<bool>,
}

/// Colours the vertices in this order (Gebremedhin, Tarafdar, Manne, Pothen 2007, algorithm 4.1). Of
/// colours that are kept, the stars are right if the colours are.
pub(crate) fn color(
    graph: &Adjacency,
    order: &[u32],
    wanted: Option<Wanted<'_>>,
) -> (Vec<u32>, Stars) {
    let n = graph.len();
    let mut state = Star {
        graph,
        colors: vec![0; n],
        forbidden: vec![NONE; room(wanted)],
        first: vec![(NONE, NONE, NONE); room(wanted)],
        treated: vec![NONE; n],
        stars: Stars { star: vec![NONE; graph.edges], hub: Vec::new(), single: Vec::new() },
    };
    for (place, &v) in order.iter().enumerate() {
        state.visit(v, place, wanted);
    }
    (state.colors, state.stars)
}

struct Star<'g> {
    graph: &'g Adjacency,
    colors: Vec<u32>,
    forbidden: Vec<u32>,
    /// By colour: the vertex being coloured, its first neighbour of that colour, the edge to it.
    first: Vec<(u32, u32, u32)>,
    treated: Vec<u32>,
    stars: Stars,
}

impl Star<'_> {
    fn visit(&mut self, v: u32, place: usize, wanted: Option<Wanted<'_>>) {
        let graph = self.graph;
        for &(w, edge) in graph.of(v) {
            let color = self.colors[w as usize];
            if color == 0 {
                continue;
            }
            self.forbidden[color as usize] = v;
            let (p, q, _) = self.first[color as usize];
            if p == v {
                // Two neighbours of one colour: v would be the hub, so neither may be a hub for v's.
                if self.treated[q as usize] != v {
                    self.treat(v, q);
                }
                self.treat(v, w);
            } else {
                self.first[color as usize] = (v, w, edge);
                for &(x, other) in graph.of(w) {
                    let far = self.colors[x as usize];
                    if x != v && far != 0 {
                        let star = self.stars.star[other as usize] as usize;
                        if self.stars.hub[star] == x && !self.stars.single[star] {
                            self.forbidden[far as usize] = v;
                        }
                    }
                }
            }
        }
        let color = choose(wanted, place, v, &mut self.forbidden);
        self.first.resize(self.forbidden.len(), (NONE, NONE, NONE));
        self.colors[v as usize] = color;
        self.update(v, color);
    }

    /// Forbids v the colours around w.
    fn treat(&mut self, v: u32, w: u32) {
        for &(x, _) in self.graph.of(w) {
            // Vertices without a colour forbid 0, which nobody takes.
            if x != v {
                self.forbidden[self.colors[x as usize] as usize] = v;
            }
        }
        self.treated[w as usize] = v;
    }

    /// Puts the edges from v to coloured neighbours into stars.
    fn update(&mut self, v: u32, own: u32) {
        let graph = self.graph;
        for &(w, edge) in graph.of(v) {
            let color = self.colors[w as usize];
            if color == 0 {
                continue;
            }
            let twin = graph.of(w).iter().find(|(x, _)| *x != v && self.colors[*x as usize] == own);
            if let Some(&(_, other)) = twin {
                self.join(edge, other, w);
                continue;
            }
            let (p, q, other) = self.first[color as usize];
            if p == v && q != w {
                self.join(edge, other, v);
            } else {
                self.stars.star[edge as usize] = self.stars.hub.len() as u32;
                self.stars.hub.push(v.max(w));
                self.stars.single.push(true);
            }
        }
    }

    /// The edge joins the star of another edge, around a hub.
    fn join(&mut self, edge: u32, other: u32, hub: u32) {
        let star = self.stars.star[other as usize];
        self.stars.star[edge as usize] = star;
        self.stars.hub[star as usize] = hub;
        self.stars.single[star as usize] = false;
    }
}
