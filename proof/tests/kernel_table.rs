// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which kernels DKMS builds the modules for: those of `kmod/kernels.txt`, as its own reading of `dkms.conf` has it.

use std::path::Path;
use std::process::Command;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// As DKMS does it: the file is sourced with the release in `kernelver`, then what /etc/dkms says, and a regular expression compared.
fn builds_for(release: &str, administrator: &str) -> bool {
    let script = format!(
        "set -e; kernelver={release}; kernel_source_dir=/x; source <(tools/dkms-conf.sh 1.2.3); [ $PACKAGE_VERSION = 1.2.3 ]; {administrator}
         if [[ ! $BUILD_EXCLUSIVE_KERNEL ]] || [[ $kernelver =~ $BUILD_EXCLUSIVE_KERNEL ]]; then echo yes; else echo no; fi"
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "{release}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim() == "yes"
}

#[test]
fn only_lines_that_were_booted_are_built_for() {
    let table = std::fs::read_to_string(repository().join("kmod/kernels.txt")).unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect()).collect();
    assert!(!rows.is_empty(), "{table}");
    for row in &rows {
        let [line, kernel, release] = row[..] else { panic!("not LINE KERNEL RELEASE: {row:?}") };
        assert!(["6.1", "stock", "newest"].contains(&kernel), "{kernel}: the tests know no such kernel");
        assert!(release.starts_with(&format!("{line}.")), "{release} is not of the line {line}");
        assert!(builds_for(release, ""), "{release}");
        assert!(builds_for(&format!("{line}.999-amd64"), ""), "{line}");
        assert!(!builds_for(&format!("{line}.9-rt-amd64"), ""), "{line}, PREEMPT_RT");
    }
    for other in ["5.10.0-9-amd64", "6.10.11-amd64", "6.120.1-amd64", "61.0.1-amd64", "99.1.0-amd64"] {
        assert!(!builds_for(other, ""), "{other}");
    }
}

#[test]
fn an_administrator_may_build_for_others() {
    assert!(builds_for("99.1.0-amd64", "BUILD_EXCLUSIVE_KERNEL="));
}

/// dkms 3.0 asks first whether the modules want to be built at all, and has not yet said for which kernel in its own scope; one that is excluded later
/// fails the kernel's package. What it reads then, and what it says.
fn of_dkms_3_0(release: &str) -> (String, String) {
    let script = format!(
        "action=autoinstall; kernelver=({release})
         safe_source() {{ ( . <(tools/dkms-conf.sh 1.2.3) >/dev/null; echo \"AUTOINSTALL=$AUTOINSTALL\" ); }}
         read_conf() {{ local kernelver=; safe_source; }}
         read_conf"
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(repository()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_kernel_that_is_not_built_for_fails_nothing_and_is_said_in_one_line() {
    let table = std::fs::read_to_string(repository().join("kmod/kernels.txt")).unwrap();
    let line = table.lines().find(|line| !line.starts_with('#')).unwrap().split_whitespace().next().unwrap();
    assert_eq!(of_dkms_3_0(&format!("{line}.1-amd64")), ("AUTOINSTALL=yes".into(), String::new()));
    for (release, reason) in [
        (format!("{line}.1-rt-amd64"), "PREEMPT_RT is not supported"),
        ("99.1.0-amd64".to_owned(), "they were tested on"),
    ] {
        let (read, said) = of_dkms_3_0(&release);
        assert_eq!(read, "AUTOINSTALL=");
        assert!(said.lines().count() == 1 && said.contains(&release) && said.contains(reason), "{said}");
    }
}
