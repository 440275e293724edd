use super::*;

#[test]
fn what_is_hidden_is_hidden_once() {
    let mut redaction = Redaction::default();
    for text in [
        "password mustard1;",
        "token: \"relish-22\"",
        "password mustard1;",
    ] {
        redaction.learn(Field::Configuration, text);
    }
    let text = "password mustard1; api_token relish-22; # mustard1\nkey: pickle";
    let hidden = redaction.configuration(text);
    let expected = "password [secret-1]; api_token [secret-2]; # [secret-1]\nkey: [secret]";
    assert_eq!(hidden, expected);
    assert_eq!(redaction.configuration(&hidden), hidden);
    assert_eq!(
        redaction.line("user joe gave mustard1"),
        "user joe gave [secret-1]"
    );
    assert_eq!(Redaction::nothing().line("token=abc"), "token=abc");
}

#[test]
fn a_value_that_is_a_name_too_is_hidden_only_in_its_place() {
    let mut redaction = Redaction::default();
    redaction.learn(Field::Name, "mustard-default");
    redaction.learn(Field::Configuration, "password mustard;");
    assert_eq!(
        redaction.line("mustard-default is up"),
        "mustard-default is up"
    );
    assert_eq!(
        redaction.configuration("password mustard;"),
        "password [secret-1];"
    );
}

#[test]
fn what_was_sent_stays_as_long_as_it_was() {
    let mut redaction = Redaction::default();
    let field = Field::Header {
        name: "Set-Cookie",
        sent: true,
    };
    for value in ["sid=0123456789abcdef; Path=/", "a=b"] {
        redaction.learn(field, value);
        let mut text = value.to_owned();
        redaction.hide_field(field, &mut text);
        assert_eq!(text.len(), value.len());
        assert!(text.starts_with("[se") && !text.contains('='), "{text}");
    }
}

#[test]
fn arguments_that_follow_a_secret_flag_are_hidden() {
    let arguments = [
        "load",
        "--password",
        "mustard",
        "-H",
        "X-Api-Key: abc",
        "--rate=5",
    ];
    let hidden = Redaction::default().command(&arguments.map(str::to_owned));
    let expected = [
        "load",
        "--password",
        "[secret]",
        "-H",
        "X-Api-Key: [secret]",
        "--rate=5",
    ];
    assert_eq!(hidden, expected);
}

#[test]
fn words_of_a_page_are_no_secrets() {
    let mut redaction = Redaction::default();
    let page = "<!doctype html>\n<p>Value event river request token copper house.</p>\n\
                <a href=\"/x?token=mustard1\">x</a>";
    redaction.learn(Field::Body, page);
    let mut hidden = page.to_owned();
    redaction.hide_field(Field::Body, &mut hidden);
    assert!(hidden.contains("request token copper house."), "{hidden}");
    assert!(!hidden.contains("mustard1"), "{hidden}");
    assert_eq!(hidden.len(), page.len());
}
