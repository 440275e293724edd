//! Configuration files and command lines from templates.
//!
//! A variable that is not set is an error, never empty text: a server that starts with half a
//! configuration would be measured as something that it is not.

use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior};

use crate::server::Server;
use crate::variables::Variables;
use crate::version::at_least;

/// Steps that rendering one template may take: those of the longest loops that make sense, and
/// an end of those that do not.
const STEPS_MAX: u64 = 1_000_000;
/// Longest text that a template may become, bytes.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// What a template can ask and include besides its variables.
pub(crate) struct Context<'a> {
    /// The program's version, for `at_least`.
    pub(crate) version: &'a str,
    /// What `says` looks into, when the template asks what the user's file says by itself.
    pub(crate) configuration: &'a str,
    /// The folder whose files can be included.
    pub(crate) files: &'a Server,
}

/// Renders one template.
pub(crate) fn render(
    template: &str,
    variables: &Variables,
    context: &Context<'_>,
) -> Result<String, String> {
    let mut environment = environment()?;
    let configuration = context.configuration.to_owned();
    environment.add_function("says", move |word: String| says(&configuration, &word));
    let version = context.version.to_owned();
    environment.add_function("at_least", move |least: String| at_least(&version, &least));
    let files = context.files.clone();
    environment.set_loader(move |name| Ok(files.read(name).ok()));
    let parsed = environment.template_from_str(template);
    let parsed = parsed.map_err(|cause| message(&cause))?;
    let mut text = Limited(Vec::new());
    let rendered = parsed.render_captured_to(&variables.0, &mut text);
    rendered.map_err(|cause| message(&cause))?;
    String::from_utf8(text.0).map_err(|cause| cause.to_string())
}

/// A text that grows up to the limit.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > TEXT_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a template includes files of its folder.
pub(crate) fn includes(template: &str) -> bool {
    template.contains("{% include ")
}

/// Whether a template uses the variable `name`.
pub(crate) fn uses(template: &str, name: &str) -> bool {
    let Ok(environment) = environment() else {
        return false;
    };
    let parsed = environment.template_from_str(template);
    parsed.is_ok_and(|parsed| parsed.undeclared_variables(false).contains(name))
}

/// Whether a user's file is meant as a template at all. Braces of one kind alone are common in
/// configurations; two opening ones are not.
pub(crate) fn is_template(text: &str) -> bool {
    let has_braces = text.contains("{{") || text.contains("{%");
    // Other templates stand in configurations as well, such as those of Caddy's `templates`.
    let names = ["port", "root", "origin", "run", "certificate", "workers"];
    let is_named = || {
        names
            .iter()
            .any(|name| text.contains(&format!("{{{{ {name}")))
    };
    let parses = || environment().is_ok_and(|it| it.template_from_str(text).is_ok());
    has_braces && (parses() || is_named())
}

fn environment() -> Result<Environment<'static>, String> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(STEPS_MAX));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_keep_trailing_newline(true);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    // `{#` begins a comment elsewhere: in a server's file it is a block whose first line is one.
    let syntax = SyntaxConfig::builder()
        .comment_delimiters("{##", "##}")
        .build();
    environment.set_syntax(syntax.map_err(|cause| cause.to_string())?);
    Ok(environment)
}

fn message(cause: &minijinja::Error) -> String {
    // Where a file that is included fails, the error of the include has its cause as its source.
    let mut next: Option<&dyn std::error::Error> = Some(cause);
    while let Some(error) = next {
        match error.downcast_ref().map(minijinja::Error::kind) {
            Some(ErrorKind::OutOfFuel) => {
                return format!("it takes more than {STEPS_MAX} steps; make its loops shorter");
            }
            Some(ErrorKind::WriteFailure) => {
                return format!("it becomes longer than {TEXT_BYTES_MAX} bytes; make it shorter");
            }
            _ => next = error.source(),
        }
    }
    let detail = cause
        .detail()
        .map(|detail| format!(": {detail}"))
        .unwrap_or_default();
    let line = cause
        .line()
        .map(|line| format!("line {line}: "))
        .unwrap_or_default();
    format!("{line}{}{detail}", cause.kind())
}

/// Whether a statement of `configuration` begins with `word`; comments count for nothing.
pub(crate) fn says(configuration: &str, word: &str) -> bool {
    let lines = configuration
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    lines
        .flat_map(|line| line.split([';', '{', '}']))
        .filter_map(|statement| {
            let words = statement.split(|c: char| c.is_whitespace() || c == '=');
            words.into_iter().find(|word| !word.is_empty())
        })
        .any(|first| first == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::Servers;

    fn check(template: &str, configuration: &str, expected: Result<&str, &str>) {
        let mut variables = Variables::default();
        variables.set("port", 8080);
        variables.set("cpus", vec![1_usize, 3]);
        let context = Context {
            version: "1.22.1-9",
            configuration,
            files: &Servers::new(None).find("nginx").unwrap(),
        };
        let rendered = render(template, &variables, &context);
        match (rendered, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(cause), Err(part)) => assert!(cause.contains(part), "{cause}"),
            (rendered, _) => panic!("{template}: {rendered:?}"),
        }
    }

    #[test]
    fn renders_values_and_refuses_missing_ones() {
        check("listen {{ port }};\n", "", Ok("listen 8080;\n"));
        check("{{ cpus | length }}", "", Ok("2"));
        check("a\nb {{ origin }}\n", "", Err("line 2: undefined value"));
        check(
            "location / {# a comment\n}\n",
            "",
            Ok("location / {# a comment\n}\n"),
        );
    }

    #[test]
    fn a_template_comes_to_an_end() {
        let times = |times: u32| format!("{{% for i in range({times}) %}}");
        let (begin, end) = (times(2000), "{% endfor %}");
        let long = format!("{begin}{begin}{{{{ i }}}}{end}{end}");
        let steps = "it takes more than 1000000 steps";
        check(&long, "", Err(steps));
        let large = format!("{begin}{}{end}", "x".repeat(10_000));
        check(&large, "", Err("it becomes longer than 16777216 bytes"));
        let short = format!("{}x{end}", times(1000));
        check(&short, "", Ok(&"x".repeat(1000)));
        let recursive = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
        check(recursive, "", Err("recursion limit"));
    }

    #[test]
    fn says_looks_at_statements() {
        let ask = "{% if says(\"pid\") %}yes{% else %}no{% endif %}";
        check(ask, "daemon off; pid x;", Ok("yes"));
        check(ask, "events {}\n\tpid\t/run/x.pid;\n", Ok("yes"));
        check(ask, "pid=x\n", Ok("yes"));
        check(ask, "# pid x;\npidfile y;\n", Ok("no"));
    }

    #[test]
    fn at_least_compares_versions_by_number() {
        for (least, expected) in [
            ("1.22.1", true),
            ("1.9", true),
            ("1.25.1", false),
            ("2", false),
        ] {
            let ask = format!("{{% if at_least(\"{least}\") %}}yes{{% endif %}}");
            check(&ask, "", Ok(if expected { "yes" } else { "" }));
        }
    }

    #[test]
    fn knows_which_variables_a_template_uses() {
        assert!(uses("listen {{ port }};", "port"));
        assert!(!uses("listen 8080;", "port"));
        assert!(is_template("{% if x %}{% endif %}"));
        assert!(!is_template("respond \"{http.request.host}\" {$HOME}"));
    }
}
