//! What the tests of a lab share: the binary, as whom it runs, and what this machine lacks.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output},
    sync::OnceLock,
};

/// Runs the binary as the user of the test.
pub fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments);
    command
}

/// Runs the binary as a user without any rights. `None` if the user of the test is such a user.
pub fn lab_as_nobody(arguments: &[&str]) -> Option<Command> {
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(binary_for_everyone()).args(arguments);
    // Where everyone may be.
    command.current_dir("/");
    Some(command)
}

/// A copy outside of directories that may be closed to others.
fn binary_for_everyone() -> &'static PathBuf {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        let directory = env::temp_dir().join(format!("lab-test-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("the temporary directory is writable");
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&directory, open).expect("it is ours");
        let copy = directory.join("lab");
        fs::copy(env!("CARGO_BIN_EXE_lab"), &copy).expect("the binary is there");
        copy
    })
}

/// What a test needs of the machine.
#[derive(Clone, Copy)]
pub enum Need {
    /// Namespaces and links.
    Links,
    /// Those, and a way to delay packets.
    Delay,
}

/// Whether this machine has what the test needs. Without it the test says so and passes, but in CI,
/// where a test that silently did nothing would be worse than one that fails.
pub fn has(need: Need, command: impl Fn(&[&str]) -> Command) -> bool {
    let output = command(&["preflight", "--json"])
        .output()
        .expect("the binary runs");
    let text = stdout(&output);
    let preflight: lab::preflight::Preflight =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let has = match need {
        Need::Links => preflight.can_run_rtt_zero,
        Need::Delay => preflight.can_run_delayed,
    };
    if !has {
        let missing: Vec<String> = preflight
            .findings
            .iter()
            .filter(|finding| finding.status == lab::preflight::Status::Missing)
            .map(|finding| format!("{} ({})", finding.name, finding.seen))
            .collect();
        skip(&missing.join(", "));
    }
    has
}

/// Says why a test does nothing; in CI, fails it.
pub fn skip(why: &str) {
    let in_ci = env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "in CI nothing may be missing: {why}");
    println!("skipped: missing {why}");
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
