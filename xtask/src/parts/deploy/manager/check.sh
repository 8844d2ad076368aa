# Runs the guide's commands, and uses the service as its operator and its clients do. Runs in the booted tree, beside
# `clone` with the guide's files and the program; `guide.sh` has the commands.
set -Eeu
# The manager and the service do what they are asked after the answer, and on a slow machine long after: each state is waited
# for. What ends the script in another way than by `fail` is said, too.
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND"' ERR

fail() {
    echo "FAILED: $*"
    systemctl --no-pager --lines=0 status randflake.service || true
    cat /run/randflake.log || true
    exit 1
}

is() {
    local found
    for _ in {1..300}; do
        found=$(systemctl show --property="$1" --value "${3:-randflake.service}")
        if [ "$found" = "$2" ]; then
            echo "ok: $1 is $2"
            return
        fi
        sleep 0.2
    done
    fail "$1 is $found, and not $2"
}

show() {
    systemctl show --property="$1" --value randflake.service
}

# A new id over the Redis protocol, with a token. A server that starts answers `LOADING`, as Redis does, and one that reloads
# its tokens does not know a new one yet.
id() {
    local reply=
    for _ in {1..300}; do
        exec 3<>/dev/tcp/127.0.0.1/6380
        printf '*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n*2\r\n$4\r\nINCR\r\n$7\r\ndefault\r\n' ${#1} "$1" >&3
        read -r -t 120 reply <&3 && read -r -t 120 reply <&3 || fail "no answer ($2)"
        exec 3>&-
        reply=${reply%$'\r'}
        if [[ $reply =~ ^:-?[0-9]+$ ]]; then
            echo "ok: an id ($2)"
            return
        fi
        sleep 0.2
    done
    fail "no id, but $reply ($2)"
}

cd /root/clone
program=target/release/randflake
$program keygen --out randflake.key
first=$($program token new --file tokens --name first --scopes ids,leases --namespaces default)
# The program is built already, and this tree has no database.
sed '/^cargo build /d; s|RANDFLAKE_STORE=[^'"'"']*|RANDFLAKE_STORE=sqlite:/var/lib/randflake/leases.db|' ../guide.sh >commands
start=$(tail -n 1 commands)
sed -i '$d' commands
. ./commands 2>/dev/null
echo "ok: the guide's commands are done, but for: $start"

# What is not the guide's: where its messages are seen, and a watchdog that a test can wait for.
mkdir /etc/systemd/system/randflake.service.d
cat >/etc/systemd/system/randflake.service.d/test.conf <<'END'
[Service]
StandardError=append:/run/randflake.log
WatchdogSec=20s
END
# Whether anything can be confined so here: a kernel makes no users for what runs in a chroot, say.
sed '/^Requires=/d; s|^ExecStart=.*|ExecStart=/bin/true|; s/^Type=.*/Type=oneshot/; /^Restart/d' \
    /etc/systemd/system/randflake.service >/etc/systemd/system/any.service
systemctl daemon-reload
systemctl start any.service
echo 'services are confined'

mv /etc/randflake/environment kept
eval "$start" 2>/dev/null && fail "it starts without its environment"
is Result resources
mv kept /etc/randflake/environment
systemctl stop randflake.service randflake-resp.socket randflake-http.socket
systemctl reset-failed
eval "$start" 2>/dev/null || fail "the guide does not start it"
is ActiveState active
systemctl stop randflake.service 2>/dev/null

is ActiveState inactive
is ActiveState active randflake-resp.socket
id "$first" "socket activation"
is ActiveState active
is SubState running
is WatchdogUSec 20s
pid=$(show MainPID)
[ "$(stat -c %U "/proc/$pid")" = randflake ] || fail "it runs as $(stat -c %U "/proc/$pid")"
for line in 'CapEff:.0000000000000000' 'NoNewPrivs:.1' 'Seccomp:.2'; do
    grep -q "^$line\$" "/proc/$pid/status" || fail "no line $line in /proc/$pid/status"
done
if nsenter --mount --target "$pid" touch /etc/written 2>/dev/null; then
    fail "it may write to /etc"
fi
[ "$(stat -c %a:%U /var/lib/randflake)" = 700:randflake ] || fail "$(stat -c %a:%U /var/lib/randflake)"
echo "ok: user randflake, no capability, no new privileges, a filter of system calls, a read-only tree"

second=$(randflake token new --file tokens --name second --scopes ids --namespaces default)
install -m 0640 -g randflake tokens /etc/randflake/
systemctl reload randflake.service
id "$second" "a token that was added, after a reload"
is MainPID "$pid"

# Stopped as it stands, it no longer says that it lives.
kill -STOP "$pid"
# The signal is taken a moment later: until then a thread may accept a connection, which ends with its process.
for _ in {1..100}; do
    grep --quiet '^State:.T' "/proc/$pid/status" && break
    sleep 0.01
done
id "$first" "asked while it was stopped; the watchdog started another"
is NRestarts 1
second_pid=$(show MainPID)
[ "$second_pid" != "$pid" ] || fail "the watchdog did nothing"

# Clients that come while it is down are answered by the next one.
systemctl stop randflake.service 2>/dev/null
is Result success
is ActiveState inactive
is ActiveState active randflake-resp.socket
# Released until the end of the second in which it issued last.
for _ in {1..300}; do
    XDG_STATE_HOME=/var/lib setpriv --reuid randflake --regid randflake --clear-groups randflake lease list >left
    grep -q "/$second_pid/" left || break
    sleep 0.2
done
! grep "/$second_pid/" left || fail "it did not release its lease"
echo "ok: its lease is released"
id "$first" "asked after the stop"
systemctl stop randflake.service randflake-resp.socket randflake-http.socket
is Result success
