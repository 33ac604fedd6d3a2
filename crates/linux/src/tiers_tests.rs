// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Nodes, tiers and who holds the means, on files as the virtual phone's kernel has them.

use super::*;
use crate::check::State;
use crate::device_traits::Tiers;
use crate::file::capture;
use crate::System;

fn machine(nodes: &[(u32, u32, u64)]) -> (tempfile::TempDir, System) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    capture(root, "proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    capture(root, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
    capture(root, "sys/fs/cgroup/cgroup.subtree_control", "memory\n");
    capture(root, DEMOTION, "false\n");
    capture(root, KDAMONDS, "0\n");
    capture(root, &format!("{NODES}/has_memory"), "0-7\n");
    capture(root, &format!("{NODES}/has_cpu"), "0\n");
    for (node, tier, total_kb) in nodes {
        let text = format!("Node {node} MemTotal:       {total_kb} kB\nNode {node} MemFree:        1024 kB\n");
        capture(root, &format!("{NODES}/node{node}/meminfo"), &text);
        capture(root, &format!("{TIERS}/memory_tier{tier}/nodelist"), &format!("{node}\n"));
    }
    let system = System::at(root);
    (folder, system)
}

#[test]
fn lists_of_nodes_are_read() {
    let set = |nodes: &[u32]| Some(nodes.iter().copied().collect::<BTreeSet<_>>());
    assert_eq!(parse_nodes(b"0\n"), set(&[0]));
    assert_eq!(parse_nodes(b"0-2,7\n"), set(&[0, 1, 2, 7]));
    assert_eq!(parse_nodes(b"\n"), set(&[]));
    for nonsense in [&b"x"[..], b"0-", b"0-99999999", b",", b"\xff"] {
        assert_eq!(parse_nodes(nonsense), None, "{nonsense:?}");
    }
}

#[test]
fn nodes_have_their_tiers_and_those_without_memory_are_left_out() {
    let (folder, mut system) = machine(&[(0, 4, 89900), (1, 900, 192172), (3, 901, 0)]);
    capture(folder.path(), &format!("{NODES}/node1/access0/initiators/read_latency"), "1000\n");
    let nodes = system.memory_nodes().unwrap();
    let seen: Vec<_> = nodes.iter().map(|n| (n.node, n.tier, n.read_latency_ns, n.total_bytes >> 10)).collect();
    assert_eq!(seen, [(0, Some(4), None, 89900), (1, Some(900), Some(1000), 192172)]);
    assert!(nodes.iter().all(|node| node.free_bytes == 1 << 20 && node.has_cpus == (node.node == 0)));
}

#[test]
fn an_apps_pages_are_counted_of_both_sorts_and_no_others() {
    let text = b"anon N0=4345856 N1=4194304\nfile N0=0 N1=4096\nkernel_stack N0=65536 N1=0\nanon_thp N0=9 N1=9\n";
    assert_eq!(parse_numa_stat(text), [(0, 4345856), (1, 4198400)].into());
    assert_eq!(parse_numa_stat(b"anon rubbish N=1 Nx=2 N3=y\n"), [].into());
    let (_folder, mut system) = machine(&[]);
    assert!(system.node_bytes("gone").unwrap().is_empty());
    assert!(system.node_bytes("../out").is_err());
}

#[test]
fn check_tells_what_is_there_and_who_holds_it() {
    let found = |system: &System| {
        let row = system.check().row("tiers").unwrap().clone();
        (row.state, row.found)
    };
    let two = [(0, 4, 131072), (1, 900, 196608)];
    let (folder, system) = machine(&two);
    let text = "fast node 0 (128 MiB), slow node 1 (192 MiB); demotion off; DAMON free; ages unknown (debugfs lru_gen, mm/lru_gen/enabled): nothing is demoted ahead; cpusets not passed on";
    assert_eq!(found(&system), (State::Present, text.into()));
    capture(folder.path(), KDAMONDS, "1\n");
    assert!(found(&system).1.contains("held by somebody's kdamond, which is left alone"));
    capture(folder.path(), "sys/module/damon_reclaim/parameters/enabled", "Y\n");
    assert!(found(&system).1.contains("held by damon_reclaim"));
    capture(folder.path(), "sys/fs/cgroup/cgroup.controllers", "memory\n");
    assert_eq!(found(&system).0, State::Missing);
    let (folder, system) = machine(&two);
    std::fs::remove_file(folder.path().join(KDAMONDS)).unwrap();
    assert!(found(&system).1.contains("; no DAMON;"));
    std::fs::remove_file(folder.path().join(DEMOTION)).unwrap();
    assert_eq!(found(&system).0, State::Missing);
    let (_folder, system) = machine(&[(0, 4, 131072), (1, 2, 65536)]);
    assert_eq!(
        found(&system),
        (State::Missing, "fast node 1 (64 MiB), slow node 0 (128 MiB); fast memory has no CPUs".into())
    );
    let (_folder, system) = machine(&two[..1]);
    assert_eq!(found(&system), (State::Unknown, "all memory is of one kind".into()));
}

#[test]
fn an_app_that_has_processes_is_let_in_by_naming_every_node() {
    let (folder, mut system) = machine(&[]);
    capture(folder.path(), "sys/fs/cgroup/apps/cpuset.mems.effective", "0-1\n");
    capture(folder.path(), "sys/fs/cgroup/apps/a/cpuset.mems", "1\n");
    let path = folder.path().join("sys/fs/cgroup/apps/a/cpuset.mems");
    let as_the_kernel = |path: &Path, text: &str| match text.trim() {
        "" => Err(Errno::NOSPC.into()),
        _ => std::fs::write(path, format!("{text}\n")),
    };
    assert_eq!(system.allowed_nodes("apps/a").unwrap(), Some("1".into()));
    allow_all(&path, as_the_kernel).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "0-1\n");
    assert_eq!(system.allowed_nodes("apps/a").unwrap(), Some(String::new()), "nothing is kept from it");
    system.set_allowed_nodes("apps/a", "").unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("\n"), "where the kernel lets");
    assert!(allow_all(&path, |_, _| Err(Errno::ACCESS.into())).is_err());
}
