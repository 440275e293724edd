//! What the tests share.

pub(crate) mod scene;

/// A plan of these contenders (name, server, configuration) under one closed load.
pub(crate) fn plan(contenders: &[(&str, &str, &str)], workload: &str, load: &str) -> String {
    let mut text = format!(
        "name = \"test\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"{workload}\"]\n\
         [references]\nyardstick = false\norigin = false\n"
    );
    for (name, server, config) in contenders {
        text.push_str(&format!(
            "[[contender]]\nname = \"{name}\"\nserver = \"{server}\"\nconfig = \"{config}\"\n"
        ));
    }
    text + &format!("[[load]]\nclients = 3\nwarmup = \"100ms\"\ntimeout = \"5s\"\n{load}\n")
}

/// What is in a report's page where the page was built (`make page`).
pub(crate) const PAGE_BUILT: &str = " id=\"record\">";

/// Passes a test over that needs the page, which must not be where `CI=true`.
#[track_caller]
pub(crate) fn pass_over_without_page() {
    let in_ci = std::env::var("CI").as_deref() == Ok("true");
    assert!(!in_ci, "the page was not built");
}
