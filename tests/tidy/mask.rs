//! Blanks comments and the inside of strings, so that what is left can be searched as code.
//!
//! Line breaks stay where they are. This is no parser: it knows as much of Rust and TypeScript
//! as it takes not to be fooled by braces and words in text.

/// `text` with comments and strings blanked.
pub(crate) fn mask(text: &str, rust: bool) -> String {
    let mut masker = Masker {
        text: text.chars().collect(),
        at: 0,
        out: String::with_capacity(text.len()),
        rust,
    };
    while masker.at < masker.text.len() {
        masker.step();
    }
    masker.out
}

struct Masker {
    text: Vec<char>,
    at: usize,
    out: String,
    rust: bool,
}

impl Masker {
    fn step(&mut self) {
        let raw = self.raw_string();
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.blank_while(|masker| masker.peek(0) != '\n'),
            ('/', '*') => self.block_comment(),
            _ if raw.is_some() => self.blank_raw(raw.unwrap_or_default()),
            ('"', _) => self.quoted('"'),
            ('\'', _) if !self.rust || self.is_character() => self.quoted('\''),
            ('/', _) if !self.rust && self.begins_pattern() => self.quoted('/'),
            // A template's holes are blanked with it; one within another would end it too soon.
            ('`', _) if !self.rust => self.quoted('`'),
            (c, _) => {
                self.out.push(c);
                self.at += 1;
            }
        }
    }

    fn peek(&self, ahead: usize) -> char {
        self.text.get(self.at + ahead).copied().unwrap_or('\n')
    }

    fn ended(&self) -> bool {
        self.at >= self.text.len()
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count.min(self.text.len() - self.at) {
            self.out.push(if self.peek(0) == '\n' { '\n' } else { ' ' });
            self.at += 1;
        }
    }

    fn blank_while(&mut self, goes_on: impl Fn(&Self) -> bool) {
        while !self.ended() && goes_on(self) {
            self.blank(1);
        }
    }

    /// Rust's nest, TypeScript's do not.
    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') if depth == 0 || self.rust => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.blank(1);
                    if self.ended() {
                        return;
                    }
                    continue;
                }
            }
            self.blank(2);
            if depth == 0 || self.ended() {
                return;
            }
        }
    }

    /// From one mark to the next that no backslash guards.
    fn quoted(&mut self, mark: char) {
        self.blank(1);
        while !self.ended() && self.peek(0) != mark {
            self.blank(if self.peek(0) == '\\' { 2 } else { 1 });
        }
        self.blank(1);
    }

    /// Number of `#` of the raw string that begins here, if one does.
    fn raw_string(&self) -> Option<usize> {
        let inside_word = self
            .out
            .ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if !self.rust || self.peek(0) != 'r' || (inside_word && !self.out.ends_with(['b', 'c'])) {
            return None;
        }
        let marks = (1..).take_while(|ahead| self.peek(*ahead) == '#').count();
        (self.peek(1 + marks) == '"').then_some(marks)
    }

    fn blank_raw(&mut self, marks: usize) {
        self.blank(2 + marks);
        let closes = |masker: &Self| (1..=marks).all(|ahead| masker.peek(ahead) == '#');
        self.blank_while(|masker| masker.peek(0) != '"' || !closes(masker));
        self.blank(1 + marks);
    }

    /// A character, not a lifetime.
    fn is_character(&self) -> bool {
        self.peek(1) == '\\' || self.peek(2) == '\''
    }

    /// A regular expression, not a division: it stands where no value ended.
    fn begins_pattern(&self) -> bool {
        self.out
            .trim_end()
            .ends_with(['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', ';'])
    }
}

#[test]
fn text_is_blanked_and_code_stays() {
    let check = |text: &str, rust, expected: &str| {
        assert_eq!(
            mask(text, rust).split_whitespace().collect::<String>(),
            expected,
            "{text}"
        );
    };
    check("a /* x /* { */ } */ b // {\nc", true, "abc");
    check(
        r##"f("{\"", '{', '\'', b"}", r#"{""#, br"}")"##,
        true,
        "f(,,,b,,b)",
    );
    check(
        "fn f<'a>(x: &'a str) { for r in \"}\" {} }",
        true,
        "fnf<'a>(x:&'astr){forrin{}}",
    );
    check(
        "f(`a ${b({c: 1})} }`, '}', /[}]/, a / b)",
        false,
        "f(,,,a/b)",
    );
}
