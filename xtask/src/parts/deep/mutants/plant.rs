//! All changes of a source at once, each behind a number: the program that is built holds every
//! mutant, and the environment chooses one.

use core::fmt::Write as _;
use core::ops::Range;

use super::sites::{Form, Site};

/// What stands where in a planted source, so that an error of the compiler can be laid to a change.
pub(crate) struct Planted {
    pub(crate) text: String,
    /// Of each change: its own text, and the whole that it was put around.
    places: Vec<(usize, Range<usize>, Range<usize>)>,
}

/// `choose` is the function that tells whether a number is chosen, by its path.
pub(crate) fn plant(text: &str, sites: &[(usize, &Site)], choose: &str) -> Planted {
    let mut sites = sites.to_vec();
    // What is around comes first, and changes of one range side by side.
    sites.sort_by_key(|(number, site)| {
        let Range { start, end } = site.range;
        (start, end != start, usize::MAX - end, *number)
    });
    let mut planted = Planted {
        text: String::new(),
        places: Vec::new(),
    };
    planted.render(text, 0..text.len(), &sites, choose);
    planted
}

impl Planted {
    fn render(
        &mut self,
        text: &str,
        range: Range<usize>,
        mut sites: &[(usize, &Site)],
        choose: &str,
    ) {
        let source = |range: Range<usize>| text.get(range).unwrap_or_default();
        let mut at = range.start;
        while let Some((_, first)) = sites.first() {
            let (of, form) = (first.range.clone(), first.form);
            let count = sites
                .iter()
                .take_while(|(_, site)| site.range == of)
                .count();
            let (here, rest) = sites.split_at(count);
            let count = rest
                .iter()
                .take_while(|(_, site)| site.range.start < of.end)
                .count();
            let (inside, rest) = rest.split_at(count);
            sites = rest;
            self.text += source(at..of.start);
            let begun = self.text.len();
            self.text += if form == Form::Expression { "(" } else { " " };
            let mut own = Vec::new();
            for (number, site) in here {
                _ = write!(self.text, "if {choose}({number}) {{ ");
                let start = self.text.len();
                self.text += &site.instead;
                own.push((*number, start..self.text.len()));
                self.text += if form == Form::First {
                    " } "
                } else {
                    " } else "
                };
            }
            if form != Form::First {
                self.text += "{ ";
                self.render(text, of.clone(), inside, choose);
                self.text += " }";
            }
            if form == Form::Expression {
                self.text.push(')');
            }
            let whole = begun..self.text.len();
            self.places.extend(
                own.into_iter()
                    .map(|(number, own)| (number, own, whole.clone())),
            );
            at = of.end;
        }
        self.text += source(at..range.end);
    }

    /// The changes that an error at a line and column, both from 1, is about: the one whose text it
    /// is in, else all that are closest around.
    pub(crate) fn at(&self, line: usize, column: usize) -> Vec<usize> {
        let lines = self.text.split_inclusive('\n');
        let before: usize = lines.take(line - 1).map(str::len).sum();
        let rest = self.text.get(before..).unwrap_or_default();
        let at = before + rest.char_indices().nth(column - 1).map_or(0, |(at, _)| at);
        let own: Vec<usize> = self
            .places
            .iter()
            .filter(|(_, own, _)| own.contains(&at))
            .map(|(number, ..)| *number)
            .collect();
        if !own.is_empty() {
            return own;
        }
        let around = self.places.iter().filter(|(.., whole)| whole.contains(&at));
        let closest = around.clone().map(|(.., whole)| whole.len()).min();
        let around = around.filter(|(.., whole)| Some(whole.len()) == closest);
        around.map(|(number, ..)| *number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sites::sites;
    use super::*;

    fn planted(source: &str) -> Planted {
        let found = sites(source).unwrap();
        let numbered: Vec<_> = found.iter().enumerate().collect();
        plant(source, &numbered, "on")
    }

    #[test]
    fn the_program_without_a_choice_is_the_program() {
        let text = planted("fn f() { if a < b { g(); } }").text;
        assert_eq!(
            text,
            "fn f() { if on(0) { return ; }  \
             if (if on(1) { true } else if on(2) { false } else if on(3) { (a) <= (b) } else if on(4) { (a) >= (b) } else { a < b }) \
             {  if on(5) {  } else { g(); } } }"
        );
        syn::parse_file(&text).unwrap();
    }

    #[test]
    fn error_maps_to_innermost_change() {
        let planted = planted("fn f() -> A {\n    a + b * c\n}");
        let line = planted.text.lines().nth(1).unwrap();
        let column = |word: &str| line.find(word).unwrap() + 1;
        assert_eq!(planted.at(2, column("- (b")), [0]);
        assert_eq!(planted.at(2, column("(b) + (c)")), [1]);
        assert_eq!(planted.at(2, column("a + ")), [0]);
        assert_eq!(planted.at(1, 1), [0; 0]);
    }
}
