//! Users' files stay as they are, and nothing is made outside of the trial's folder.

mod many;
mod site;
mod taken;

use bakeoff_plan::Replacement;

use super::*;

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
        ports: &Ports::default(),
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
