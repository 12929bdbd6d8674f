# shellcheck shell=bash disable=SC2034,SC2103,SC2154,SC2164
# A node's machine in QEMU, with Debian's own kernel: node sources this, or user-mode.bash.

commands_at=UNIX-CONNECT:exec.sock
machine_processes=(machine)

make_machine() {
  cp "$root/vmlinuz" "$root/initrd.gz" "$root/probe.gz" "$home/"
  qemu-img create -q -f qcow2 -F raw -b "$root/root.img" "$home/root.qcow2"
  echo "MACHINE=qemu DATA_DISK=/dev/vdc" >>"$1"
}

# Started in its own folder: a UNIX socket's path may have 107 bytes only.
# cache=unsafe leaves flushing to the host, which a guest's reset does not lose.
# Left to itself the kernel takes the HPET for its clock, and each look at that is an exit into QEMU,
# under its one lock.
power_on() {
  local file drives=() words qemu
  words=$(qemu_command "$home/vmlinuz" "$home/probe.gz")
  mapfile -t qemu <<<"$words"
  for file in root.qcow2:qcow2:root handover.img:raw:handover data.img:raw:data; do
    drives+=(-drive "file=${file%%:*},format=$(cut -d : -f 2 <<<"$file"),if=none,id=${file##*:},cache=unsafe,discard=unmap")
    case $bare:${file##*:} in
      yes:data) drives+=(-device "nvme,serial=lab,drive=data") ;;
      *) drives+=(-device "virtio-blk-pci,drive=${file##*:}") ;;
    esac
  done
  cd "$home"
  # What the kernel does against hostile programs costs an emulated processor much, and there are none.
  start_process "$home" machine "${qemu[@]}" -m "$memory" \
    -nodefaults -display none -no-reboot -kernel vmlinuz -initrd initrd.gz \
    -append "console=ttyS0 panic=-1 quiet clocksource=tsc tsc=reliable mitigations=off init_on_alloc=0" \
    "${drives[@]}" -device virtio-rng-pci \
    -netdev "user,id=net,hostfwd=tcp:127.0.0.1:$kubelet_port-10.0.2.15:$kubelet_port" \
    -device virtio-net-pci,netdev=net,romfile= -serial file:console.log \
    -device virtio-serial-pci -chardev socket,id=exec,path=exec.sock,server=on,wait=off \
    -device virtserialport,chardev=exec,name=lab.exec
  cd - >/dev/null
}

power_off() {
  stop_processes "$home" machine
  rm -f "$home/exec.sock"
}
