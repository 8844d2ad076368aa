# Boots systemd as process 1 of namespaces of its own, with the files of the guide, and lets `check.sh` decide.
#
# Arguments: a folder with `deploy`, `guide.sh`, `check.sh` and the program `randflake`; a control group to make; `inner` once inside.
set -eu
folder=$1 group=$2

if [ "${3:-}" = group ]; then
    # A control group of its own is its root there.
    mount -t cgroup2 cgroup2 "$folder/groups"
    mkdir "$folder/groups/$group"
    echo $$ >"$folder/groups/$group/cgroup.procs"
    status=0
    unshare --mount --uts --ipc --net --pid --cgroup --fork --kill-child \
        bash "$0" "$folder" "$group" inner || status=$?
    echo $$ >"$folder/groups/cgroup.procs"
    find "$folder/groups/$group" -depth -type d -exec rmdir {} +
    exit $status
fi
if [ "${3:-}" != inner ]; then
    mkdir "$folder/groups" "$folder/root"
    exec unshare --mount bash "$0" "$folder" "$group" group
fi

mount -t tmpfs tmpfs "$folder/root"
cd "$folder/root"
mkdir -p dev etc/systemd proc root run sys tmp usr var/lib
mount --rbind /usr usr
for name in bin lib lib64 sbin; do
    ln -s "usr/$name" "$name"
done
mount -t tmpfs -o mode=0755 tmpfs usr/local/bin
mount -t tmpfs -o mode=0755 tmpfs run
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for name in full null random urandom zero; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
ln -s /proc/self/fd dev/fd
mkdir dev/shm
echo 'root:x:0:0::/root:/bin/sh' >etc/passwd
echo 'root:x:0:' >etc/group
touch etc/machine-id
mkdir etc/systemd/system
# What the guide's units and a shutdown refer to.
for name in basic exit final multi-user network-online shutdown sockets sysinit umount; do
    cp "/usr/lib/systemd/system/$name.target" etc/systemd/system/
done
cp /usr/lib/systemd/system/systemd-exit.service etc/systemd/system/
cp -r "$folder/check.sh" "$folder/guide.sh" root/
mkdir -p root/clone/docs root/clone/target/release
cp -r "$folder/deploy" root/clone/docs/
cp "$folder/randflake" root/clone/target/release/
touch run/console
mount --bind "$folder/console" run/console
ln -s /run/console dev/console
cat >etc/systemd/system/check.service <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
WorkingDirectory=/root
ExecStart=/bin/bash -c 'bash check.sh; systemctl exit $?'
StandardOutput=append:/run/console
StandardError=append:/run/console
END
mkdir old
pivot_root . old
umount -l old
# As it leaves to whoever starts it in a container: credentials are mounted outside the service's own namespace.
mount --make-rshared /
export container=unshare SYSTEMD_UNIT_PATH=/etc/systemd/system SYSTEMD_GENERATOR_PATH=/none
exec /lib/systemd/systemd --system --unit=check.service --log-target=console --log-level=notice </dev/null
