//! Golden files: every template of the embedded servers, rendered with fixed values, as the
//! server would read it. `BAKEOFF_BLESS=1` writes them anew.

use std::path::Path;

use bakeoff_plan::{Content, Workload};

use crate::servers::Servers;
use crate::template::{self, Variables};

fn workload(name: &str) -> Workload {
    Workload {
        name: name.to_owned(),
        description: String::new(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        expect_status: 200,
        expect_body: Content::Text(String::new()),
        files: Vec::new(),
        proxied: false,
    }
}

fn variables(server: &crate::Server) -> Variables {
    let mut variables = Variables::default();
    for (name, value) in &server.description.variables {
        variables.set(name, value.clone());
    }
    variables.set("port", 8080);
    variables.set("root", "/run/trial/root");
    variables.set("run", "/run/trial/run");
    variables.set("log", "/run/trial/server.log");
    variables.set("origin", "127.0.0.1:8081");
    variables.set("workers", 1);
    variables.set("cpus", vec![1_usize]);
    variables.set("is_root", true);
    variables
}

#[test]
fn configurations_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let bless = std::env::var_os("BAKEOFF_BLESS").is_some();
    let mut seen = Vec::new();
    for name in ["nginx", "caddy"] {
        let server = Servers::new(None).find(name).unwrap();
        for (variant, templates) in &server.description.templates {
            for workload_name in templates.keys() {
                let template = server.template(variant, &workload(workload_name)).unwrap();
                let text = template::render(&template.text, &variables(&server), "").unwrap();
                let file = format!("{name}-{variant}-{workload_name}.txt");
                if bless {
                    std::fs::write(folder.join(&file), &text).unwrap();
                }
                let golden = std::fs::read_to_string(folder.join(&file)).unwrap_or_default();
                assert_eq!(text, golden, "{file}; BAKEOFF_BLESS=1 accepts the change");
                seen.push(file);
            }
        }
    }
    let entries = std::fs::read_dir(&folder).unwrap().flatten();
    let mut there: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    there.sort();
    seen.sort();
    assert_eq!(there, seen, "a golden file without a template");
}
