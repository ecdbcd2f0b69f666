//! The printed program as a tree of lines, which is what pictures are drawn of: so they have the names that
//! the text has.

/// Lines that belong together: a function, or a body of an operation.
#[derive(Debug, PartialEq)]
pub(super) struct Body {
    /// What stands above it: the head of a function, `then`, `else`, `while`, `do`, or nothing.
    pub(super) title: String,
    /// The names that are its own before the first line.
    pub(super) params: Vec<String>,
    pub(super) lines: Vec<Line>,
}

/// An operation, or the end of a body.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    /// The names of its results.
    pub(super) gives: Vec<String>,
    /// The names in it, those in its bodies left aside.
    pub(super) uses: Vec<String>,
    pub(super) bodies: Vec<Body>,
}

impl Line {
    /// Whether it says what a body gives.
    pub(super) fn is_end(&self) -> bool {
        ["yield", "ret"].contains(&self.text.split(' ').next().unwrap_or_default())
    }

    /// The names from outside that it or its bodies use, each once.
    pub(super) fn needs(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let inner = self.bodies.iter().flat_map(Body::needs);
        for name in self.uses.iter().map(String::as_str).chain(inner) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        found
    }
}

impl Body {
    /// The names from outside that it uses.
    fn needs(&self) -> Vec<&str> {
        let own = |name: &str| {
            self.params.iter().chain(self.lines.iter().flat_map(|l| &l.gives)).any(|n| n == name)
        };
        self.lines.iter().flat_map(Line::needs).filter(|name| !own(name)).collect()
    }

    /// How many lines it has, those of inner bodies included.
    pub(super) fn len(&self) -> usize {
        self.lines.iter().map(|l| 1 + l.bodies.iter().map(Body::len).sum::<usize>()).sum()
    }
}

/// The functions of a printed program.
pub(super) fn outline(text: &str) -> Vec<Body> {
    let mut done = Vec::new();
    let mut open: Vec<Body> = Vec::new();
    let close = |open: &mut Vec<Body>, done: &mut Vec<Body>| {
        let Some(body) = open.pop() else { return Vec::new() };
        let params = body.params.clone();
        match open.last_mut().and_then(|outer| outer.lines.last_mut()) {
            Some(line) => line.bodies.push(body),
            None => done.push(body),
        }
        params
    };
    for line in text.lines().map(str::trim) {
        let head = line.strip_suffix('{').map(str::trim);
        match (head, line) {
            (Some(head), _) if head.starts_with("fn ") => {
                let params = names(head).map(|(name, _)| name.to_string()).collect();
                open.push(Body { title: head.to_string(), params, lines: Vec::new() });
            }
            (Some(head), _) if head.starts_with('}') => {
                // The second body begins with what the first began with.
                let params = close(&mut open, &mut done);
                let title = head.trim_start_matches(['}', ' ']).to_string();
                open.push(Body { title, params, lines: Vec::new() });
            }
            (Some(head), _) => {
                let (gives, rest) = head.split_once(" = ").unwrap_or(("", head));
                let (own, uses): (Vec<_>, Vec<_>) = names(rest).partition(|(_, after)| {
                    [" <", " = ", ": lin"].iter().any(|sign| after.starts_with(sign))
                });
                let title = match rest.split(' ').next() {
                    Some("if") => "then",
                    Some("while") => "while",
                    _ => "",
                };
                let text = |found: Vec<(&str, &str)>| {
                    found.into_iter().map(|(name, _)| name.to_string()).collect()
                };
                let line = Line {
                    text: head.to_string(),
                    gives: text(names(gives).collect()),
                    uses: text(uses),
                    bodies: Vec::new(),
                };
                if let Some(body) = open.last_mut() {
                    body.lines.push(line);
                }
                open.push(Body { title: title.to_string(), params: text(own), lines: Vec::new() });
            }
            (None, "}") => {
                close(&mut open, &mut done);
            }
            (None, "") => {}
            (None, line) => {
                let (gives, rest) = line.split_once(" = ").unwrap_or(("", line));
                let all = |text| names(text).map(|(name, _)| name.to_string()).collect();
                let line = Line {
                    text: line.to_string(),
                    gives: all(gives),
                    uses: all(rest),
                    bodies: Vec::new(),
                };
                if let Some(body) = open.last_mut() {
                    body.lines.push(line);
                }
            }
        }
    }
    done
}

/// The names of values in a text, with what follows each.
fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices('%').map(|(at, _)| {
        let rest = &text[at + 1..];
        let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !letter(c)).unwrap_or(rest.len());
        rest.split_at(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_inside_their_lines_and_say_what_they_need() {
        let f = cotangent_ir::parse(
            "fn @f(%x: [3]f64, %n: i64, %c: bool) -> f64 {
               %a, %b = for %i < %n (%s = 0.0, %t = %c) {
                 %e = ld %x[%i]
                 %u = if %t { %p = mul %e, %s yield %p } else { yield %e }
                 yield %u, %t
               }
               ret %a
             }",
        )
        .unwrap();
        let found = outline(&f.to_string());
        let [f] = &found[..] else { panic!("{found:?}") };
        assert_eq!((f.params.len(), f.lines.len(), f.len()), (3, 2, 8));
        let [round] = &f.lines[0].bodies[..] else { panic!("{f:?}") };
        assert_eq!(round.params, ["i", "s", "t"]);
        assert_eq!(f.lines[0].needs(), ["n", "c", "x"]);
        let branch = &round.lines[1];
        assert_eq!(
            branch.bodies.iter().map(|b| &b.title[..]).collect::<Vec<_>>(),
            ["then", "else"]
        );
        assert_eq!(branch.needs().len(), 3);
        assert!(round.lines[2].is_end() && !branch.is_end());
    }
}
