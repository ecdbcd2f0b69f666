//! The order in which vertices are coloured.

use crate::graph::{Adjacency, Bipartite};

/// An order of the vertices for greedy colouring. It decides how many colours are needed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// As they are numbered.
    Natural,
    /// A permutation that depends on the seed only.
    Random(u64),
    /// By falling degree.
    LargestFirst,
    /// From the end: always a vertex of least degree among those that are left (Matula–Beck).
    SmallestLast,
    /// Always a vertex with the most neighbours that are ordered already.
    IncidenceDegree,
    /// Always a vertex with the most neighbours that are not ordered yet.
    DynamicLargestFirst,
    /// By rising degree: dense rows and columns last, as bidirectional colourings need it.
    IncreasingDegree,
    /// A maximum cardinality search, which is incidence degree with the oldest of equal vertices first,
    /// whatever ties are asked for: its reverse eliminates perfectly on chordal graphs, so acyclic
    /// colourings of them are optimal.
    PerfectElimination,
    /// A permutation of your own.
    Given(Vec<u32>),
}

/// How vertices of equal degree are told apart in orders that are built step by step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// Those that have had their degree the longest come first.
    #[default]
    Oldest,
    /// As ColPack does, so that its published counts are reproduced: the one that came to its degree
    /// last, with its place in the bucket filled by the bucket's end when it leaves.
    ColPack,
}

impl Order {
    /// All orders that need no data, in the sequence in which they are listed.
    pub const ALL: [Order; 6] = [
        Order::Natural,
        Order::LargestFirst,
        Order::SmallestLast,
        Order::IncidenceDegree,
        Order::DynamicLargestFirst,
        Order::IncreasingDegree,
    ];

    /// The name, as the command takes it.
    pub fn name(&self) -> &'static str {
        match self {
            Order::Natural => "natural",
            Order::Random(_) => "random",
            Order::LargestFirst => "largest-first",
            Order::SmallestLast => "smallest-last",
            Order::IncidenceDegree => "incidence-degree",
            Order::DynamicLargestFirst => "dynamic-largest-first",
            Order::IncreasingDegree => "increasing-degree",
            Order::PerfectElimination => "perfect-elimination",
            Order::Given(_) => "given",
        }
    }
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Order::Random(seed) => write!(f, "random({seed})"),
            other => f.write_str(other.name()),
        }
    }
}

/// A graph whose vertices are to be ordered.
pub(crate) trait Neighbours {
    /// Whether ColPack begins its incidence-degree order with the first vertex of the largest degree: it
    /// does so on graphs, not on the columns or rows of a matrix.
    const DENSEST_FIRST: bool;

    fn vertices(&self) -> usize;

    /// Calls `f` on each neighbour of v once; `seen` has a zero or an older stamp for each vertex.
    fn each(&self, v: u32, seen: &mut Stamps, f: impl FnMut(u32));

    fn degrees(&self, seen: &mut Stamps) -> Vec<u32> {
        (0..self.vertices() as u32)
            .map(|v| {
                let mut degree = 0;
                self.each(v, seen, |_| degree += 1);
                degree
            })
            .collect()
    }
}

/// Marks on vertices that are all removed at once.
pub(crate) struct Stamps {
    marks: Vec<u32>,
    now: u32,
}

impl Stamps {
    pub(crate) fn new(n: usize) -> Self {
        Stamps { marks: vec![0; n], now: 0 }
    }

    fn next(&mut self) {
        if self.now == u32::MAX {
            self.marks.fill(0);
            self.now = 0;
        }
        self.now += 1;
    }

    /// Marks a vertex; whether it was not marked.
    #[inline(always)]
    fn mark(&mut self, v: u32) -> bool {
        let mark = &mut self.marks[v as usize];
        let fresh = *mark != self.now;
        *mark = self.now;
        fresh
    }
}

/// Columns are neighbours if they share a row.
impl Neighbours for Bipartite {
    const DENSEST_FIRST: bool = false;

    fn vertices(&self) -> usize {
        self.columns.len()
    }

    #[inline]
    fn each(&self, v: u32, seen: &mut Stamps, mut f: impl FnMut(u32)) {
        seen.next();
        seen.mark(v);
        let rows = self.rows();
        for &row in self.columns.of(v) {
            for &w in rows.of(row) {
                if seen.mark(w) {
                    f(w);
                }
            }
        }
    }
}

impl Neighbours for Adjacency {
    const DENSEST_FIRST: bool = true;

    fn vertices(&self) -> usize {
        self.len()
    }

    #[inline]
    fn each(&self, v: u32, _: &mut Stamps, mut f: impl FnMut(u32)) {
        for (w, _) in self.of(v) {
            f(*w);
        }
    }

    fn degrees(&self, _: &mut Stamps) -> Vec<u32> {
        (0..self.len() as u32).map(|v| self.degree(v)).collect()
    }
}

/// The permutation that an order gives on a graph; `None` if a given one is no permutation.
pub(crate) fn permutation<G: Neighbours>(graph: &G, order: &Order, ties: Ties) -> Option<Vec<u32>> {
    let n = graph.vertices();
    let natural = || (0..n as u32).collect::<Vec<u32>>();
    let by_degree = |key: fn(u32) -> u32| {
        let degrees = graph.degrees(&mut Stamps::new(n));
        counting_sort(&degrees.iter().map(|d| key(*d)).collect::<Vec<_>>())
    };
    Some(match order {
        Order::Natural => natural(),
        Order::Random(seed) => {
            let mut vertices = natural();
            fastrand::Rng::with_seed(*seed).shuffle(&mut vertices);
            vertices
        }
        Order::LargestFirst => {
            let degrees = graph.degrees(&mut Stamps::new(n));
            let most = degrees.iter().copied().max().unwrap_or(0);
            counting_sort(&degrees.iter().map(|d| most - d).collect::<Vec<_>>())
        }
        Order::IncreasingDegree => by_degree(|d| d),
        Order::SmallestLast => dynamic(graph, Rule::SmallestLast, ties),
        Order::IncidenceDegree => dynamic(graph, Rule::IncidenceDegree, ties),
        Order::DynamicLargestFirst => dynamic(graph, Rule::DynamicLargestFirst, ties),
        Order::PerfectElimination => dynamic(graph, Rule::IncidenceDegree, Ties::Oldest),
        Order::Given(permutation) => {
            let mut seen = vec![false; n];
            let mut fresh = |v: &u32| {
                seen.get_mut(*v as usize).is_some_and(|seen| !std::mem::replace(seen, true))
            };
            if permutation.len() != n || !permutation.iter().all(&mut fresh) {
                return None;
            }
            permutation.clone()
        }
    })
}

/// The vertices by rising key, those of equal key as numbered.
fn counting_sort(keys: &[u32]) -> Vec<u32> {
    let most = keys.iter().copied().max().unwrap_or(0) as usize;
    let mut start = vec![0u32; most + 2];
    for key in keys {
        start[*key as usize + 1] += 1;
    }
    for k in 0..=most {
        start[k + 1] += start[k];
    }
    let mut sorted = vec![0; keys.len()];
    for (v, key) in keys.iter().enumerate() {
        let place = &mut start[*key as usize];
        sorted[*place as usize] = v as u32;
        *place += 1;
    }
    sorted
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    SmallestLast,
    IncidenceDegree,
    DynamicLargestFirst,
}

/// Orders that are built vertex by vertex, from a queue of buckets by degree.
fn dynamic<G: Neighbours>(graph: &G, rule: Rule, ties: Ties) -> Vec<u32> {
    match ties {
        Ties::Oldest => dynamic_with(graph, rule, Linked::new),
        Ties::ColPack => dynamic_with(graph, rule, Stacked::new),
    }
}

/// Vertices in buckets by degree.
trait Buckets {
    /// A vertex of this degree, if there is one, removed.
    fn pop(&mut self, degree: u32) -> Option<u32>;
    /// Moves a vertex.
    fn change(&mut self, v: u32, from: u32, to: u32);
    /// Makes a vertex the first of its degree to be popped, where ColPack does.
    fn prefer(&mut self, _v: u32, _degree: u32) {}
}

fn dynamic_with<G: Neighbours, B: Buckets>(
    graph: &G,
    rule: Rule,
    buckets: impl FnOnce(&[u32], usize) -> B,
) -> Vec<u32> {
    let n = graph.vertices();
    let mut seen = Stamps::new(n);
    let full = graph.degrees(&mut seen);
    let most = full.iter().copied().max().unwrap_or(0);
    let densest = full.iter().position(|d| *d == most);
    let mut degrees = if rule == Rule::IncidenceDegree { vec![0; n] } else { full };
    let mut buckets = buckets(&degrees, most as usize + 1);
    if let (Some(v), Rule::IncidenceDegree, true) = (densest, rule, G::DENSEST_FIRST) {
        buckets.prefer(v as u32, 0);
    }
    let mut taken = vec![false; n];
    let mut order = Vec::with_capacity(n);
    let lowest_first = rule == Rule::SmallestLast;
    let mut degree = match rule {
        Rule::SmallestLast | Rule::IncidenceDegree => 0,
        Rule::DynamicLargestFirst => most,
    };
    while order.len() < n {
        // A step changes a degree by one at most, so the search goes on from where it was.
        let Some(v) = buckets.pop(degree) else {
            degree = if lowest_first { degree + 1 } else { degree - 1 };
            continue;
        };
        taken[v as usize] = true;
        order.push(v);
        graph.each(v, &mut seen, |w| {
            if !taken[w as usize] {
                let old = degrees[w as usize];
                let new = if rule == Rule::IncidenceDegree { old + 1 } else { old - 1 };
                degrees[w as usize] = new;
                buckets.change(w, old, new);
            }
        });
        degree = match rule {
            Rule::SmallestLast => degree.saturating_sub(1),
            Rule::IncidenceDegree => (degree + 1).min(most),
            Rule::DynamicLargestFirst => degree,
        };
    }
    if lowest_first {
        order.reverse();
    }
    order
}

const NONE: u32 = u32::MAX;

/// Buckets as linked lists: first in, first out.
struct Linked {
    head: Vec<u32>,
    tail: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Linked {
    fn new(degrees: &[u32], count: usize) -> Self {
        let n = degrees.len();
        let mut lists = Linked {
            head: vec![NONE; count],
            tail: vec![NONE; count],
            next: vec![NONE; n],
            previous: vec![NONE; n],
        };
        for (v, degree) in degrees.iter().enumerate() {
            lists.push(v as u32, *degree);
        }
        lists
    }

    fn push(&mut self, v: u32, degree: u32) {
        let tail = std::mem::replace(&mut self.tail[degree as usize], v);
        (self.previous[v as usize], self.next[v as usize]) = (tail, NONE);
        match tail {
            NONE => self.head[degree as usize] = v,
            tail => self.next[tail as usize] = v,
        }
    }

    fn remove(&mut self, v: u32, degree: u32) {
        let (previous, next) = (self.previous[v as usize], self.next[v as usize]);
        match previous {
            NONE => self.head[degree as usize] = next,
            previous => self.next[previous as usize] = next,
        }
        match next {
            NONE => self.tail[degree as usize] = previous,
            next => self.previous[next as usize] = previous,
        }
    }
}

impl Buckets for Linked {
    fn pop(&mut self, degree: u32) -> Option<u32> {
        let v = self.head[degree as usize];
        if v == NONE {
            return None;
        }
        self.remove(v, degree);
        Some(v)
    }

    fn change(&mut self, v: u32, from: u32, to: u32) {
        self.remove(v, from);
        self.push(v, to);
    }
}

/// Buckets as stacks, as ColPack has them.
struct Stacked {
    buckets: Vec<Vec<u32>>,
    place: Vec<u32>,
}

impl Stacked {
    fn new(degrees: &[u32], count: usize) -> Self {
        let mut stacks =
            Stacked { buckets: vec![Vec::new(); count], place: vec![0; degrees.len()] };
        for (v, degree) in degrees.iter().enumerate() {
            stacks.push(v as u32, *degree);
        }
        stacks
    }

    fn push(&mut self, v: u32, degree: u32) {
        let bucket = &mut self.buckets[degree as usize];
        self.place[v as usize] = bucket.len() as u32;
        bucket.push(v);
    }
}

impl Buckets for Stacked {
    fn pop(&mut self, degree: u32) -> Option<u32> {
        self.buckets[degree as usize].pop()
    }

    fn change(&mut self, v: u32, from: u32, to: u32) {
        let place = self.place[v as usize];
        let bucket = &mut self.buckets[from as usize];
        bucket.swap_remove(place as usize);
        if let Some(moved) = bucket.get(place as usize) {
            self.place[*moved as usize] = place;
        }
        self.push(v, to);
    }

    fn prefer(&mut self, v: u32, degree: u32) {
        let bucket = &mut self.buckets[degree as usize];
        let (place, end) = (self.place[v as usize], bucket.len() - 1);
        let last = bucket[end];
        bucket.swap(place as usize, end);
        (self.place[v as usize], self.place[last as usize]) = (end as u32, place);
    }
}
