
# The server's URL for another of its users.
as() { echo "$URL" | sed "s|//[a-z]*@|//$1@|"; }

# Answers of the database to statements, which are arguments or lines of standard input; and those to another user.
sql() { "$CLIENT" --sql "$URL" "$@"; }
sql_as() {
    user=$1
    shift
    "$CLIENT" --sql "$(as $user)" "$@"
}

# Calls of functions of `randflake_orders`, each in a line of standard input.
calls() { sed 's/^/SELECT randflake_orders./' | sql; }

# Runs what `randflake sql` prints; and as another user.
install() { randflake sql $ENGINE "$@" | "$CLIENT" --script "$URL"; }
install_as() {
    user=$1
    shift
    randflake sql $ENGINE "$@" | "$CLIENT" --script "$(as $user)"
}

# Brings the key of the published example; and as another user.
key() { keyed sql key --database "$URL" "$@"; }
key_as() {
    user=$1
    shift
    keyed sql key --database "$(as $user)" "$@"
}

# The secret of a key number.
derived() { keyed keygen --derive $1; }

# Brings what follows from the secret of a number: with its options.
key_of() {
    number=$1
    shift
    RANDFLAKE_KEY=$(derived $number) randflake sql key --database "$URL" "$@"
}

# With the functions for encrypted ids of `orders`, and their key.
orders() { install --namespace orders --layout randflake && key --namespace orders >/dev/null; }

# With the functions for tagged UUIDs of `orders`, and the keys of two numbers.
tagged_orders() {
    install --namespace orders --tagged
    for number in 1 2; do key_of $number --namespace orders --tagged $number >/dev/null; done
}

# A program of PostgreSQL.
postgres() {
    program=$1
    shift
    "$RANDFLAKE_POSTGRES/$program" "$@"
}
