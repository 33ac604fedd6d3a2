// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Runs within KWin (Plasma 5.27 and 6; loaded by kde.rs): tells our name on the session's bus whose window is active and whose can be seen.
(function () {
    // As many calls without an answer: nobody is there any more, and KWin would log each of them.
    var UNANSWERED_MAX = 16;
    var unanswered = 0;
    var last = null;

    function all() {
        return workspace.windowList ? workspace.windowList() : workspace.clientList();
    }

    function active() {
        return workspace.windowList ? workspace.activeWindow : workspace.activeClient;
    }

    function isOnDesktop(window) {
        // Plasma 6 has lists of objects, an empty one meaning all; before, numbers.
        if (typeof workspace.currentDesktop === "number")
            return window.onAllDesktops || window.desktop === workspace.currentDesktop;
        return window.desktops.length === 0 || window.desktops.indexOf(workspace.currentDesktop) >= 0;
    }

    function isSeen(window) {
        if (window.demandsAttention)
            return true;
        if (window.minimized || !isOnDesktop(window))
            return false;
        var activities = window.activities;
        return !activities || activities.length === 0 || activities.indexOf(workspace.currentActivity) >= 0;
    }

    function tell() {
        var front = active();
        var seen = all().filter(isSeen).map(function (window) { return window.pid; });
        var text = JSON.stringify({ front: front ? front.pid : null, visible: seen });
        if (text === last || unanswered >= UNANSWERED_MAX)
            return;
        last = text;
        unanswered += 1;
        callDBus("org.fovea.Windows", "/org/fovea/Windows", "org.fovea.Windows", "Changed", text, function () { unanswered = 0; });
    }

    function follow(object, signals) {
        signals.forEach(function (name) {
            if (object[name] && object[name].connect)
                object[name].connect(tell);
        });
    }

    function followWindow(window) {
        follow(window, ["minimizedChanged", "desktopsChanged", "desktopChanged", "activitiesChanged", "demandsAttentionChanged"]);
    }

    all().forEach(followWindow);
    (workspace.windowAdded || workspace.clientAdded).connect(followWindow);
    follow(workspace, ["windowActivated", "clientActivated", "windowAdded", "clientAdded", "windowRemoved", "clientRemoved",
        "currentDesktopChanged", "currentActivityChanged"]);
    tell();
})();
