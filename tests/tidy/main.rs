//! Rules that no compiler checks: lengths, sizes of types, the comment at the top of each file, who
//! may print, which crate may use which, where the crates of others come from, how often `unsafe`
//! is said, links between documents, and plain words in them.
//!
//! An offence that must stay is listed in `exceptions.txt` with its reason. The list only
//! shrinks: an entry that nothing needs any more fails too, and so does one whose type became
//! smaller than it says. Its length is fixed in `exceptions.rs`.
//! What rustfmt and clippy check by themselves is left to them.

mod circles;
mod crates;
mod dependencies;
mod exceptions;
mod files;
mod functions;
mod language;
mod links;
mod mask;
mod rules;
mod toolchain;
mod types;
mod unsafe_code;

use rules::Offence;

#[test]
fn files_lines_and_functions_are_short() {
    let sources = files::sources();
    exceptions::judge(&rules::LENGTHS, rules::lengths(&sources));
}

#[test]
fn types_have_few_methods() {
    let sources = files::sources();
    exceptions::judge_sizes(rules::sizes(&sources));
}

#[test]
fn modules_say_what_they_do_and_leave_nothing_open() {
    let sources = files::sources();
    exceptions::judge(&rules::CONTENTS, rules::contents(&sources));
}

#[test]
fn only_the_command_line_prints_or_exits() {
    let sources = files::sources();
    exceptions::judge(&rules::PRINTING, rules::printing(&sources));
}

#[test]
fn crates_know_only_those_below_them() {
    assert_none(crates::unknown_edges());
}

#[test]
fn files_of_a_crate_form_no_more_circles() {
    assert_none(circles::circles(&files::sources()));
}

#[test]
fn what_explains_uses_no_crate_that_only_linux_has() {
    assert_none(crates::linux_elsewhere(&files::sources()));
}

#[test]
fn pure_crates_ban_the_world() {
    assert_none(crates::missing_bans());
}

#[test]
fn crates_of_others_come_from_the_registry_with_a_checksum() {
    assert_none(dependencies::foreign_sources());
}

#[test]
fn crates_of_others_have_allowed_licences() {
    assert_none(dependencies::foreign_licences());
}

#[test]
fn crates_of_others_are_there_once_or_listed() {
    assert_none(dependencies::unlisted_duplicates());
}

#[test]
fn the_oldest_rust_is_the_one_that_is_promised() {
    assert_none(toolchain::disagreements());
}

#[test]
fn unsafe_code_gets_no_more_and_says_why_it_is_sound() {
    let sources = files::sources();
    assert_none(unsafe_code::miscounted(&sources));
    assert_none(unsafe_code::without_reason(&sources));
}

#[test]
fn links_between_documents_lead_somewhere() {
    assert_none(links::broken());
}

#[test]
fn documents_and_help_use_plain_words() {
    assert_none(language::idioms());
}

/// Fails with every offence on a line of its own.
#[track_caller]
fn assert_none(offences: Vec<Offence>) {
    let lines: Vec<String> = offences.iter().map(Offence::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}
