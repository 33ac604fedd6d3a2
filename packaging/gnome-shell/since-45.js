// SPDX-License-Identifier: GPL-2.0-only OR MIT
// GNOME Shell 45 and later.
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';

export default class Fovea {
    enable() {
        this._windows = new Windows();
    }

    // In the modes of metadata.json, so that who was in front stays known while the screen is locked.
    disable() {
        this._windows.destroy();
        this._windows = null;
    }
}

