use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// Whether this is root, without which nobody can be anybody else.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "run it as root"
        );
        println!("PASSED OVER: only root runs servers as other users");
    }
    is_root
}

fn chosen(named: Option<&str>, sudo_uid: Option<&str>) -> Result<Option<u32>, String> {
    let named = named.map(|name| ("`user` of contender `it`".to_owned(), name));
    let user = User::choose(named, sudo_uid);
    user.map(|user| user.map(|user| user.uid))
        .map_err(|error| error.to_string())
}

fn stranger() -> User {
    User {
        name: "stranger".to_owned(),
        uid: 4_000_001,
        gid: 4_000_002,
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A folder that everybody can enter.
fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o755);
    folder
}

/// A folder that only its owner can enter.
fn private_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o700);
    folder
}

#[test]
fn root_gives_up_root_unless_it_is_asked_for_by_name() {
    if !is_root() {
        assert_eq!(chosen(Some("no such user"), Some("x")), Ok(None));
        return;
    }
    let nobody = by_name("nobody").unwrap().map_or(NOBODY.1, |it| it.uid);
    let daemon = by_name("daemon").unwrap().unwrap().uid;
    assert_eq!(chosen(None, None), Ok(Some(nobody)));
    assert_eq!(
        chosen(None, Some("0")),
        Ok(Some(nobody)),
        "root called sudo"
    );
    assert_eq!(chosen(None, Some(&daemon.to_string())), Ok(Some(daemon)));
    assert_eq!(chosen(Some("daemon"), None), Ok(Some(daemon)));
    assert_eq!(chosen(Some("root"), Some(&daemon.to_string())), Ok(None));
}

#[test]
fn an_unknown_user_is_an_error_that_names_the_key() {
    if !is_root() {
        return;
    }
    for name in ["no-such-user", "", "a\0b", "root:", "0"] {
        let error = chosen(Some(name), None).unwrap_err();
        assert!(error.contains("`user` of contender `it` is `"), "{error}");
    }
    for uid in ["4000001", "-1", "", "root", " 0", "4294967296"] {
        let error = chosen(None, Some(uid)).unwrap_err();
        assert!(error.contains("SUDO_UID is `"), "{error}");
    }
}

#[test]
fn permission_bits_show_what_a_user_can_read() {
    let folder = open_folder();
    let (inner, file) = (
        folder.path().join("inner"),
        folder.path().join("inner/file"),
    );
    fs::create_dir(&inner).unwrap();
    fs::write(&file, "").unwrap();
    let link = folder.path().join("link");
    symlink(&file, &link).unwrap();
    for (folder_mode, file_mode, expected) in [
        (0o755, 0o644, true),
        (0o711, 0o604, true),
        (0o755, 0o640, false),
        (0o700, 0o644, false),
        (0o766, 0o644, false),
    ] {
        set_mode(&inner, folder_mode);
        set_mode(&file, file_mode);
        for path in [&file, &link] {
            assert_eq!(
                stranger().can_read(path),
                expected,
                "{folder_mode:o} {file_mode:o}"
            );
            let closed = stranger().kept_out_by(path);
            let closed = closed.map(|it| (it.path, it.missing));
            let real = folder.path().canonicalize().unwrap();
            let by = match folder_mode & 0o1 {
                0 => (real.join("inner"), "o+x"),
                _ => (real.join("inner/file"), "o+r"),
            };
            let names =
                |(path, missing): (PathBuf, &'static str)| (path.canonicalize().unwrap(), missing);
            assert_eq!(closed.map(names), (!expected).then_some(by));
        }
        let enters = stranger().kept_out_by(&inner).is_none();
        assert_eq!(enters, folder_mode & 0o1 == 0o1, "{folder_mode:o}");
    }
    assert!(!stranger().can_read(Path::new("/no/such/file")));
    let owner = file.metadata().unwrap();
    let owner = User {
        uid: owner.uid(),
        gid: owner.gid(),
        ..stranger()
    };
    set_mode(&inner, 0o700);
    set_mode(&file, 0o400);
    assert!(owner.can_read(&file));
}

#[test]
fn a_way_is_the_path_wherever_the_user_can_go_it() {
    let way = |path: &str| stranger().way_to(Path::new(path)).unwrap();
    for path in ["sh", "/bin/sh", "/no/such/program"] {
        let way = way(path);
        assert!(
            way.kept.is_none() && way.program == Path::new(path),
            "{way:?}"
        );
    }
    let folder = open_folder();
    let program = folder.path().join("program");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    set_mode(&program, 0o700);
    let cause = stranger().way_to(&program).unwrap_err().to_string();
    assert!(
        cause.contains("user stranger may not run") && cause.contains("program"),
        "{cause}"
    );
}

/// Runs a program as somebody who cannot enter its folder, and returns its output.
fn ran(program: &Path) -> String {
    use std::os::unix::process::CommandExt as _;
    let user = stranger();
    let way = user.way_to(program).unwrap();
    assert!(way.kept.is_some(), "{way:?}");
    let mut command = std::process::Command::new(&way.program);
    command.arg0(program).current_dir("/");
    // SAFETY: system calls only.
    unsafe {
        command.pre_exec(move || {
            user.assume()?;
            way.keep()
        });
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_program_in_a_folder_of_roots_alone_runs_as_another_user() {
    if !is_root() {
        return;
    }
    let folder = private_folder();
    fs::create_dir(folder.path().join("cache")).unwrap();
    for inner in [folder.path().to_owned(), folder.path().join("cache")] {
        let id = inner.join("id");
        fs::copy("/usr/bin/id", &id).unwrap();
        assert!(ran(&id).starts_with("uid=4000001 gid=4000002 groups=4000002"));
        let script = inner.join("script");
        let text = "#!/bin/sh\nid -u; grep NoNewPrivs /proc/self/status\n";
        fs::write(&script, text).unwrap();
        set_mode(&script, 0o755);
        assert_eq!(ran(&script), "4000001\nNoNewPrivs:\t1\n");
    }
    // Where it can, the process goes by the program's name.
    let way = stranger().way_to(&folder.path().join("cache/id")).unwrap();
    assert!(way.program.ends_with("id"), "{way:?}");
}

#[test]
fn a_folder_is_handed_over_without_what_only_looks_like_a_part_of_it() {
    if !is_root() {
        return;
    }
    let base = open_folder();
    let (folder, outside) = (base.path().join("trial"), base.path().join("outside"));
    fs::create_dir_all(folder.join("run/deep")).unwrap();
    fs::write(folder.join("run/deep/file"), "").unwrap();
    for name in ["linked", "named"] {
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join(name), "").unwrap();
    }
    symlink(outside.join("linked"), folder.join("link")).unwrap();
    symlink(&outside, folder.join("folder-link")).unwrap();
    fs::hard_link(outside.join("named"), folder.join("second-name")).unwrap();
    hand_over(&folder, Some(&stranger())).unwrap();
    let owner = |path: PathBuf| path.symlink_metadata().unwrap().uid();
    for name in ["", "run", "run/deep", "run/deep/file", "link"] {
        assert_eq!(owner(folder.join(name)), 4_000_001, "{name}");
    }
    for path in [
        outside.join("linked"),
        outside.join("named"),
        outside.clone(),
    ] {
        assert_eq!(owner(path.clone()), 0, "{}", path.display());
    }
}

#[test]
fn a_server_that_stays_root_may_give_it_up_and_its_keys_stay_its_own() {
    if !is_root() {
        return;
    }
    let folder = open_folder();
    for name in ["root/index.html", "tls/key.pem"] {
        let path = folder.path().join(name);
        bakeoff_record::private_folder(path.parent().unwrap()).unwrap();
        bakeoff_record::write_private(&path, b"").unwrap();
    }
    hand_over(folder.path(), None).unwrap();
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().mode() & 0o777;
    assert_eq!((mode("root"), mode("root/index.html")), (0o755, 0o644));
    assert_eq!((mode("tls"), mode("tls/key.pem")), (0o700, 0o600));
}

#[test]
fn a_run_folder_that_the_user_cannot_enter_is_named() {
    if !is_root() {
        return;
    }
    let base = private_folder();
    let folder = base.path().join("trial");
    fs::create_dir(&folder).unwrap();
    let error = hand_over(&folder, Some(&stranger()))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("stranger") && error.contains("TMPDIR"),
        "{error}"
    );
    assert_eq!(folder.metadata().unwrap().uid(), 0);
}
