//! Users' files stay as they are, and nothing is made outside of the trial's folder.

mod many;
mod site;
mod taken;

use bakeoff_plan::Replacement;

use super::rules::OwnTable;
use super::*;
use crate::servers::Servers;

fn rules() -> OwnRules {
    let table = r#"
        include = '(?m)^include ([^;]+);'
        [[change]]
        pattern = '^listen;'
        to = 'listens;'
        why = 'a test'
    "#;
    toml::from_str::<OwnTable>(table).unwrap().rules().unwrap()
}

/// Makes the configuration at `main` ready for a trial.
fn change(
    main: &Path,
    own: &Path,
    rules: &OwnRules,
    replacements: &[Replacement],
) -> Result<(PathBuf, Changed), StageError> {
    change_by(main, own, rules, replacements, &|text, _| text.to_owned())
}

/// The same with what templates become.
fn change_by(
    main: &Path,
    own: &Path,
    rules: &OwnRules,
    replacements: &[Replacement],
    render: &dyn Fn(&str, &Variables) -> String,
) -> Result<(PathBuf, Changed), StageError> {
    let files = OwnFiles::read(main, rules)?;
    let tools = Tools {
        rules,
        replacements,
        variables: &Variables::default(),
        ports: &Ports::all_free(),
        names: &Names::default(),
        user: None,
        taken: &Taken::default(),
        blocks: &BTreeSet::new(),
        said: Said::NOTHING,
        served: &[],
        render: &|text, variables, _| Ok(render(text, variables)),
    };
    let changed = files.change(&tools, own)?;
    Ok((files.base, changed))
}

#[test]
fn relative_paths_of_haproxy_begin_where_its_file_says() {
    let rules = Servers::new(None).find("haproxy").unwrap().own.clone();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("etc/my errors")).unwrap();
    let main = root.join("etc/haproxy.cfg");
    for (said, expected) in [
        ("", "etc"),
        ("default-path current", "etc"),
        ("default-path config", "etc"),
        ("default-path parent", ""),
        ("default-path origin \"my errors\"", "etc/my errors"),
        ("default-path origin ..", ""),
        ("# default-path parent", "etc"),
    ] {
        std::fs::write(&main, format!("global\n    {said}\n")).unwrap();
        let files = OwnFiles::read(&main, &rules).unwrap();
        assert_eq!(files.base, root.join(expected), "{said}");
    }
    std::fs::write(&main, "global\n default-path origin /none/here\n").unwrap();
    let error = OwnFiles::read(&main, &rules).unwrap_err().to_string();
    assert!(error.contains("line 2: "), "{error}");
}
