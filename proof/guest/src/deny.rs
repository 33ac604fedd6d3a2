// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Playing an older kernel: a seccomp filter that answers ENOSYS to system calls which this kernel has.

use fovea_scenario::Syscall;

use crate::outcome::Outcome;

/// AUDIT_ARCH_X86_64, _AARCH64, _ARM (linux/audit.h): numbers of calls mean something on one architecture only.
const ARCH: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else if cfg!(target_arch = "aarch64") {
    0xc000_00b7
} else {
    0x4000_0028
};

/// Offsets in `struct seccomp_data` (linux/seccomp.h).
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;

fn number(call: Syscall) -> u32 {
    let number = match call {
        Syscall::ProcessMadvise => libc::SYS_process_madvise,
        Syscall::ProcessMrelease => libc::SYS_process_mrelease,
        Syscall::PidfdOpen => libc::SYS_pidfd_open,
    };
    number as u32
}

fn instruction(code: u32, k: u32, jump_true: u8, jump_false: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: jump_true, jf: jump_false, k }
}

/// Allows everything but the calls named.
fn filter(calls: &[Syscall]) -> Vec<libc::sock_filter> {
    let load = |at| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0);
    let skip_unless = |value| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, 0, 1);
    let answer = |value| instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0);
    let mut program = vec![
        load(ARCH_AT),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, ARCH, 1, 0),
        answer(libc::SECCOMP_RET_ALLOW),
        load(NUMBER_AT),
    ];
    for &call in calls {
        program.push(skip_unless(number(call)));
        program.push(answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32));
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// From here on this process and all it starts have not got these calls.
pub fn deny(calls: &[Syscall]) -> Outcome<()> {
    if calls.is_empty() {
        return Ok(());
    }
    let mut program = filter(calls);
    let description = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies `len` instructions, which live until the call returns. The first process is root, so that the filter
    // needs no PR_SET_NO_NEW_PRIVS.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &description) };
    match done {
        0 => Ok(()),
        _ => Err(format!("a seccomp filter: {}", std::io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter program as the kernel runs it.
    fn run(program: &[libc::sock_filter], arch: u32, number: u32) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            match u32::from(step.code) & 7 {
                libc::BPF_LD => loaded = if step.k == ARCH_AT { arch } else { number },
                libc::BPF_RET => return step.k,
                _ => at += usize::from(if loaded == step.k { step.jt } else { step.jf }),
            }
        }
    }

    #[test]
    fn only_the_named_calls_are_missing() {
        let program = filter(&[Syscall::ProcessMadvise, Syscall::PidfdOpen]);
        let denied = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        assert_eq!(run(&program, ARCH, libc::SYS_process_madvise as u32), denied);
        assert_eq!(run(&program, ARCH, libc::SYS_pidfd_open as u32), denied);
        assert_eq!(run(&program, ARCH, libc::SYS_process_mrelease as u32), libc::SECCOMP_RET_ALLOW);
        assert_eq!(run(&program, ARCH, libc::SYS_execve as u32), libc::SECCOMP_RET_ALLOW);
        assert_eq!(run(&program, 0x4000_0003, libc::SYS_pidfd_open as u32), libc::SECCOMP_RET_ALLOW, "32-bit numbers");
    }
}
