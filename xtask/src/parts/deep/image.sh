# Uses the image as the guide does: its settings, its own program and user, a token, an id.
#
# BUILDAH and REDIS_CLI are the commands, DOCKERFILE is the file; the folder has the program as `image/randflake`.
set -euo pipefail

fail() {
    echo "FAILED: $*"
    cat log 2>/dev/null || true
    exit 1
}

# What a program that is not static needs becomes the base.
base=scratch
if ldd image/randflake 2>&1 | grep -o '/[^ ]*' >libraries; then
    mkdir base
    strip image/randflake
    xargs <libraries cp --parents --dereference --target-directory base
    empty=$($BUILDAH from scratch)
    $BUILDAH copy --quiet "$empty" base / >/dev/null
    $BUILDAH commit --quiet --signature-policy policy.json "$empty" base >/dev/null
    base=localhost/base
fi
$BUILDAH build --isolation chroot --signature-policy policy.json --pull-never --target prebuilt \
    --build-arg BASE=$base --tag randflake --file "$DOCKERFILE" image

setting() {
    local found
    found=$($BUILDAH inspect --type image --format "{{.OCIv1.Config.$1}}" randflake)
    [ "$found" = "$2" ] || fail "$1 is $found, and not $2"
    echo "ok: $1 is $2"
}

setting User 65532:65532
setting Entrypoint '[/usr/local/bin/randflake]'
setting Cmd '[help]'
setting StopSignal SIGTERM
$BUILDAH inspect --type image randflake | grep -q XDG_STATE_HOME=/var/lib || fail "no XDG_STATE_HOME"

container=$($BUILDAH from --pull-never --signature-policy policy.json randflake)
tree=$($BUILDAH mount "$container")
echo "ok: the image has $(cd "$tree" && find . -type f | sort | tr '\n' ' ')"
[ "$(stat -c %a:%u:%g "$tree/usr/local/bin/randflake")" = 755:0:0 ] || fail "the program's owner or mode"
# Some builders give the mode to what is in the folder only.
[[ $(stat -c %a:%u:%g "$tree/var/lib/randflake") =~ ^7(00|55):65532:65532$ ]] || fail "the state folder's owner or mode"

image/randflake keygen --out randflake.key
REDISCLI_AUTH=$(image/randflake token new --file tokens --name test --scopes ids --namespaces default)
export REDISCLI_AUTH
chown 65532:65532 randflake.key tokens
port=$((20000 + $$ % 10000))

# As its user, in its tree with /dev and /proc, as in any container. Not by `buildah run`, which needs its libraries
# where the system has them.
mkdir -p "$tree/etc/randflake" "$tree/dev" "$tree/proc"
cp -p tokens randflake.key "$tree/etc/randflake/"
cat >enter.sh <<'END'
tree=$1
shift
mount --bind /dev "$tree/dev"
mount -t proc proc "$tree/proc"
exec chroot --userspec 65532:65532 --groups '' "$tree" "$@"
END
XDG_STATE_HOME=/var/lib unshare --mount sh -e enter.sh "$tree" /usr/local/bin/randflake serve \
    --resp "127.0.0.1:$port" --tokens /etc/randflake/tokens --key-file /etc/randflake/randflake.key >log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in {1..300}; do
    grep -qs ready log && break
    kill -0 $server 2>/dev/null || fail "it ended"
    sleep 0.2
done
id=$("$REDIS_CLI" -p "$port" INCR default)
[[ $id =~ ^-?[0-9]+$ ]] || fail "no id, but $id"
[ "$("$REDIS_CLI" -p "$port" ID.NEXT default COUNT 1000 | sort -u | wc -l)" = 1000 ] || fail "1,000 ids"
echo "ok: it serves ids"
kill -TERM $server
wait $server || fail "it ended with $?"
[ "$(stat -c %u "$tree/var/lib/randflake/leases.db")" = 65532 ] || fail "no leases in its volume"
echo "ok: it ends on SIGTERM"
