# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_fovea_global_optspecs
    string join \n run-folder= config= h/help V/version
end

function __fish_fovea_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_fovea_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_fovea_using_subcommand
    set -l cmd (__fish_fovea_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c fovea -n "__fish_fovea_needs_command" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_needs_command" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_needs_command" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_needs_command" -s V -l version -d 'Print version'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "check" -d 'Tell what this machine can do, and why not'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "run" -d 'Run the daemon'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "setup" -d 'Look at this machine, propose each step that would help, and do what is agreed to'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "reload" -d 'Have the daemon read its configuration again; fails, and changes nothing, if it cannot be used'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "probe" -d 'For the daemon: look at what other users\' processes have open, and answer on standard input'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "restore" -d 'Undo what a dead daemon left changed'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "launch" -d 'Start an app in a cgroup of its own, known to the daemon'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "focus" -d 'Say that an app has come to the screen'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "close" -d 'Say that the user closed an app; it is kept until its memory is needed'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "screen" -d 'Say that the screen went on or off'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "simulate" -d 'Tell what the daemon would do now, and why; nothing is done'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "rules" -d 'The owner\'s lists: apps that are spared, or taken first'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "status" -d 'Print the state of memory and apps'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "notify" -d 'In a user\'s session, as that user: show a notification for each kill of the own apps; runs until ended'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "explain" -d 'Tell an app\'s story: what was done to it, when and why'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "source" -d 'Tell the daemon who is in front and whether the screen is on, as a compositor or the login manager says; runs until ended'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "heap" -d 'Buffers of devices that have memory reserved'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "phone" -d 'The virtual phone'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "trace" -d 'Trace files'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "lab" -d 'Replay traces through cache policies'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "top" -d 'Shows memory, apps and the last decisions, and keeps them up to date; q ends it'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "metrics" -d 'Prints the daemon\'s state and its decisions as OpenMetrics text'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "prefetch" -d 'Reads what an app\'s start will want before it asks, as earlier starts have taught'
complete -c fovea -n "__fish_fovea_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand check" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand check" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand check" -l json -d 'Print JSON'
complete -c fovea -n "__fish_fovea_using_subcommand check" -l strict -d 'An unknown key in the configuration is an error'
complete -c fovea -n "__fish_fovea_using_subcommand check" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand run" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand run" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand run" -l strict -d 'End with exit code 1 if anything is wrong with the configuration'
complete -c fovea -n "__fish_fovea_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c fovea -n "__fish_fovea_using_subcommand setup" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand setup" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand setup" -l dry-run -d 'Tell what would be done, and change nothing'
complete -c fovea -n "__fish_fovea_using_subcommand setup" -l yes -d 'Agree to everything'
complete -c fovea -n "__fish_fovea_using_subcommand setup" -l undo -d 'Take back what was done'
complete -c fovea -n "__fish_fovea_using_subcommand setup" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand reload" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand reload" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand reload" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand probe" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand probe" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand probe" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand restore" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand restore" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand restore" -l wait -d 'Wait for a daemon that is ending'
complete -c fovea -n "__fish_fovea_using_subcommand restore" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand launch" -l class -d 'What its I/O needs' -r -f -a "time-sensitive\t''
bursty\t''
plain\t''
foreground-dependent\t''"
complete -c fovea -n "__fish_fovea_using_subcommand launch" -l role -d 'What it is when it is not on the screen' -r -f -a "app\t''
visible\t''
service\t''
content-provider\t''"
complete -c fovea -n "__fish_fovea_using_subcommand launch" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand launch" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand launch" -l focus -d 'Bring it to the screen at once'
complete -c fovea -n "__fish_fovea_using_subcommand launch" -l merge -d 'Let the kernel merge its pages, and those of all that it starts, with equal pages of other apps. Such apps can find out which pages they share'
complete -c fovea -n "__fish_fovea_using_subcommand launch" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand focus" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand focus" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand focus" -l none -d 'Nothing is in front: the home screen'
complete -c fovea -n "__fish_fovea_using_subcommand focus" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand close" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand close" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand close" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand screen" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand screen" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand screen" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand simulate" -l free -d 'Free memory to assume, with somebody waiting for more (40M); without it what there is' -r
complete -c fovea -n "__fish_fovea_using_subcommand simulate" -l file-cache -d 'File cache to assume; without it what there is' -r
complete -c fovea -n "__fish_fovea_using_subcommand simulate" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand simulate" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand simulate" -l json -d 'Print JSON'
complete -c fovea -n "__fish_fovea_using_subcommand simulate" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and not __fish_seen_subcommand_from show add remove help" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and not __fish_seen_subcommand_from show add remove help" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and not __fish_seen_subcommand_from show add remove help" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and not __fish_seen_subcommand_from show add remove help" -f -a "show" -d 'Print the lists, and whether the configuration or a command put an entry there'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and not __fish_seen_subcommand_from show add remove help" -f -a "add" -d 'Put an entry on a list, until the daemon ends; in the configuration\'s [lists] it stays'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and not __fish_seen_subcommand_from show add remove help" -f -a "remove" -d 'Take an entry off that was put there so'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and not __fish_seen_subcommand_from show add remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from show" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from show" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from show" -l json -d 'Print JSON'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from add" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from add" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from remove" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from remove" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the lists, and whether the configuration or a command put an entry there'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "add" -d 'Put an entry on a list, until the daemon ends; in the configuration\'s [lists] it stays'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take an entry off that was put there so'
complete -c fovea -n "__fish_fovea_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand status" -l offset -d 'Pass over so many apps, in the order of their names' -r
complete -c fovea -n "__fish_fovea_using_subcommand status" -l limit -d 'Tell of so many apps at most' -r
complete -c fovea -n "__fish_fovea_using_subcommand status" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand status" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand status" -l json -d 'Print JSON'
complete -c fovea -n "__fish_fovea_using_subcommand status" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand notify" -l bus -d 'Address of the session\'s message bus; $DBUS_SESSION_BUS_ADDRESS or $XDG_RUNTIME_DIR/bus without it' -r
complete -c fovea -n "__fish_fovea_using_subcommand notify" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand notify" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand notify" -l wait -d 'Wait for the daemon instead of ending with exit code 3 when it is not there'
complete -c fovea -n "__fish_fovea_using_subcommand notify" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand explain" -l limit -d 'At most so many of the latest entries' -r
complete -c fovea -n "__fish_fovea_using_subcommand explain" -l replay -d 'Make the decisions of a journal (or of a run\'s events.jsonl) again, and tell which would be others: by the configuration that was in force, or by --config' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand explain" -l export -d 'Write the journal, or that of --replay, to a file as a timeline for Perfetto (https://ui.perfetto.dev) or Chrome' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand explain" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand explain" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand explain" -l json -d 'Print the journal\'s JSON lines'
complete -c fovea -n "__fish_fovea_using_subcommand explain" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -l only -d 'Tell the daemon only of this, for when another source tells the rest' -r -f -a "focus\t'Who is in front'
screen\t'Whether the screen is on'
inhibitors\t'Who holds an inhibitor'
playing\t'Whose media player plays'
names\t'Names on a message bus'"
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -l wait -d 'Wait for the source to appear instead of ending with exit code 3 when it is not there'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "auto" -d 'A user\'s desktop, whichever it is: looked for again when it goes'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "x11" -d 'An X server: active window, screen saver, DPMS'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "sway" -d 'Sway: the focused window'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "top-app" -d 'Android\'s cpuset of the app in front'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "logind" -d 'systemd\'s login manager: whether the session on the seat is idle or locked, and who holds an inhibitor'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "gnome" -d 'GNOME Shell: the focused window and what can be seen, by an extension of ours'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "kde" -d 'KDE\'s compositor: the active window and what can be seen, by a script within KWin'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "session" -d 'A user\'s session bus: whose media player plays, who keeps the device awake, which names programs have'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "kills" -d 'What `fovea notify` was called'
complete -c fovea -n "__fish_fovea_using_subcommand source; and not __fish_seen_subcommand_from auto x11 sway top-app logind gnome kde session kills help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from auto" -l uid -d 'Whose desktop, asked as that user; without it the caller\'s' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from auto" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from auto" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from auto" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from x11" -l display -d 'Display, like :0; $DISPLAY without it' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from x11" -l uid -d 'Whose session it shows: it is asked as that user, and tells of that user\'s processes' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from x11" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from x11" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from x11" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from sway" -l socket -d 'Its IPC socket; without it $SWAYSOCK, or the latest below /run/user' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from sway" -l uid -d 'Whose session it shows: it is asked as that user, and tells of that user\'s processes' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from sway" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from sway" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from sway" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from top-app" -l folder -d 'The cpuset' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from top-app" -l period-ms -d 'Time between two looks, for the kernel does not tell of changes' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from top-app" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from top-app" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from top-app" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from logind" -l seat -d 'Seat' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from logind" -l bus -d 'Address of the message bus; $DBUS_SYSTEM_BUS_ADDRESS or the system bus without it' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from logind" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from logind" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from logind" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from gnome" -l uid -d 'Whose session, asked as that user; without it the caller\'s' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from gnome" -l bus -d 'Address of the session\'s message bus; without it /run/user/UID/bus, or the caller\'s own' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from gnome" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from gnome" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from gnome" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kde" -l uid -d 'Whose session, asked as that user; without it the caller\'s' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kde" -l bus -d 'Address of the session\'s message bus; without it /run/user/UID/bus, or the caller\'s own' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kde" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kde" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kde" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from session" -l uid -d 'Whose session, asked as that user; without it the caller\'s' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from session" -l bus -d 'Address of the session\'s message bus; without it /run/user/UID/bus, or the caller\'s own' -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from session" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from session" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from session" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kills" -l bus -r
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kills" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kills" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from kills" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "auto" -d 'A user\'s desktop, whichever it is: looked for again when it goes'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "x11" -d 'An X server: active window, screen saver, DPMS'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "sway" -d 'Sway: the focused window'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "top-app" -d 'Android\'s cpuset of the app in front'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "logind" -d 'systemd\'s login manager: whether the session on the seat is idle or locked, and who holds an inhibitor'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "gnome" -d 'GNOME Shell: the focused window and what can be seen, by an extension of ours'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "kde" -d 'KDE\'s compositor: the active window and what can be seen, by a script within KWin'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "session" -d 'A user\'s session bus: whose media player plays, who keeps the device awake, which names programs have'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "kills" -d 'What `fovea notify` was called'
complete -c fovea -n "__fish_fovea_using_subcommand source; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and not __fish_seen_subcommand_from list alloc bench help" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and not __fish_seen_subcommand_from list alloc bench help" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and not __fish_seen_subcommand_from list alloc bench help" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and not __fish_seen_subcommand_from list alloc bench help" -f -a "list" -d 'List the reservations'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and not __fish_seen_subcommand_from list alloc bench help" -f -a "alloc" -d 'Allocate a device\'s buffer, look at all of it, and give it back'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and not __fish_seen_subcommand_from list alloc bench help" -f -a "bench" -d 'Allocate and give back many times, and print how long it took'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and not __fish_seen_subcommand_from list alloc bench help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from list" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from list" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from alloc" -l size -d 'How much, e.g. 4M or 65536; all of the reservation without it' -r
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from alloc" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from alloc" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from alloc" -l hold -d 'Keep it until standard input ends'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from alloc" -l json -d 'Print JSON'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from alloc" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from bench" -l count -d 'How often each is allocated' -r
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from bench" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from bench" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from bench" -l json -d 'Print JSON'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from bench" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the reservations'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from help" -f -a "alloc" -d 'Allocate a device\'s buffer, look at all of it, and give it back'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from help" -f -a "bench" -d 'Allocate and give back many times, and print how long it took'
complete -c fovea -n "__fish_fovea_using_subcommand heap; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -f -a "run" -d 'Run a scenario: a name from `fovea phone list`, or a file'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -f -a "merge" -d 'Make one results document of several, each of other cases or configurations of one scenario'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -f -a "demo" -d 'Run `lowmem`, a short workload, a short `ecache`, a video, a film beside a copy and beside a download, apps that are alike, and fast and slow memory, show the results beside the papers\', and make one page of them'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -f -a "shell" -d 'A shell in the phone, with the daemon running'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -f -a "fetch" -d 'Fetch the kernel into the cache, without running anything'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -f -a "list" -d 'List the scenarios that come with the program'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and not __fish_seen_subcommand_from run merge demo shell fetch list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l json -d 'Write the results document' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l picture -d 'Draw free memory over time, with kills marked (SVG)' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l jobs -d 'Boots side by side' -r
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l results -d 'Folder for the logs of each boot' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l limit-s -d 'Seconds in which a boot must say something; it ends after eight times as long, whatever it says' -r
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l kernel -d 'Kernel to boot (vmlinux or vmlinuz), in place of Debian\'s' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l modules -d 'Its modules (a folder as /lib/modules/RELEASE is)' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l machine -d 'Machine that QEMU plays: x86-64, virt-arm64 (4 KiB pages), virt-arm64-16k, virt-armhf. Figures of docs are of x86-64' -r
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -l exact -d 'One instruction is one nanosecond: the same figures on every run and machine'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from merge" -l json -d 'Write the results document' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from merge" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from merge" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from merge" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -l launches -d 'Launches of the workload' -r
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -l results -d 'Folder for results and the page' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -l kernel -d 'Kernel to boot (vmlinux or vmlinuz), in place of Debian\'s' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -l modules -d 'Its modules (a folder as /lib/modules/RELEASE is)' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -l machine -d 'Machine that QEMU plays: x86-64, virt-arm64 (4 KiB pages), virt-arm64-16k, virt-armhf. Figures of docs are of x86-64' -r
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from demo" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from shell" -l kernel -d 'Kernel to boot (vmlinux or vmlinuz), in place of Debian\'s' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from shell" -l modules -d 'Its modules (a folder as /lib/modules/RELEASE is)' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from shell" -l machine -d 'Machine that QEMU plays: x86-64, virt-arm64 (4 KiB pages), virt-arm64-16k, virt-armhf. Figures of docs are of x86-64' -r
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from shell" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from shell" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from shell" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from fetch" -l machine -d 'The machine whose kernel it is: x86-64, virt-arm64, virt-arm64-16k, virt-armhf' -r
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from fetch" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from fetch" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from fetch" -l refresh -d 'Look for a newer one though there is one'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from fetch" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from list" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from list" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a scenario: a name from `fovea phone list`, or a file'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from help" -f -a "merge" -d 'Make one results document of several, each of other cases or configurations of one scenario'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from help" -f -a "demo" -d 'Run `lowmem`, a short workload, a short `ecache`, a video, a film beside a copy and beside a download, apps that are alike, and fast and slow memory, show the results beside the papers\', and make one page of them'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from help" -f -a "shell" -d 'A shell in the phone, with the daemon running'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from help" -f -a "fetch" -d 'Fetch the kernel into the cache, without running anything'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the scenarios that come with the program'
complete -c fovea -n "__fish_fovea_using_subcommand phone; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -f -a "record" -d 'Record what this system reads and writes through its page cache and on its disks (as root)'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -f -a "import" -d 'Turn a foreign trace into a trace file'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -f -a "info" -d 'Tell what a trace file holds'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -f -a "make" -d 'Make a trace up: requests by Zipf\'s law'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -f -a "filter" -d 'Make a trace file of a part of one'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -f -a "export" -d 'Write the requests that a replay makes of a trace file as libCacheSim\'s oracleGeneral'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and not __fish_seen_subcommand_from record import info make filter export help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -s o -l output -d 'The trace file to make' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l pid -d 'Record this process, its children and all that they start; may be given several times' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l cgroup -d 'Record the processes of a cgroup (v2), and those that join it' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l seconds -d 'End after so many seconds' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l json -d 'Write what was counted as JSON there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l buffer-kib -d 'The kernel\'s buffer of each CPU. Events are lost, and counted, if it fills before it is read' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -l all -d 'Record everybody; with a command, for as long as it runs'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l format -d 'Its format, if it should not be detected: mobile-block-io, msr, systor17, biotracer, blkparse, ycsb, csv, ids, lcs, vscsi, oracle-general' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l order -d 'What to do with records earlier than the one before them' -r -f -a "reject\t'Stop there'
keep\t'Keep the file\'s order'
sort\t'Sort by time'"
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l csv -d 'What is known of a table: columns by number (from 1, 0 for none) or by name of time, id, size, op, count, disk, offset and length; time-unit (s, ms, us, ns, filetime, date), block-unit (byte, sector), delimiter (comma, tab, semicolon, pipe, space), header (yes, no), ids (text), table (such as tencent-block). E.g. time=1,id=key,size=0,time-unit=ms. What is not said is read off the file, and refused where it could be read in several ways' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l blkparse-action -d 'The blkparse event that counts as the request: Q, D or C' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l app -d 'An app in place of the threads whose names in the trace are like PATTERN (*, ?, [a-z]); may be said several times' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l skip-bad -d 'Leave bad records out (they are counted) instead of stopping'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l whole-requests -d 'Make each request to a disk one for an object, named by its first byte and as large as it; else requests are for pages'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -l json -d 'Print what was imported as JSON'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from info" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from info" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from info" -l json -d 'Print it as JSON'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from info" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -l requests -d 'Requests' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -l objects -d 'Objects that are asked for again and again' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -l zipf -d 'Exponent of Zipf\'s law; 0 for all objects alike' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -l once-percent -d 'Percent of the requests that go to an object asked for only once' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -l seed -d 'Decides everything that is drawn' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from make" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l from -d 'Seconds after the trace\'s first record; what is earlier is left out' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l to -d 'Seconds after the trace\'s first record; what is then or later is left out' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l ops -d 'Operations to keep, with commas between them' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l apps -l app -d 'Apps to keep, with commas between them; an empty name is what has none' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l sample -d 'Keep all requests for such a share of the objects and pages, drawn by a hash of their numbers: 0.1 or 10%' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l seed -d 'Decides which are drawn' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from filter" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from export" -l ops -d 'Records that count as requests, as of `fovea lab replay`' -r
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from export" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from export" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from export" -l reads-only -d 'Leave writes out'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from export" -l from-start -d 'Count seconds from the first record, for a trace whose times have no room in the format\'s 32 bits'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "record" -d 'Record what this system reads and writes through its page cache and on its disks (as root)'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "import" -d 'Turn a foreign trace into a trace file'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "info" -d 'Tell what a trace file holds'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "make" -d 'Make a trace up: requests by Zipf\'s law'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "filter" -d 'Make a trace file of a part of one'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write the requests that a replay makes of a trace file as libCacheSim\'s oracleGeneral'
complete -c fovea -n "__fish_fovea_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "replay" -d 'Run cache policies on one trace file'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "sweep" -d 'Run cache policies on several trace files over all cores; can be interrupted and goes on when started again'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "mrc" -d 'Draw miss-ratio curves: LRU\'s exactly from stack distances, the others\' from samples, with their error'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "hybrid" -d 'Run a trace file through buffer caches in a memory of DRAM and PCM'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "ecache" -d 'Replay what a phone asks of its eCache, under every way of choosing a device\'s region'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "sim" -d 'Run a scenario of the virtual phone on a simulated one, with the daemon\'s own code, in no time'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "ablate" -d 'Switch off one rule of the memory policy at a time, and tell what changes: verdicts, kills, launches'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "reproduce" -d 'Repeat the experiments of the papers: claim, our figure, verdict. Fails if a verdict does'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "report" -d 'Make one page of the papers\' experiments and of the saved results of scenarios: plots, verdicts, how to run each again'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and not __fish_seen_subcommand_from replay sweep mrc hybrid ecache sim ablate reproduce report help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l trace -d 'The same, by name' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l policies -l policy -d 'Policies, with commas between them, or `all`' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l sizes -l size -d 'Cache sizes, with commas between them: 64MiB, 1000 (objects), 10% (of the distinct objects), 10%B (of their bytes). 0.1%,1%,10% unless named; of mrc 25 sizes from 0.1% to 100%' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l ops -d 'Records that count as requests, with commas between them: object, block, page-get, page-fault, page-map. Without it: the first four; of a recording of `fovea trace record`, page-get and page-fault' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l repeat -d 'Replay each trace so many times in a row' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l warm-up -d 'Requests at the beginning that fill the caches and are not counted: a number, or a share of all (10%)' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l interval -d 'Tell the misses of so many requests at a time too, beside those of all' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l seeds -d 'Replay policies that draw under so many seeds; the table has the mean of their misses and half of its 95 % confidence interval, the document each of them' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l json -d 'Write the results document there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l reads-only -d 'Leave writes out'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -l no-keep -d 'Keep no dense form of the trace on disk, and take none. Without it those of long traces are kept in .fovea-dense beside them'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from replay" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l policies -l policy -d 'Policies, with commas between them, or `all`' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l sizes -l size -d 'Cache sizes, with commas between them: 64MiB, 1000 (objects), 10% (of the distinct objects), 10%B (of their bytes). 0.1%,1%,10% unless named; of mrc 25 sizes from 0.1% to 100%' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l ops -d 'Records that count as requests, with commas between them: object, block, page-get, page-fault, page-map. Without it: the first four; of a recording of `fovea trace record`, page-get and page-fault' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l repeat -d 'Replay each trace so many times in a row' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l warm-up -d 'Requests at the beginning that fill the caches and are not counted: a number, or a share of all (10%)' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l interval -d 'Tell the misses of so many requests at a time too, beside those of all' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -s o -l output -d 'Results go to OUTPUT.json and OUTPUT.parquet; finished cells, until all are, to OUTPUT.partial.jsonl' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l threads -d 'Threads; all cores unless told otherwise' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l reads-only -d 'Leave writes out'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -l no-keep -d 'Keep no dense form of the trace on disk, and take none. Without it those of long traces are kept in .fovea-dense beside them'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sweep" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l policies -l policy -d 'Policies, with commas between them, or `all`' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l sizes -l size -d 'Cache sizes, with commas between them: 64MiB, 1000 (objects), 10% (of the distinct objects), 10%B (of their bytes). 0.1%,1%,10% unless named; of mrc 25 sizes from 0.1% to 100%' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l ops -d 'Records that count as requests, with commas between them: object, block, page-get, page-fault, page-map. Without it: the first four; of a recording of `fovea trace record`, page-get and page-fault' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l repeat -d 'Replay each trace so many times in a row' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l rate -d 'Share of the objects in each of the four samples of an estimate, above 0 and up to 1. More are taken where the small cache would hold too few' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l threads -d 'Threads; all cores unless told otherwise. The result does not depend on them' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l json -d 'Write the results document there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l reads-only -d 'Leave writes out'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l no-keep -d 'Keep no dense form of the trace on disk, and take none. Without it those of long traces are kept in .fovea-dense beside them'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l exact -d 'Estimate nothing: simulate every size in full'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -l shards -d 'Estimate LRU too, which is exact otherwise (by objects)'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from mrc" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -l policies -d 'Policies, with commas between them: seed, lru, 2q-lru, clock-dwf; variants of the paper\'s: seed:switch=move, seed:read-only=page' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -l sizes -d 'Memory sizes, with commas between them: 64MiB, 1000 (pages), 10% (of the distinct pages)' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -l dram-percent -d 'Share of memory that is DRAM, percent' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -l foreground -d 'Apps in the foreground, with commas between them; parts of their names do. For traces that do not tell' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -l json -d 'Write the results document there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from hybrid" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -l launches -d 'Apps opened in generated traces' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -l seed -d 'Seed of generated traces' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -l width -d 'Caches that the search for the best regions follows; 0 for no search' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -l write -d 'Write the one trace there as text (with .zst: compressed) and replay nothing' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -l json -d 'Write the results document there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ecache" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sim" -l json -d 'Write the results document there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sim" -l results -d 'Write the events of each boot there, one file per boot, as `fovea phone run` does' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sim" -l threads -d 'Threads; all cores unless told otherwise. The results do not depend on them' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sim" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sim" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from sim" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ablate" -l json -d 'Write the results document there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ablate" -l seeds -d 'How many seeds each scene is played with' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ablate" -l threads -d 'Threads; all cores unless told otherwise. The results do not depend on them' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ablate" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ablate" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from ablate" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l json -d 'Write the results document, with the plots\' series, there; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l seed -d 'Seed of everything drawn' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l seeds -d 'Run each experiment with so many seeds, from --seed on, and tell means with 95 % confidence intervals: 5, or 1 with --quick' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l threads -d 'Threads; all cores unless told otherwise. The results do not depend on them' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l list -d 'List the experiments and run none'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -l quick -d 'Shorter traces, for a first look'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from reproduce" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -s o -l output -d 'The page; - for standard output' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l results -d 'Folder of saved results; `results` without this, if it is there' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l only -d 'Only these experiments and scenarios' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l seed -d 'Seed of experiments that are run' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l seeds -d 'How many seeds they are run with, from --seed on: 5, or 1 with --quick' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l docs -d 'Make tables and pictures of documents anew, between their markers, from the results in DIR/results, and no page: of DIR/*.md, of the pages in DIR/guide, DIR/design and DIR/results, and of the README.md beside DIR' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l stamp -d 'A line under the title, such as the date' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l threads -d 'Threads; all cores unless told otherwise. The results do not depend on them' -r
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l run-folder -d 'Folder of the daemon\'s socket and state, in place of the configured one' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l quick -d 'Run experiments with shorter traces, for a first look'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -l saved -d 'Run nothing: show what is saved, whatever version of the program made it'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "replay" -d 'Run cache policies on one trace file'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "sweep" -d 'Run cache policies on several trace files over all cores; can be interrupted and goes on when started again'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "mrc" -d 'Draw miss-ratio curves: LRU\'s exactly from stack distances, the others\' from samples, with their error'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "hybrid" -d 'Run a trace file through buffer caches in a memory of DRAM and PCM'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "ecache" -d 'Replay what a phone asks of its eCache, under every way of choosing a device\'s region'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "sim" -d 'Run a scenario of the virtual phone on a simulated one, with the daemon\'s own code, in no time'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "ablate" -d 'Switch off one rule of the memory policy at a time, and tell what changes: verdicts, kills, launches'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "reproduce" -d 'Repeat the experiments of the papers: claim, our figure, verdict. Fails if a verdict does'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "report" -d 'Make one page of the papers\' experiments and of the saved results of scenarios: plots, verdicts, how to run each again'
complete -c fovea -n "__fish_fovea_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand top" -l sort -d 'Order of the apps' -r -f -a "rank\t'The most important first'
resident\t'The largest in memory first'
compressed\t'Who has most in swap first'
name\t'By name'"
complete -c fovea -n "__fish_fovea_using_subcommand top" -l interval -d 'Time between two looks, in seconds' -r
complete -c fovea -n "__fish_fovea_using_subcommand top" -l run-folder -d 'Folder of the daemon\'s socket and state' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand top" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand top" -l once -d 'Print one screen as text, with all apps, and end'
complete -c fovea -n "__fish_fovea_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c fovea -n "__fish_fovea_using_subcommand metrics" -l textfile -d 'Write to that file in one step, for node_exporter\'s textfile collector; its name ends in .prom' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand metrics" -l listen -d 'Answer HTTP requests until ended: HOST:PORT, or unix:PATH' -r
complete -c fovea -n "__fish_fovea_using_subcommand metrics" -l state -d 'Keep the counts of decisions in that file between two calls. Without it they begin with what the journal still holds' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand metrics" -l run-folder -d 'Folder of the daemon\'s socket and state' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand metrics" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand metrics" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -l state -d 'Folder of what was learned' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -l run-folder -d 'Folder of the daemon\'s socket, which is asked who is likely to be next' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -f -a "run" -d 'Watch for apps that start, learn from them and prefetch for them, until ended'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -f -a "status" -d 'Print what was prefetched for each app, and how much of it was used'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -f -a "forget" -d 'Forget what was learned of an app, or of all'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and not __fish_seen_subcommand_from run status forget help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from run" -l state -d 'Folder of what was learned' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from run" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from run" -l ahead -d 'While nothing starts and memory is plentiful, read what the apps that the daemon finds likely to be next would read'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from status" -l state -d 'Folder of what was learned' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from status" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from status" -l json -d 'As data'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from forget" -l state -d 'Folder of what was learned' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from forget" -l config -d 'Configuration file; /etc/fovea.toml without it, and the defaults without that' -r -F
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from forget" -s h -l help -d 'Print help'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from help" -f -a "run" -d 'Watch for apps that start, learn from them and prefetch for them, until ended'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from help" -f -a "status" -d 'Print what was prefetched for each app, and how much of it was used'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from help" -f -a "forget" -d 'Forget what was learned of an app, or of all'
complete -c fovea -n "__fish_fovea_using_subcommand prefetch; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "check" -d 'Tell what this machine can do, and why not'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "run" -d 'Run the daemon'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "setup" -d 'Look at this machine, propose each step that would help, and do what is agreed to'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "reload" -d 'Have the daemon read its configuration again; fails, and changes nothing, if it cannot be used'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "probe" -d 'For the daemon: look at what other users\' processes have open, and answer on standard input'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "restore" -d 'Undo what a dead daemon left changed'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "launch" -d 'Start an app in a cgroup of its own, known to the daemon'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "focus" -d 'Say that an app has come to the screen'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "close" -d 'Say that the user closed an app; it is kept until its memory is needed'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "screen" -d 'Say that the screen went on or off'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "simulate" -d 'Tell what the daemon would do now, and why; nothing is done'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "rules" -d 'The owner\'s lists: apps that are spared, or taken first'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "status" -d 'Print the state of memory and apps'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "notify" -d 'In a user\'s session, as that user: show a notification for each kill of the own apps; runs until ended'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "explain" -d 'Tell an app\'s story: what was done to it, when and why'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "source" -d 'Tell the daemon who is in front and whether the screen is on, as a compositor or the login manager says; runs until ended'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "heap" -d 'Buffers of devices that have memory reserved'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "phone" -d 'The virtual phone'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "trace" -d 'Trace files'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "lab" -d 'Replay traces through cache policies'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "top" -d 'Shows memory, apps and the last decisions, and keeps them up to date; q ends it'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "metrics" -d 'Prints the daemon\'s state and its decisions as OpenMetrics text'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "prefetch" -d 'Reads what an app\'s start will want before it asks, as earlier starts have taught'
complete -c fovea -n "__fish_fovea_using_subcommand help; and not __fish_seen_subcommand_from check run setup reload probe restore launch focus close screen simulate rules status notify explain source heap phone trace lab top metrics prefetch help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "show" -d 'Print the lists, and whether the configuration or a command put an entry there'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "add" -d 'Put an entry on a list, until the daemon ends; in the configuration\'s [lists] it stays'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "remove" -d 'Take an entry off that was put there so'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "auto" -d 'A user\'s desktop, whichever it is: looked for again when it goes'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "x11" -d 'An X server: active window, screen saver, DPMS'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "sway" -d 'Sway: the focused window'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "top-app" -d 'Android\'s cpuset of the app in front'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "logind" -d 'systemd\'s login manager: whether the session on the seat is idle or locked, and who holds an inhibitor'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "gnome" -d 'GNOME Shell: the focused window and what can be seen, by an extension of ours'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "kde" -d 'KDE\'s compositor: the active window and what can be seen, by a script within KWin'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "session" -d 'A user\'s session bus: whose media player plays, who keeps the device awake, which names programs have'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from source" -f -a "kills" -d 'What `fovea notify` was called'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from heap" -f -a "list" -d 'List the reservations'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from heap" -f -a "alloc" -d 'Allocate a device\'s buffer, look at all of it, and give it back'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from heap" -f -a "bench" -d 'Allocate and give back many times, and print how long it took'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from phone" -f -a "run" -d 'Run a scenario: a name from `fovea phone list`, or a file'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from phone" -f -a "merge" -d 'Make one results document of several, each of other cases or configurations of one scenario'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from phone" -f -a "demo" -d 'Run `lowmem`, a short workload, a short `ecache`, a video, a film beside a copy and beside a download, apps that are alike, and fast and slow memory, show the results beside the papers\', and make one page of them'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from phone" -f -a "shell" -d 'A shell in the phone, with the daemon running'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from phone" -f -a "fetch" -d 'Fetch the kernel into the cache, without running anything'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from phone" -f -a "list" -d 'List the scenarios that come with the program'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "record" -d 'Record what this system reads and writes through its page cache and on its disks (as root)'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "import" -d 'Turn a foreign trace into a trace file'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "info" -d 'Tell what a trace file holds'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "make" -d 'Make a trace up: requests by Zipf\'s law'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "filter" -d 'Make a trace file of a part of one'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "export" -d 'Write the requests that a replay makes of a trace file as libCacheSim\'s oracleGeneral'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "replay" -d 'Run cache policies on one trace file'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "sweep" -d 'Run cache policies on several trace files over all cores; can be interrupted and goes on when started again'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "mrc" -d 'Draw miss-ratio curves: LRU\'s exactly from stack distances, the others\' from samples, with their error'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "hybrid" -d 'Run a trace file through buffer caches in a memory of DRAM and PCM'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "ecache" -d 'Replay what a phone asks of its eCache, under every way of choosing a device\'s region'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "sim" -d 'Run a scenario of the virtual phone on a simulated one, with the daemon\'s own code, in no time'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "ablate" -d 'Switch off one rule of the memory policy at a time, and tell what changes: verdicts, kills, launches'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "reproduce" -d 'Repeat the experiments of the papers: claim, our figure, verdict. Fails if a verdict does'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "report" -d 'Make one page of the papers\' experiments and of the saved results of scenarios: plots, verdicts, how to run each again'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from prefetch" -f -a "run" -d 'Watch for apps that start, learn from them and prefetch for them, until ended'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from prefetch" -f -a "status" -d 'Print what was prefetched for each app, and how much of it was used'
complete -c fovea -n "__fish_fovea_using_subcommand help; and __fish_seen_subcommand_from prefetch" -f -a "forget" -d 'Forget what was learned of an app, or of all'
