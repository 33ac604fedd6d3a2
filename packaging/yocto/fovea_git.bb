# SPDX-License-Identifier: GPL-2.0-only OR MIT
SUMMARY = "Gives memory, disk and network to the app in front"
DESCRIPTION = "A daemon that compresses idle apps before memory is short and ends the least important one last"
LICENSE = "GPL-2.0-only | MIT"
LIC_FILES_CHKSUM = "file://LICENSES/MIT.txt;md5=bbf5a72e067af80d9b53b3e20b2ea5c1 file://LICENSES/GPL-2.0-only.txt;md5=b234ee4d69f5fce4486a80fdaf4a4263"

# FOVEA_SOURCE is a checkout that `cargo vendor` was run in: do_compile has no network.
inherit externalsrc cargo systemd pkgconfig
EXTERNALSRC = "${FOVEA_SOURCE}"
EXTERNALSRC_BUILD = "${FOVEA_SOURCE}"

TARGET_OF_RUST = "${RUST_HOST_SYS}"
EXTRA_OEMAKE = "TARGET=${TARGET_OF_RUST} STATIC=0 PREFIX=${prefix} LIBDIR=${libdir} HEAP_CC='${CC}' CARGO_FLAGS='--offline'"

do_compile() {
    oe_runmake small
}

do_install() {
    oe_runmake install-small DESTDIR=${D}
    # A board's initramfs is another one.
    rm -rf ${D}${datadir}/initramfs-tools ${D}/usr/lib/dracut ${D}/usr/lib/initcpio
}

PACKAGES =+ "${PN}-modules-source libfovea-heap libfovea-heap-dev"
FILES:${PN}-modules-source = "/usr/src"
FILES:libfovea-heap = "${libdir}/libfovea-heap.so.0"
FILES:libfovea-heap-dev = "${includedir} ${libdir}/libfovea-heap.so ${libdir}/libfovea-heap.a ${libdir}/pkgconfig"
FILES:${PN} += "${libdir}/systemd ${prefix}/lib/systemd ${prefix}/lib/udev ${prefix}/lib/fovea ${datadir}"
SYSTEMD_SERVICE:${PN} = "fovea.service"
RRECOMMENDS:${PN} = "kernel-module-zram"
INSANE_SKIP:${PN} += "already-stripped"
