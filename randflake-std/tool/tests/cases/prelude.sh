# With the key of the published example.
keyed() { RANDFLAKE_KEY=$KEY randflake "$@"; }

# For loops: shows its standard error and exit status at once, as the transcript does.
try() {
    "$@" 2>"$RUNS/try.err"
    status=$?
    sed '/^randflake: note: the leases of this secret are on this machine alone/d; s/^/! /' "$RUNS/try.err"
    rm "$RUNS/try.err"
    [ $status = 0 ] || echo "? $status"
}

# Writes a secret to a file that only its owner may read: of the published example, or the one given.
secret() { (umask 077 && printf %s "${2-$KEY}" >"$1"); }

# A member of each object that is read.
member() { sed "s/.*\"$1\":\"\{0,1\}\([^,}\"]*\).*/\1/"; }

# How many distinct lines are read.
distinct() { sort -u | wc -l; }

# Begins a new counter, which no process has numbers of.
begin() { randflake segment init --no-wait "$@" 2>"$RUNS/begin.err"; }

# Which of the Unix times that are read are not of the last ten minutes: an id of another secret would have a random one.
old() {
    now=$(date +%s)
    while read -r time; do
        age=$((now - ${time%.*}))
        { [ $age -lt 600 ] && [ $age -ge -5 ]; } || echo "$time"
    done
}

# Ends all that the section has started.
SERVERS= HOLDERS= FD=9
trap 'kill $SERVERS 2>/dev/null; kill -KILL $HOLDERS 2>/dev/null' EXIT

# Starts a command with the key, as process $HOLDER. Its output is read from the open file $FD.
piped() {
    # The shell has names for files up to 9.
    FD=$(((FD - 3) % 6 + 4))
    rm -f pipe.$FD
    mkfifo pipe.$FD
    RANDFLAKE_KEY=$KEY randflake "$@" >pipe.$FD 2>err.$FD </dev/null &
    HOLDER=$!
    HOLDERS="$HOLDERS $HOLDER"
    eval "exec $FD<pipe.$FD"
}

# Starts `generate` for more ids than anybody reads, so that it goes on holding its leases. Its first id is $ID.
hold() {
    piped generate -n 1000000000 "$@"
    read -r ID <&$FD
}

# Kills the holder, as `kill -9` does.
kill_holder() {
    kill -KILL $HOLDER
    wait $HOLDER 2>/dev/null || :
}

# Waits until the holder has ended, and shows what it said, and its exit status.
ended() {
    status=0
    wait $HOLDER || status=$?
    sed '/^randflake: note: the leases of this secret are on this machine alone/d; s/^/! /' err.$FD
    [ $status = 0 ] || echo "? $status"
}

# Reads no further, which ends the holder.
stop_reading() {
    eval "exec $FD<&-"
    ended
}

# Waits until a command succeeds, as long as a machine may be slow.
until_it() {
    for try in $(seq 3000); do
        "$@" >"$RUNS/until" 2>&1 && return
        sleep 0.02
    done
    echo "$* has not succeeded"
    return 1
}

# Another process has the lock of a file, until it is unlocked.
locked() {
    "$CLIENT" --lock "$1" &
    LOCK=$!
    HOLDERS="$HOLDERS $LOCK"
    until_it [ -e locked ]
}

unlocked() {
    kill -KILL $LOCK
    wait $LOCK 2>/dev/null || :
}
