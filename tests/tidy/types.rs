//! How many methods each type has over all its `impl` blocks in its crate, by text with comments
//! and strings blanked. Code that only tests have is left out.
//!
//! This is no parser: it knows as much of Rust as it takes to find items. What macros write is not
//! seen.

use crate::files::Source;
use crate::rules::{TESTS_ONLY, is_test, test_modules};

/// A struct or an enum.
#[derive(Debug)]
pub(crate) struct Type {
    /// Its file, and in it the modules around it and its name: `crates/a/src/b.rs/inner::Name`.
    pub(crate) place: String,
    /// Line of its definition, from 1.
    pub(crate) line: usize,
    /// Functions in its `impl` blocks, those of traits included.
    pub(crate) methods: usize,
    pub(crate) name: String,
    pub(crate) module: Vec<String>,
}

/// Every struct and enum of the crates' own code, without that of tests.
pub(crate) fn types(sources: &[Source]) -> Vec<Type> {
    let tests = test_modules(sources);
    let own = sources
        .iter()
        .filter(|source| source.is_rust() && source.is_in_crate() && !is_test(source, &tests));
    let files: Vec<(&str, String)> = own
        .map(|source| (source.path.as_str(), without_tests(&source.code)))
        .collect();
    let mut types: Vec<Type> = files
        .iter()
        .flat_map(|(path, code)| definitions(path, code))
        .collect();
    for (path, code) in &files {
        for block in blocks(path, code) {
            // Of several types of one name, the one that is nearest by its module.
            let meant = types
                .iter_mut()
                .filter(|one| one.name == block.name && one.module[0] == block.module[0])
                .max_by_key(|one| shared(&one.module, &block.module));
            if let Some(meant) = meant {
                meant.methods += block.methods;
            }
        }
    }
    types
}

/// Number of modules from the crate down that two paths have in common.
fn shared(left: &[String], right: &[String]) -> usize {
    let pairs = left.iter().zip(right);
    pairs.take_while(|(left, right)| left == right).count()
}

/// `code` with each item blanked that only tests have.
fn without_tests(code: &str) -> String {
    let mut rest = code.to_owned();
    let mut from = 0;
    while let Some(start) = rest[from..].find(TESTS_ONLY).map(|at| from + at) {
        let scan = Scan::at(&rest, start + TESTS_ONLY.len());
        let open = scan.find_outside(&['{', ';', ',', '}']);
        let end = match open {
            Some((at, '{')) => Scan::at(&rest, at).past_group().unwrap_or(rest.len()),
            // The end of the block around a last field or variant is not the item's.
            Some((at, '}')) => at,
            Some((at, _)) => at + 1,
            None => rest.len(),
        };
        let blank: String = rest[start..end]
            .chars()
            .map(|c| if c == '\n' { '\n' } else { ' ' })
            .collect();
        rest.replace_range(start..end, &blank);
        from = start;
    }
    rest
}

fn definitions(path: &str, code: &str) -> Vec<Type> {
    let mut types = Vec::new();
    for keyword in ["struct", "enum"] {
        for start in words(code, keyword) {
            let after = start + keyword.len();
            let name = identifier(&code[after..]);
            if name.is_empty() {
                continue;
            }
            let module = module(path, code, start);
            let inner = &module[file_module(path).len()..];
            let inner: String = inner.iter().map(|name| format!("{name}::")).collect();
            types.push(Type {
                place: format!("{path}/{inner}{name}"),
                line: code[..start].matches('\n').count() + 1,
                methods: 0,
                name,
                module,
            });
        }
    }
    types
}

/// An `impl` block.
struct Block {
    name: String,
    module: Vec<String>,
    methods: usize,
}

fn blocks(path: &str, code: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for start in words(code, "impl") {
        // In a type, as in `x: impl Fn()`, it stands behind something else.
        let before = code[..start].trim_end();
        let before = before.strip_suffix("unsafe").unwrap_or(before).trim_end();
        if !(before.is_empty() || before.ends_with(['}', ';', '{', ']'])) {
            continue;
        }
        let mut scan = Scan::at(code, start + "impl".len());
        scan.skip_generics();
        let header = scan.at;
        let Some((open, _)) = scan.find_outside(&['{']) else {
            continue;
        };
        let Some(end) = Scan::at(code, open).past_group() else {
            continue;
        };
        blocks.push(Block {
            name: type_name(&code[header..open]),
            module: module(path, code, start),
            methods: methods(&code[open + 1..end - 1]),
        });
    }
    blocks
}

/// The name of the type that a block's header is about: of `Trait<T> for a::Name<'_> where ...`
/// it is `Name`.
fn type_name(header: &str) -> String {
    let header = words(header, "where")
        .first()
        .map_or(header, |at| &header[..*at]);
    // `for<'a>` belongs to a bound.
    let target = words(header, "for")
        .into_iter()
        .map(|at| &header[at + "for".len()..])
        .find(|rest| !rest.trim_start().starts_with('<'));
    let target = target.unwrap_or(header);
    let path = target.split('<').next().unwrap_or(target);
    let last = path.rsplit("::").next().unwrap_or(path);
    let last = last.rsplit([' ', '&', '\n']).find(|word| !word.is_empty());
    last.unwrap_or("").to_owned()
}

/// Functions directly inside a block, not those inside their bodies.
fn methods(inside: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    let mut count = 0;
    for start in words(inside, "fn") {
        for c in inside[at..start].chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
        }
        at = start;
        if depth == 0 && !identifier(&inside[start + 2..]).is_empty() {
            count += 1;
        }
    }
    count
}

/// Modules from the crate down to the one that `at` lies in.
fn module(path: &str, code: &str, at: usize) -> Vec<String> {
    let mut module = file_module(path);
    for start in words(code, "mod").into_iter().filter(|start| *start < at) {
        let after = start + "mod".len();
        if let Some((open, '{')) = Scan::at(code, after).find_outside(&['{', ';'])
            && Scan::at(code, open)
                .past_group()
                .is_some_and(|end| at < end)
        {
            module.push(identifier(&code[after..]));
        }
    }
    module
}

/// The module that a file is: `crates/a/src/b/c.rs` is `a`, `b`, `c`.
fn file_module(path: &str) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let names = stem.split('/').enumerate();
    let kept = names.filter(|(at, name)| *at != 0 && !(*at == 2 && *name == "src"));
    let roots = ["lib", "main", "mod"];
    kept.map(|(_, name)| name.to_owned())
        .filter(|name| !roots.contains(&name.as_str()))
        .collect()
}

/// The identifier that comes first in `text`; empty where something else does.
fn identifier(text: &str) -> String {
    let text = text.trim_start();
    text.chars().take_while(|c| joins(*c)).collect()
}

/// Where `word` stands by itself.
fn words(code: &str, word: &str) -> Vec<usize> {
    let whole = |at: &usize| {
        let raw = code[..*at].ends_with("r#");
        !raw && !code[..*at].ends_with(joins) && !code[at + word.len()..].starts_with(joins)
    };
    let found = code.match_indices(word).map(|(at, _)| at);
    found.filter(whole).collect()
}

fn joins(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A place in code from which brackets are followed.
struct Scan<'code> {
    code: &'code str,
    at: usize,
}

impl<'code> Scan<'code> {
    fn at(code: &'code str, at: usize) -> Self {
        Self { code, at }
    }

    /// The next of `stops` that no bracket is around, the angles of generics included.
    fn find_outside(&self, stops: &[char]) -> Option<(usize, char)> {
        let mut depth = 0;
        let mut previous = ' ';
        for (offset, c) in self.code[self.at..].char_indices() {
            if depth == 0 && stops.contains(&c) {
                return Some((self.at + offset, c));
            }
            match c {
                '(' | '[' | '{' | '<' => depth += 1,
                // An arrow closes nothing.
                '>' if ['-', '='].contains(&previous) => {}
                ')' | ']' | '}' | '>' => depth -= 1,
                _ => {}
            }
            previous = c;
        }
        None
    }

    /// The position behind the bracket that closes the one here.
    fn past_group(&self) -> Option<usize> {
        let mut depth = 0;
        for (offset, c) in self.code[self.at..].char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(self.at + offset + c.len_utf8());
            }
        }
        None
    }

    /// Moves behind `<...>`, if that is what comes next.
    fn skip_generics(&mut self) {
        let rest = &self.code[self.at..];
        let start = self.at + rest.len() - rest.trim_start().len();
        if !self.code[start..].starts_with('<') {
            return;
        }
        let mut depth = 0;
        let mut previous = ' ';
        for (offset, c) in self.code[start..].char_indices() {
            match c {
                '<' => depth += 1,
                '>' if previous != '-' => depth -= 1,
                _ => {}
            }
            previous = c;
            if depth == 0 {
                self.at = start + offset + 1;
                return;
            }
        }
    }
}

#[test]
fn methods_are_counted() {
    let check = |code: &str, expected: &[(&str, usize)]| {
        let source = |path: &str, code: &str| Source {
            path: path.to_owned(),
            text: code.to_owned(),
            code: crate::mask::mask(code, true),
        };
        let other = "impl super::Far { fn x() {} }\nimpl crate::b::Near { fn x() {} }";
        let sources = [
            source("crates/a/src/b.rs", code),
            source("crates/a/src/b/c.rs", other),
        ];
        let found = types(&sources);
        let found: Vec<(&str, usize)> = found
            .iter()
            .map(|one| {
                let name = one.place.strip_prefix("crates/a/src/b.rs/");
                (name.unwrap(), one.methods)
            })
            .collect();
        assert_eq!(found, expected, "{code}");
    };
    check(
        "struct A;\nstruct B {}\nstruct C();",
        &[("A", 0), ("B", 0), ("C", 0)],
    );
    check(
        "enum E { A(u8), B { a: u8 } }
         impl E { fn a() { fn inner() {} } const F: fn(u8) = g; pub const fn b(&self) {} }
         impl<T: Fn() -> u8> From<Vec<T>> for E where T: for<'a> Into<&'a u8> { fn from() {} }
         unsafe impl Send for E {}
         fn f(x: impl Fn(E)) -> impl Iterator<Item = E> { fn y() {} }",
        &[("E", 3)],
    );
    check(
        "struct Far; impl<'a> fmt::Display for &'a Far { fn fmt() {} }
         mod inner { struct Near(u8); impl Near { fn a() {} fn b() {} } }
         struct Near;",
        &[("Far", 2), ("inner::Near", 2), ("Near", 1)],
    );
    check(
        "struct A { a: u8, #[cfg(test)] b: u8, #[cfg(test)] c: u8 }
         impl A { fn a() {} #[cfg(test)] fn b() { { } } }
         #[cfg(test)] impl A { fn c() {} }
         #[cfg(test)] mod tests { struct B; impl super::A { fn d() {} } }",
        &[("A", 1)],
    );
}
