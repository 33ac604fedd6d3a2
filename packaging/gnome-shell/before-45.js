// SPDX-License-Identifier: GPL-2.0-only OR MIT
// GNOME Shell 42 to 44.
const {Gio, GLib} = imports.gi;

let windows = null;

function init() {}

function enable() {
    windows = new Windows();
}

function disable() {
    windows.destroy();
    windows = null;
}

