# shellcheck shell=bash disable=SC2034,SC2103,SC2154,SC2164
# A node's machine in user-mode Linux: node sources this, or qemu.bash. Its programs run as fast as this
# machine's, where an emulated processor needs ten times as long; its kernel is guest-kernel's.

. "$lab/processor.bash"

commands_at='PIPE:exec.out,rdonly!!PIPE:exec.in,wronly'
machine_processes=(machine api kubelet)

make_machine() {
  # The paths go through a kernel's command line, which knows no quotes.
  [[ $root$kernel =~ ^/[A-Za-z0-9/._-]*$ ]] ||
    fail "user-mode Linux takes no path with other than letters, digits, '.', '_' and '-': see FLEXLOCAL_CACHE"
  cp "$root/initrd.gz" "$home/"
  echo "MACHINE=user-mode DATA_DISK=/dev/ubdc" >>"$1"
}

# In a network of its own, which only these sockets lead into and out of. Guests take the processors
# from the first one, nodes from the last. All that the machine sees of the host's files are modules.
power_on() {
  local lock number=$((network + 2 * ${GUEST_SLOT:-0}))
  cd "$home"
  # A command that is asked for meanwhile waits.
  exec {lock}>exec.lock
  flock "$lock"
  mkfifo -m 600 exec.in exec.out
  exec {lock}>&-
  start_process "$home" api socat -t 10 UNIX-LISTEN:api.sock,fork "TCP:127.0.0.1:$(api_port "$cluster")"
  start_process "$home" kubelet socat -t 10 "TCP-LISTEN:$kubelet_port,bind=127.0.0.1,reuseaddr,fork" \
    UNIX-CONNECT:kubelet.sock
  start_process "$home" machine unshare --net --pid --fork --kill-child --mount-proc \
    "$lab/user-mode-machine" "$(api_port "$cluster")" "$kubelet_port" \
    taskset -c "$(processor_at "-$number")" \
    env -u TMPDIR -u TMP -u TEMP LD_LIBRARY_PATH="$kernel/lib" "$kernel/linux.uml" mem="$memory" \
    seccomp=off hostfs="$kernel/modules" initrd=initrd.gz ubd0="root.cow,$root/root.img" ubd1r=handover.img ubd2=data.img \
    vec0:transport=tap,ifname=tap0 uml_dir=uml quiet panic=-1 \
    con=null ssl=null con0=null,fd:5 ssl0=fd:6,fd:7 console=tty0
  cd - >/dev/null
}

# Nothing on the machine is asked: its power is cut. unshare ends when nothing is left in its namespace.
power_off() {
  local process child=''
  if process=$(process_id "$home" machine); then
    read -r child <"/proc/$process/task/$process/children" || true
    kill -KILL "${child:-$process}" 2>/dev/null || true
  fi
  stop_processes "$home" "${machine_processes[@]}"
  rm -rf "$home"/{api.sock,kubelet.sock,exec.in,exec.out,uml}
}
