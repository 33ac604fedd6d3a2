// SPDX-License-Identifier: GPL-2.0-only OR MIT
use fovea_scenario::Speed;

use super::*;

fn machine(exact: bool) -> Machine {
    Machine {
        platform: Platform::X86_64,
        exact,
        accel: Accel::Tcg,
        cpus: 2,
        by_turns: false,
        exact_cpus: 1,
        memory_bytes: 572 << 20,
        nodes: 1,
        tiers: None,
        kernel: "/k/vmlinux".into(),
        device_tree: None,
        initrd: Some("/t/initrd".into()),
        huge_pages: HugePages::Never,
        kernel_args: vec!["fovea.test".into()],
        disks: Vec::new(),
        hardware: Hardware::default(),
        console: Console::File("/r/a,b/console.log".into()),
    }
}

fn line(machine: &Machine) -> String {
    machine.args().join(std::ffi::OsStr::new(" ")).into_string().unwrap()
}

const TAIL: &str =
    "-kernel /k/vmlinux -initrd /t/initrd -append console=ttyS0 nokaslr norandmaps random.trust_cpu=off \
    no_timer_check tsc=reliable cryptomgr.notests transparent_hugepage=never psi=1 panic=-1 reboot=t quiet fovea.test \
    -chardev file,id=console,path=/r/a,,b/console.log -serial chardev:console \
    -chardev stdio,id=events,signal=off -device isa-debugcon,iobase=0xe9,chardev=events \
    -device isa-debug-exit,iobase=0xf4,iosize=4";

#[test]
fn exact_mode_has_one_cpu_no_host_clock_and_no_randomness() {
    assert_eq!(
        line(&machine(true)),
        format!(
            "-machine microvm,acpi=off,auto-kernel-cmdline=off,x-option-roms=off -nodefaults -no-user-config \
             -display none -no-reboot -accel tcg,thread=single -icount shift=0,sleep=off,rr=record,rrfile=/dev/null \
             -rtc base=2026-01-01,clock=vm -cpu max,cx16=off,-rdrand,-rdseed -smp 1 -m size=572M {TAIL}"
        )
    );
}

#[test]
fn exact_mode_with_several_cpus_is_a_pc_whose_cpus_run_by_turns() {
    let several = line(&Machine { exact_cpus: 8, ..machine(true) });
    assert!(several.starts_with("-machine q35 -nodefaults"), "{several}");
    assert!(
        several.contains("-accel tcg,thread=single -icount shift=0,sleep=off -rtc") && several.contains(" -smp 8 "),
        "{several}"
    );
}

#[test]
fn fast_mode_has_the_phones_cpus() {
    assert_eq!(
        line(&machine(false)),
        format!(
            "-machine q35 -nodefaults -no-user-config \
             -display none -no-reboot -accel tcg,thread=multi -cpu max,cx16=off -smp 2 -m size=572M {TAIL}"
        )
    );
    let by_turns = line(&Machine { by_turns: true, ..machine(false) });
    assert!(by_turns.contains("-accel tcg,thread=single -cpu max,cx16=off -smp 2"));
    let nodes = line(&Machine { nodes: 2, memory_bytes: 573 << 20, ..machine(false) });
    assert!(nodes.contains(
        "-m size=573M -object memory-backend-ram,id=node0,size=286M -numa node,nodeid=0,memdev=node0 \
         -object memory-backend-ram,id=node1,size=287M -numa node,nodeid=1,memdev=node1 -kernel"
    ));
    let kvm = line(&Machine { accel: Accel::Kvm, ..machine(false) });
    assert!(kvm.contains("-accel kvm -cpu host"));
    assert!(!line(&Machine { accel: Accel::Kvm, ..machine(true) }).contains("kvm"), "exact mode is always TCG");
}

fn tiers(slow_bytes: u64) -> Tiers {
    let fast = Speed { latency_ns: 50, bandwidth_mib_per_s: 10240 };
    Tiers { slow_bytes, fast, slow: Speed { latency_ns: 1000, bandwidth_mib_per_s: 1024 } }
}

#[test]
fn tiers_are_nodes_that_firmware_tells_the_speed_of() {
    for (exact, last_cpu) in [(true, 0), (false, 1)] {
        let line = line(&Machine { tiers: Some(tiers(500 << 20)), nodes: 3, ..machine(exact) });
        assert!(line.starts_with("-machine q35,hmat=on -nodefaults"), "microvm has no firmware tables: {line}");
        let wanted = format!(
            "-m size=572M -object memory-backend-ram,id=node0,size=72M -numa node,nodeid=0,memdev=node0,cpus=0-{last_cpu} \
             -object memory-backend-ram,id=node1,size=500M -numa node,nodeid=1,memdev=node1,initiator=0 \
             -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-latency,latency=50 \
             -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=10240M \
             -numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-latency,latency=1000 \
             -numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=1024M -kernel"
        );
        assert!(line.contains(&wanted), "{line}");
    }
}

#[test]
fn slow_memory_leaves_a_kernel_its_fast_memory() {
    let mut phone = crate::testing::plan().phone;
    assert_eq!(checked_tiers(&phone).unwrap(), None);
    for (slow_bytes, good) in [(0, false), (1, false), (448 << 20, true), (449 << 20, false), (u64::MAX, false)] {
        phone.tiers = Some(tiers(slow_bytes));
        assert_eq!(checked_tiers(&phone).is_ok(), good, "{slow_bytes}");
    }
    let mut swapped = tiers(64 << 20);
    std::mem::swap(&mut swapped.fast, &mut swapped.slow);
    phone.tiers = Some(swapped);
    assert!(checked_tiers(&phone).unwrap_err().to_string().contains("slower"));
}

#[test]
fn huge_pages_are_the_profiles() {
    for (huge_pages, word) in [(HugePages::Always, "always"), (HugePages::Madvise, "madvise")] {
        let line = line(&Machine { huge_pages, ..machine(true) });
        assert!(line.contains(&format!(" transparent_hugepage={word} ")) && !line.contains("never"), "{line}");
    }
}

#[test]
fn an_iommu_comes_before_the_devices_it_translates_for_on_a_machine_with_pci() {
    let hardware = Hardware {
        iommu: crate::hardware::Iommu::Intel,
        devices: vec!["edu,addr=4".into()],
        block_devices: vec!["null-co,node-name=d".into()],
    };
    for exact in [true, false] {
        let line = line(&Machine { hardware: hardware.clone(), ..machine(exact) });
        assert!(line.contains("-machine q35,kernel-irqchip=off -nodefaults"), "{line}");
        assert!(
            line.contains(
                " -blockdev null-co,node-name=d -device intel-iommu,intremap=off -device edu,addr=4 -chardev"
            ),
            "{line}"
        );
    }
}

#[test]
fn disks_are_namespaces_of_one_controller() {
    let disks = vec!["/r/swap".into(), "/r/a,b".into()];
    let line = line(&Machine { disks, ..machine(false) });
    assert!(line.contains(
        "-device nvme,id=storage,serial=fovea -drive if=none,format=raw,id=disk1,file=/r/swap \
         -device nvme-ns,bus=storage,nsid=1,drive=disk1 -drive if=none,format=raw,id=disk2,file=/r/a,,b \
         -device nvme-ns,bus=storage,nsid=2,drive=disk2"
    ));
}

#[test]
fn a_shell_has_the_terminal_and_no_events() {
    let shell = line(&Machine { console: Console::Terminal, ..machine(false) });
    assert!(shell.contains("-serial mon:stdio") && !shell.contains("debugcon"));
}

#[test]
fn memory_is_the_phones_less_reservations_and_the_flash() {
    let mut phone = crate::testing::plan().phone;
    assert_eq!(memory_bytes(&phone, Reservation::Absent).unwrap(), (512 - 34 - 8 + 100 + 2) << 20);
    phone.flash.size_bytes += 1;
    assert_eq!(memory_bytes(&phone, Reservation::Absent).unwrap(), (512 - 34 - 8 + 100 + 2 + 1) << 20, "rounded up");
    phone.reserved_bytes.insert("fimc".into(), 512 << 20);
    assert!(memory_bytes(&phone, Reservation::Absent).is_err());
    phone.reserved_bytes.insert("all".into(), u64::MAX);
    assert!(memory_bytes(&phone, Reservation::Absent).is_err());
    phone.reserved_bytes.clear();
    phone.flash.size_bytes = u64::MAX;
    assert!(memory_bytes(&phone, Reservation::Absent).is_err());
}

#[test]
fn reserved_memory_is_there_if_something_is_done_with_it() {
    let phone = crate::testing::plan().phone;
    for reservation in [Reservation::Idle, Reservation::Ecache, Reservation::Returned, Reservation::Migrate] {
        assert_eq!(memory_bytes(&phone, reservation).unwrap(), (512 + 100 + 2) << 20, "{reservation:?}");
    }
    let args = |reservation| reservation_args(&phone, reservation, Platform::X86_64).unwrap();
    assert!(args(Reservation::Absent).is_empty() && args(Reservation::Returned).is_empty());
    assert_eq!(args(Reservation::Idle), ["memmap=44040192$0x10000000"]);
    assert_eq!(args(Reservation::Idle), args(Reservation::Ecache));
    assert_eq!(args(Reservation::Migrate), [format!("movablecore={}", (42 + 64) << 20)]);
    let mut small = phone.clone();
    small.memory_bytes = 320 << 20;
    assert!(reservation_args(&small, Reservation::Idle, Platform::X86_64).unwrap_err().to_string().contains("256 MiB"));
    small.reserved_bytes.clear();
    assert!(reservation_args(&small, Reservation::Migrate, Platform::X86_64).is_err());
    assert!(reservation_args(&small, Reservation::Absent, Platform::X86_64).is_ok());
}

#[test]
fn the_version_is_read() {
    let text = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright";
    assert_eq!(parse_version(text).as_deref(), Some("7.2.22"));
    assert_eq!(parse_version("nonsense"), None);
}

#[test]
fn a_machine_of_arm_is_virt_whose_events_go_by_semihosting() {
    let arm = |platform| line(&Machine { platform, kernel: "/k/vmlinuz".into(), ..machine(true) });
    let expected =
        "-machine virt,gic-version=2 -cpu cortex-a76 -smp 1 -m size=572M -nodefaults -no-user-config -display none \
        -no-reboot -accel tcg,thread=single -icount shift=0,sleep=off,rr=record,rrfile=/dev/null \
        -rtc base=2026-01-01,clock=vm -kernel /k/vmlinuz -initrd /t/initrd -append console=ttyAMA0 nokaslr norandmaps \
        random.trust_cpu=off cryptomgr.notests transparent_hugepage=never psi=1 panic=-1 quiet fovea.test \
        -chardev file,id=console,path=/r/a,,b/console.log -serial chardev:console -chardev stdio,id=events,signal=off \
        -semihosting-config enable=on,target=native,userspace=on,chardev=events";
    assert_eq!(arm(Platform::VirtArm64), expected);
    assert_eq!(arm(Platform::VirtArm64Pages16K), expected, "the kernel makes the difference");
    assert_eq!(arm(Platform::VirtArmhf), expected.replace("cortex-a76", "cortex-a15"));
    let tree = Machine { platform: Platform::VirtArm64, device_tree: Some("/t/x.dtb".into()), ..machine(true) };
    assert!(line(&tree).contains(" -dtb /t/x.dtb "));
    let dump = tree.device_tree_args(Path::new("/t/x.dtb")).join(std::ffi::OsStr::new(" ")).into_string().unwrap();
    assert_eq!(dump, "-machine virt,gic-version=2,dumpdtb=/t/x.dtb -cpu cortex-a76 -smp 1 -m size=572M");
}
