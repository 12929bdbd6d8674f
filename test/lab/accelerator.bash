# shellcheck shell=bash
# KVM where it runs a kernel, emulation elsewhere: source it, and cache.bash before it.

# accelerator KERNEL INITRD: prints kvm or tcg. INITRD says that the kernel runs, and powers off. What was
# found is kept until the machine boots again.
accelerator() {
  local root known lock
  root=$(cache_root)
  known=$root/accelerator-kind-$(</proc/sys/kernel/random/boot_id)
  mkdir -p "$root/locks"
  exec {lock}>"$root/locks/accelerator"
  flock "$lock"
  if [ ! -s "$known" ]; then
    rm -f "$root"/accelerator-*
    if kernel_runs "$1" "$2" -accel kvm -cpu host; then echo kvm >"$known"; else echo tcg >"$known"; fi
  fi
  exec {lock}>&-
  cat "$known"
}

# qemu_command KERNEL INITRD: prints QEMU's path and its options for processors, a word a line.
qemu_command() {
  if [ "$(accelerator "$@")" = kvm ]; then
    printf '%s\n' qemu-system-x86_64 -accel kvm -cpu host -smp 2
  else
    "$(dirname "${BASH_SOURCE[0]}")/emulator" || return
    printf '%s\n' -accel tcg -cpu "$emulated"
  fi
}

# Emulation has one processor: with QEMU 7.2 a guest with more hung now and then, all of them busy, each
# executing for ever an INT3 that the kernel, patching itself, had taken away again. (Newer ones were not
# tried: a machine with two processors has no third.)
# What is not emulated saves a fifth of the real processor's time: with ERMS the kernel clears and copies
# memory by instructions that are emulated byte by byte, SMAP ends a translated block at each access to a
# program's memory, and LA57 is one more level of every page table.
emulated=max,erms=off,smap=off,la57=off

# kernel_runs KERNEL INITRD OPTION...: a /dev/kvm alone proves nothing: there are machines whose KVM
# ends with an internal error at the kernel's first steps, or never returns.
kernel_runs() {
  timeout -k 1 20 qemu-system-x86_64 "${@:3}" -m 512M -nodefaults -display none -no-reboot \
    -kernel "$1" -initrd "$2" -append "console=ttyS0 panic=-1 quiet" -serial stdio \
    </dev/null 2>/dev/null | grep -q 'lab: the kernel runs'
}
