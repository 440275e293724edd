//! Where functions begin and how many lines they have, by counting braces in masked code.
//! Lines that hold only a comment, or nothing, are not counted: saying why costs nobody.

/// A function.
pub(crate) struct Function {
    /// Line of its first word, from 1.
    pub(crate) line: usize,
    /// Lines with code between the braces of its body.
    pub(crate) lines: usize,
}

/// Every function with a body in masked code. Closures of Rust belong to the function around
/// them; arrow functions of TypeScript with a block count for themselves as well.
pub(crate) fn functions(code: &str, rust: bool) -> Vec<Function> {
    let marks: &[&str] = if rust {
        &["fn "]
    } else {
        &["function", "=> {"]
    };
    let mut found = Vec::new();
    for mark in marks {
        for (start, _) in code.match_indices(mark) {
            let before = code[..start].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            if let Some((open, end)) =
                body(code, start).and_then(|open| Some((open, closing(code, open)?)))
            {
                let line = code[..start].matches('\n').count() + 1;
                let body = code[open + 1..end].lines();
                let lines = body.filter(|line| !line.trim().is_empty()).count();
                found.push(Function { line, lines });
            }
        }
    }
    found
}

/// Position of the brace that opens the body; `None` for a declaration or a type.
fn body(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(start + at),
            ';' | ',' if depth == 0 => return None,
            _ if depth < 0 => return None,
            _ => {}
        }
    }
    None
}

/// Position of the brace that closes the one at `open`.
fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + at);
        }
    }
    None
}

#[test]
fn lines_of_a_body_are_counted() {
    let check = |code: &str, rust, expected: &[(usize, usize)]| {
        let found = functions(code, rust);
        let found: Vec<_> = found.iter().map(|one| (one.line, one.lines)).collect();
        assert_eq!(found, expected, "{code}");
    };
    check(
        "a\nfn f(x: [u8; 2]) -> u8 {\n  { }\n}\nfn g();\n",
        true,
        &[(2, 1)],
    );
    check(
        "type F = fn (u8) -> u8;\nfn f<T>()\nwhere T: Fn(u8, u8) {}",
        true,
        &[(2, 0)],
    );
    check(
        "function f() {\n  g(() => {\n  });\n}",
        false,
        &[(1, 2), (2, 0)],
    );
}
