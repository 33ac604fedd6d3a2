// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the extension does, in every version of the shell: an object on the session's bus, /org/fovea/Windows of org.gnome.Shell, that says whose
// window has the focus and whose can be seen. `fovea source gnome` asks it.
const INTERFACE = `<node><interface name="org.fovea.Windows">
  <method name="Get"><arg type="s" direction="out"/></method>
  <signal name="Changed"><arg type="s"/></signal>
  <signal name="Gone"/>
</interface></node>`;

class Windows {
    constructor() {
        this._last = null;
        this._followed = [];
        this._object = Gio.DBusExportedObject.wrapJSObject(INTERFACE, this);
        this._object.export(Gio.DBus.session, '/org/fovea/Windows');
        this._follow(global.display, 'notify::focus-window', 'window-demands-attention', 'window-marked-urgent');
        this._follow(global.workspace_manager, 'active-workspace-changed');
        const created = global.display.connect('window-created', (_display, window) => this._followWindow(window));
        this._followed.push([global.display, created]);
        this._all().forEach(window => this._followWindow(window));
        this._tell();
    }

    destroy() {
        this._followed.forEach(([object, id]) => object.disconnect(id));
        this._followed = [];
        // What was said counts no longer.
        this._object.emit_signal('Gone', null);
        this._object.flush();
        this._object.unexport();
    }

    Get() {
        return this._text();
    }

    _all() {
        return global.get_window_actors().map(actor => actor.meta_window).filter(window => window);
    }

    _text() {
        const front = global.display.focus_window;
        const here = global.workspace_manager.get_active_workspace();
        const isSeen = window => window.demands_attention || window.urgent ||
            !window.minimized && window.located_on_workspace(here);
        const visible = this._all().filter(isSeen).map(window => window.get_pid());
        return JSON.stringify({front: front ? front.get_pid() : null, visible});
    }

    _tell() {
        const text = this._text();
        if (text === this._last)
            return;
        this._last = text;
        this._object.emit_signal('Changed', new GLib.Variant('(s)', [text]));
    }

    _follow(object, ...signals) {
        for (const signal of signals)
            this._followed.push([object, object.connect(signal, () => this._tell())]);
    }

    _followWindow(window) {
        const ids = ['notify::minimized', 'workspace-changed', 'shown'].map(signal => window.connect(signal, () => this._tell()));
        const mine = ids.map(id => [window, id]);
        this._followed.push(...mine);
        const gone = window.connect('unmanaged', () => {
            this._followed = this._followed.filter(([object]) => object !== window);
            this._tell();
        });
        this._followed.push([window, gone]);
        this._tell();
    }
}
