//! Any bytes read as a log of requests, in the format that the first of them chooses: each line is
//! kept or left out, and what becomes of them is a plan that is written and read back the same.

use std::io::{self, BufRead, Cursor};
use std::path::Path;

use bakeoff_plan::{AccessLog, Builtin, Library, LogFormat, parse};

struct Log(Vec<u8>);

impl Library for Log {
    fn workload(&self, _: &str) -> Option<String> {
        None
    }

    fn workload_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn open(&self, _: &Path, _: &str) -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(Cursor::new(self.0.clone())))
    }
}

pub(crate) fn check(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else {
        return;
    };
    let (format, name) = match first % 3 {
        0 => (LogFormat::Combined, "combined"),
        1 => (LogFormat::Caddy, "caddy"),
        _ => (LogFormat::Har, "har"),
    };
    if let Ok(log) = AccessLog::read(format, None, &mut &*bytes) {
        assert_eq!(log.total(), log.kept() + log.left_out());
    }
    let answers = if first & 4 == 0 { "files" } else { "status" };
    let text = format!(
        "name = \"p\"\n[[contender]]\nname = \"a\"\nserver = \"nginx\"\n[[load]]\nclients = 1\n\
         [[workload]]\nname = \"day\"\n[workload.replay]\nfile = \"day.log\"\n\
         format = \"{name}\"\nanswers = \"{answers}\"\n"
    );
    if let Ok(plan) = parse(&text, "plan.toml", Path::new("/"), &Log(bytes.to_vec())) {
        let again = parse(&plan.to_toml(), "again.toml", Path::new("/"), &Builtin);
        assert_eq!(again.expect("a written plan is a plan"), plan);
    }
}
