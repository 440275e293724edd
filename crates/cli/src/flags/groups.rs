//! The help of `bakeoff` itself: its commands in groups, the most used ones first. Names and
//! descriptions come from the commands; here is only which group they are in.

use clap::Command;

/// Headings and the commands below them. Hidden commands are in none.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Most used", &["race", "run", "load", "report", "doctor"]),
    (
        "Measure",
        &[
            "find",
            "overload",
            "change",
            "try",
            "plan",
            "experiments",
            "debug",
            "origin",
            "yardstick",
        ],
    ),
    ("Explain", &["compare", "history", "verify", "audit"]),
    ("Share", &["site"]),
    (
        "Keep in order",
        &[
            "list",
            "install",
            "hosts",
            "clean",
            "selftest",
            "completions",
            "man",
            "schema",
        ],
    ),
];

/// The command with its help in groups.
pub(super) fn grouped(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let (bold, heading) = (
        *command.get_styles().get_literal(),
        *command.get_styles().get_header(),
    );
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (title, names) in GROUPS {
        text.push_str(&format!("{heading}{title}:{heading:#}\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {bold}{name:width$}{bold:#}  {about}\n"));
        }
        text.push('\n');
    }
    text.push_str(&format!(
        "{heading}Options:{heading:#}\n{{options}}{{after-help}}"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::flags::command;

    #[test]
    fn each_command_is_in_one_group_and_hidden_ones_in_none() {
        let command = command();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut visible: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }

    #[test]
    fn the_help_fits_eighty_columns_and_has_what_each_command_says_of_itself() {
        let mut command = command();
        let help = command.render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for (title, names) in GROUPS {
            assert!(help.contains(&format!("\n{title}:\n")), "{help}");
            for name in names {
                let about = command.find_subcommand(name).unwrap().get_about().unwrap();
                let line = help
                    .lines()
                    .find(|line| line.starts_with(&format!("  {name} ")));
                let line = line.unwrap_or_else(|| panic!("no {name} in {help}"));
                assert!(line.ends_with(&format!("  {about}")), "{line}");
            }
        }
        assert!(help.contains("\nUsage: bakeoff <COMMAND>\n"), "{help}");
        assert!(help.contains("\n  -V, --version"), "{help}");
        assert!(help.trim_end().ends_with("record kept."), "{help}");
    }
}
