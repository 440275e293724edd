//! nginx's syntax: statements that end with `;`, and those that begin a block.
//!
//! Reads whatever is there: what is no statement ends it, and the server says what is wrong.

use std::collections::BTreeMap;

/// Blocks in blocks that are read; nobody writes so many.
const DEPTH_MAX: usize = 64;
/// Statements of one text.
const STATEMENTS_MAX: usize = 200_000;

/// A statement of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Statement {
    /// Without quotes; the first one is its name.
    pub(crate) words: Vec<String>,
    /// From 1.
    pub(crate) line: usize,
    /// The line on which its block opens; 0 without one.
    pub(crate) opens: usize,
    /// What is in its block, if it has one.
    pub(crate) block: Option<Vec<Statement>>,
}

impl Statement {
    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The words behind its name.
    pub(crate) fn values(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The first word behind its name.
    pub(crate) fn value(&self) -> &str {
        self.values().first().map_or("", String::as_str)
    }

    pub(crate) fn inner(&self) -> &[Statement] {
        self.block.as_deref().unwrap_or_default()
    }
}

/// The statements of a text, up to what is none.
pub(crate) fn parse(text: &str) -> Vec<Statement> {
    let mut tokens = Tokens {
        text,
        at: 0,
        line: 1,
    };
    let mut left = STATEMENTS_MAX;
    // Blocks that are open, each with the statement that began it.
    let mut open: Vec<(Statement, Vec<Statement>)> = Vec::new();
    let mut here = Vec::new();
    let mut statement = Statement::default();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => {
                if statement.words.is_empty() {
                    statement.line = tokens.line - word.matches('\n').count();
                }
                statement.words.push(word);
                continue;
            }
            Token::End => here.push(std::mem::take(&mut statement)),
            Token::Open => {
                let mut begun = std::mem::take(&mut statement);
                begun.opens = tokens.line;
                if begun.name().ends_with("_by_lua_block") {
                    tokens.skip_block();
                    begun.block = Some(Vec::new());
                    here.push(begun);
                } else if open.len() < DEPTH_MAX {
                    open.push((begun, std::mem::take(&mut here)));
                } else {
                    break;
                }
            }
            Token::Close => {
                let Some((mut begun, outside)) = open.pop() else {
                    break;
                };
                begun.block = Some(std::mem::replace(&mut here, outside));
                here.push(begun);
            }
        }
        left -= 1;
        if left == 0 {
            break;
        }
    }
    // What was not closed is read as if it were.
    while let Some((mut begun, outside)) = open.pop() {
        begun.block = Some(std::mem::replace(&mut here, outside));
        here.push(begun);
    }
    here
}

/// The blocks of a text, inner ones too, by the line on which they open.
pub(crate) fn blocks(text: &str) -> BTreeMap<usize, Vec<Statement>> {
    let mut blocks: BTreeMap<usize, Vec<Statement>> = BTreeMap::new();
    let mut left = parse(text);
    left.reverse();
    while let Some(mut statement) = left.pop() {
        let Some(inner) = statement.block.take() else {
            continue;
        };
        left.extend(inner.iter().rev().filter(|it| it.block.is_some()).cloned());
        let of_line = blocks.entry(statement.opens).or_default();
        statement.block = Some(inner);
        of_line.push(statement);
    }
    blocks
}

enum Token {
    Word(String),
    End,
    Open,
    Close,
}

struct Tokens<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Tokens<'_> {
    fn next(&mut self) -> Option<Token> {
        loop {
            let letter = self.peek()?;
            match letter {
                '#' => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.take();
                    }
                }
                _ if letter.is_whitespace() || letter == '\u{feff}' => {
                    self.take();
                }
                _ => break,
            }
        }
        match self.peek()? {
            ';' => self.single(Token::End),
            '{' => self.single(Token::Open),
            '}' => self.single(Token::Close),
            quote @ ('"' | '\'') => Some(Token::Word(self.quoted(quote))),
            _ => Some(Token::Word(self.word())),
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn single(&mut self, token: Token) -> Option<Token> {
        self.take();
        Some(token)
    }

    fn quoted(&mut self, quote: char) -> String {
        self.take();
        let mut word = String::new();
        while let Some(letter) = self.take() {
            match letter {
                _ if letter == quote => break,
                '\\' => word.extend(self.escaped()),
                _ => word.push(letter),
            }
        }
        word
    }

    /// What a backslash and the letter behind it stand for: only before a quote or another
    /// backslash it is not meant itself.
    fn escaped(&mut self) -> impl Iterator<Item = char> + use<> {
        let letter = self.take();
        let is_kept = !matches!(letter, Some('"' | '\'' | '\\'));
        is_kept.then_some('\\').into_iter().chain(letter)
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(letter) = self.peek() {
            let is_variable = letter == '{' && word.ends_with('$');
            if letter.is_whitespace() || letter == ';' || letter == '{' && !is_variable {
                break;
            }
            self.take();
            match letter {
                '\\' => word.extend(self.escaped()),
                _ => word.push(letter),
            }
        }
        word
    }

    /// Skips to the end of a block in another language.
    fn skip_block(&mut self) {
        let mut depth = 1_usize;
        while let Some(letter) = self.take() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each statement with its line, and its block behind it.
    fn shown(statements: &[Statement]) -> String {
        let one = |statement: &Statement| {
            let words = statement.words.join(" ");
            match &statement.block {
                None => format!("{}:{words};", statement.line),
                Some(inner) => format!("{}:{words}{{{}}}", statement.line, shown(inner)),
            }
        };
        statements.iter().map(one).collect()
    }

    #[test]
    fn statements_and_blocks_are_read_with_their_lines() {
        for (text, expected) in [
            ("a b;c;", "1:a b;1:c;"),
            ("# x; {\na\n  'b c' \"d;\\\"\"; ", "2:a b c d;\";"),
            ("a {\n b ${c}d;\n}\ne;", "1:a{2:b ${c}d;}4:e;"),
            ("location ~ \\.php$ { }", "1:location ~ \\.php${}"),
            ("a#b c;", "1:a#b c;"),
            (
                "rewrite_by_lua_block { if x { } ; }\nb;",
                "1:rewrite_by_lua_block{}2:b;",
            ),
            ("a { b;", "1:a{1:b;}"),
            ("a; } b;", "1:a;"),
            ("a \"b\nc\";\nd;", "1:a b\nc;3:d;"),
        ] {
            assert_eq!(shown(&parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn blocks_without_end_come_to_one() {
        assert_eq!(parse(&"a { ".repeat(100_000)).len(), 1);
        assert!(parse(&"a;".repeat(300_000)).len() <= STATEMENTS_MAX);
    }

    proptest! {
        #[test]
        fn every_text_is_read_to_its_end(text in "[ \n\"'#;{}\\\\$a-c]{0,200}") {
            let _ = parse(&text);
        }
    }
}
