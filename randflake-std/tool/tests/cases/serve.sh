
# Starts a server with these arguments. Its addresses are then in $HTTP and $RESP, and its log is in the file $LOG.
# It is waited for until it says $READY.
serve() {
    LOG=log.$((COUNT = COUNT + 1))
    randflake serve --http 127.0.0.1:0 --resp 127.0.0.1:0 "$@" </dev/null >/dev/null 2>$LOG &
    SERVERS="$SERVERS $!"
    said "${READY-randflake: ready}"
    HTTP=$(sed -n 's/.*randflake: http at //p' $LOG)
    RESP=$(sed -n 's/.*randflake: resp at //p' $LOG)
    export HTTP RESP
}

# Waits until the server has said this, or has ended.
said() {
    said=$1
    until_it eval 'grep -q -e "$said" $LOG || ! kill -0 ${SERVERS##* }' && grep -q -e "$1" $LOG
}

http() { "$CLIENT" --http "$@"; }
resp() { "$CLIENT" --resp "$@"; }

# A connection of a token, which stays open as a file of this number; a command on it, and its reply of one line.
open() {
    mkfifo requests.$1
    resp -t $2 <requests.$1 >replies.$1 &
    eval "exec $1>requests.$1"
}
ask() {
    file=$1
    shift
    replies=$(($(wc -l <replies.$file) + 1))
    eval "echo \"\$*\" >&$file"
    until_it eval '[ $(wc -l <replies.$file) -ge $replies ]'
    tail -n 1 replies.$file
}

# Passes in silence an id as RESP has it.
is_id() { ! grep -v '^-\{0,1\}[0-9][0-9]*$'; }

# A token, whose line is added to the file `tokens`: its name, scopes and namespaces.
token() {
    name=$1 scopes=$2 namespaces=$3
    shift 3
    randflake token new --file tokens --name $name --scopes $scopes --namespaces "$namespaces" "$@"
}

# Two namespaces, each with a secret of its own, and one without.
two_namespaces() {
    randflake keygen --out orders.key
    randflake keygen --out users.key
    cat >namespaces <<'END'
# What is served.
name=orders key-file=orders.key
name=users key-file=users.key layout=randflake
name=events layout=snowflake
END
}
