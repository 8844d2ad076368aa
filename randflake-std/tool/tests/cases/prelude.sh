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
