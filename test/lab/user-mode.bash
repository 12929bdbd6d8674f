# shellcheck shell=bash disable=SC2034,SC2103,SC2154,SC2164
# A node's machine in user-mode Linux: node sources this, or qemu.bash. Its programs run as fast as this
# machine's, where an emulated processor needs ten times as long; its kernel is guest-kernel's.

. "$lab/processor.bash"

readonly commands_at='PIPE:exec.out,rdonly!!PIPE:exec.in,wronly'

make_machine() {
  # The path goes through a kernel's command line, which knows no quotes.
  [[ $root$home =~ ^/[A-Za-z0-9/._-]*$ ]] ||
    fail "user-mode Linux takes no path with other than letters, digits, '.', '_' and '-': $home"
  cp "$root/initrd.gz" "$home/"
  echo "MACHINE=user-mode DATA_DISK=/dev/ubdc MODULES=$("$lab/guest-kernel")/modules" >>"$1"
}

# In a network of its own, which only these sockets lead into and out of.
power_on() {
  local files
  files=$("$lab/guest-kernel")
  cd "$home"
  rm -f api.sock kubelet.sock exec.in exec.out
  mkfifo exec.in exec.out
  start_process "$home" api socat -t 10 UNIX-LISTEN:api.sock,fork "TCP:127.0.0.1:$(api_port "$cluster")"
  start_process "$home" kubelet socat -t 10 "TCP-LISTEN:$kubelet_port,bind=127.0.0.1,reuseaddr,fork" \
    UNIX-CONNECT:kubelet.sock
  start_process "$home" machine unshare --net --pid --fork --kill-child --mount-proc \
    "$lab/user-mode-machine" "$(api_port "$cluster")" "$kubelet_port" \
    taskset -c "$(processor_at $((-1 - ${GUEST_SLOT:-0})))" \
    env -u TMPDIR -u TMP -u TEMP LD_LIBRARY_PATH="$files/lib" "$files/linux.uml" mem="$memory" \
    seccomp=off initrd=initrd.gz ubd0="root.cow,$root/root.img" ubd1r=handover.img ubd2=data.img \
    vec0:transport=tap,ifname=tap0 uml_dir=uml quiet panic=-1 \
    con=null ssl=null con0=null,fd:5 ssl0=fd:6,fd:7 console=tty0
  cd - >/dev/null
}

# unshare holds off SIGTERM, and nothing on the machine is asked anyway: its power is cut.
power_off() {
  local process
  ! process=$(process_id "$home" machine) || kill -KILL "$process" 2>/dev/null || true
  stop_processes "$home" machine api kubelet
}
