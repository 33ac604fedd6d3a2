// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Builds little modules against the fetched headers. Skipped, with a word, where the headers or the compiler are missing.

use std::fs;
use std::path::Path;
use std::process::Command;

use fovea_phone::kmod::{build, Sources};
use fovea_phone::{fetch, skip, Cache, Error, Kernel, ModuleTree, Progress};

const MAKEFILE: &str = "all:\n\t$(MAKE) -C $(KDIR) M=$(CURDIR) BROKEN=$(BROKEN) modules\n";
const KBUILD: &str = "subdir-ccflags-y += -I$(src)/../core $(if $(BROKEN),-DBROKEN=1)\nobj-m += hello/\n";
const HELLO: &str = "#include <linux/module.h>\n#include \"said.h\"\n\
    #ifdef BROKEN\n#undef SAID\n#define SAID \"broken\"\n#endif\n\
    static int __init hello_init(void) { return 0; }\nmodule_init(hello_init);\n\
    MODULE_LICENSE(\"GPL\");\nMODULE_DESCRIPTION(SAID);\n";

fn write_sources(root: &Path, hello: &str) -> Sources {
    fs::create_dir_all(root.join("kmod/hello")).unwrap();
    fs::create_dir_all(root.join("core")).unwrap();
    for (name, text) in [
        ("kmod/Makefile", MAKEFILE),
        ("kmod/Kbuild", KBUILD),
        ("kmod/hello/Makefile", "obj-m := hello-there.o\n"),
        ("kmod/hello/hello-there.c", hello),
        ("core/said.h", "#define SAID \"whole\"\n"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    Sources::at(root).unwrap()
}

/// The fetched kernel, or `None` with a word on the reason.
fn kernel() -> Option<Kernel> {
    let kernel = Cache::open().ok().and_then(|cache| fetch::cached(&cache).unwrap());
    let tools = ["make", "gcc"].iter().all(|tool| Command::new(tool).arg("--version").output().is_ok());
    if kernel.is_none() || !tools {
        skip(format_args!("kernel in the cache: {}, make and gcc: {tools}; `make fetch` gets both", kernel.is_some()));
        return None;
    }
    kernel
}

#[test]
fn modules_are_built_once_for_each_state_of_their_sources() {
    let Some(kernel) = kernel() else { return };
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path().join("cache")).unwrap();
    let sources = write_sources(&dir.path().join("src"), HELLO);
    let built = |broken: Option<&str>| {
        let modules = build(&cache, &kernel, &sources, broken, &Progress::quiet()).unwrap();
        let mut files = modules.files().unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    };
    let whole = built(None);
    let bytes = fs::read(&whole).unwrap();
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(has(&bytes, b"description=whole") && has(&bytes, kernel.release.as_bytes()));
    assert_eq!(built(None), whole);
    // A mark that a second build would wipe out.
    fs::write(whole.with_file_name("mark"), "").unwrap();
    assert!(built(None).with_file_name("mark").exists(), "taken from the cache");
    let broken = built(Some("write"));
    assert_ne!(broken, whole);
    assert!(has(&fs::read(&broken).unwrap(), b"description=broken"));
    fs::write(dir.path().join("src/core/said.h"), "#define SAID \"changed\"\n").unwrap();
    assert!(has(&fs::read(built(None)).unwrap(), b"description=changed"));

    // A build that was killed leaves no half object to the next.
    let tree = fs::read_dir(cache.path("kmod-build")).unwrap().next().unwrap().unwrap().path();
    fs::write(tree.join("unfinished"), "").unwrap();
    fs::write(tree.join("kmod/hello/hello-there.o"), "half").unwrap();
    fs::write(dir.path().join("src/core/said.h"), "#define SAID \"again\"\n").unwrap();
    assert!(has(&fs::read(built(None)).unwrap(), b"description=again"));

    // The build's result is what the phone loads, under the kernel's name for it.
    let mut tree = ModuleTree::default();
    assert_eq!(tree.add(&whole).unwrap(), "hello_there");
    assert_eq!(tree.load_order(&["hello_there"]).unwrap()[0].bytes, bytes);
    let error = tree.load_order(&["goodbye"]).unwrap_err().to_string();
    assert!(error.contains("has a module goodbye"), "{error}");
}

#[test]
fn what_does_not_compile_is_shown_and_leaves_nothing_behind() {
    let Some(kernel) = kernel() else { return };
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path().join("cache")).unwrap();
    let sources = write_sources(&dir.path().join("src"), "#include <linux/module.h>\nint there = here;\n");
    let error = build(&cache, &kernel, &sources, None, &Progress::quiet()).unwrap_err();
    let line = error.to_string();
    assert!(matches!(error, Error::Build(_)));
    assert!(line.contains("kmod/hello/hello-there.c:2:13: error:") && line.contains("here"), "{line}");
    assert!(error.details().iter().any(|line| line.contains("int there = here;")), "{:?}", error.details());
    assert_eq!(fs::read_dir(cache.path("tmp")).unwrap().count(), 0);
    assert!(!cache.path("kmod").exists());
    assert_eq!(fs::read_dir(cache.path("kmod-build")).unwrap().count(), 0);
}

#[test]
fn a_kernel_without_headers_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path().join("cache")).unwrap();
    let image = dir.path().join("vmlinux");
    fs::write(&image, b"\x7fELF Linux version 6.1.0-mine (me)").unwrap();
    let kernel = Kernel::from_files(&cache, &image, None).unwrap();
    let sources = write_sources(&dir.path().join("src"), HELLO);
    let error = build(&cache, &kernel, &sources, None, &Progress::quiet()).unwrap_err();
    assert!(error.is_missing() && error.to_string().contains("headers"), "{error}");
}
