// Runs the binary with the restrictions of the unit and of the container, without systemd or a
// container runtime: namespaces, capabilities and a system-call filter built from the same lines.
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { binary } from "../../support/latchkey.ts"

const root = join(import.meta.dirname, "../../..")
/** A user ID that no account on the machine has. */
export const userId = 65532

/** The values of a directive of the unit file, in order. */
export function directive(name: string): readonly string[] {
  const unit = readFileSync(join(root, "packaging/latchkey.service"), "utf8")
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value)
}

/** The system calls of a systemd set, including nested sets. */
function callsIn(set: string): readonly string[] {
  const text = execFileSync("systemd-analyze", ["syscall-filter", "--no-pager", set]).toString()
  return text
    .split("\n")
    .slice(1)
    .map((line) => line.trim())
    .filter((name) => /^[@\w-]+$/.test(name))
    .flatMap((name) => (name.startsWith("@") ? callsIn(name) : [name]))
}

/** The allowed calls: each line adds calls, or removes them if it starts with "~". */
export function allowedCalls(): readonly string[] {
  const allowed = new Set<string>()
  for (const line of directive("SystemCallFilter")) {
    const names = line.replace(/^~/, "").split(" ")
    for (const name of names.flatMap((each) => (each.startsWith("@") ? callsIn(each) : [each]))) {
      if (line.startsWith("~")) allowed.delete(name)
      else allowed.add(name)
    }
  }
  return [...allowed]
}

/** Compiles the program that installs the filter. */
function compileConfine(folder: string, calls: readonly string[]): void {
  const rows = calls.map((name) => `#ifdef SYS_${name}\nSYS_${name},\n#endif\n`)
  writeFileSync(join(folder, "calls.h"), rows.join(""))
  const source = join(import.meta.dirname, "confine.c")
  const program = join(folder, "confine")
  execFileSync("gcc", ["-O1", "-Wall", "-Werror", `-I${folder}`, "-o", program, source])
}

/** Drops every capability except the named ones, permanently. */
const unprivilegedCommand = (rights: string) =>
  `setpriv --reuid ${userId} --regid ${userId} --clear-groups --no-new-privs ` +
  `--inh-caps -all${rights} --ambient-caps -all${rights} --bounding-set -all${rights} ` +
  "--securebits +noroot,+noroot_locked --"

/**
 * A directory like the state directory that systemd creates, on a file system without other mounts.
 */
export const stateFolder = () => mkdtempSync("/var/lib/latchkey-test-")

/**
 * The shell command that runs `latchkey ARGUMENTS` as the unit does: the machine read-only except
 * for its own directory, which also contains the programs; homes, other processes and devices
 * hidden.
 */
export function unitCommand(state: string, words: readonly string[]): readonly string[] {
  const devices = ["null", "zero", "full", "random", "urandom", "tty"]
  const steps = [
    "set -e",
    "mount --make-rprivate /",
    `mount --bind ${state} ${state}`,
    `mkdir -p ${state}/dev-real && mount --rbind /dev ${state}/dev-real`,
    "mount -t tmpfs -o mode=755 tmpfs /dev",
    ...devices.map(
      (name) => `touch /dev/${name} && mount --bind ${state}/dev-real/${name} /dev/${name}`,
    ),
    `umount -l ${state}/dev-real && rmdir ${state}/dev-real`,
    "mount -o remount,ro /dev",
    "mount -t tmpfs -o mode=1777 tmpfs /tmp",
    "for at in /home /root /run/user; do [ ! -d $at ] || mount -t tmpfs -o ro tmpfs $at; done",
    "mount -o remount,bind,ro /",
    "mount -o remount,bind,ro /sys || true",
    "mount -t proc -o subset=pid,hidepid=invisible proc /proc",
    `cd ${state}/data`,
    "umask 0077",
    `exec ${unprivilegedCommand(",+net_bind_service")} ${state}/confine ${words.join(" ")}`,
  ]
  return ["unshare", "--mount", "--ipc", "sh", "-c", steps.join("\n")]
}

/** Copies the programs and creates the data directory where the unit's command expects them. */
export function prepareUnit(state: string, calls = allowedCalls()): void {
  chmodSync(state, 0o755)
  copyFileSync(binary, join(state, "latchkey"))
  compileConfine(state, calls)
  mkdirSync(join(state, "data"), { mode: 0o700 })
  execFileSync("chown", [`${userId}:${userId}`, join(state, "data")])
}

/** The libraries that the binary links to, as the container's base image provides them. */
const librariesOf = (program: string): readonly string[] => [
  ...new Set(execFileSync("ldd", [program]).toString().match(/\/\S+/g) ?? []),
]

/** The container's volume for persistent data. */
export const home: string =
  /^VOLUME (\S+)$/m.exec(readFileSync(join(root, "packaging/Containerfile"), "utf8"))?.[1] ?? ""

/**
 * A root file system as the container file builds it: the base image's libraries, the binary, a
 * home directory, no shell.
 */
export function prepareContainer(rootfs: string): void {
  chmodSync(rootfs, 0o755)
  for (const name of ["usr/bin", "etc", "proc", "dev", "tmp", home]) {
    mkdirSync(join(rootfs, name), { recursive: true })
  }
  for (const library of librariesOf(binary)) {
    mkdirSync(join(rootfs, dirname(library)), { recursive: true })
    copyFileSync(library, join(rootfs, library))
    chmodSync(join(rootfs, library), 0o755)
  }
  copyFileSync(binary, join(rootfs, "usr/bin/latchkey"))
  writeFileSync(join(rootfs, "etc/passwd"), `nonroot:x:${userId}:${userId}::${home}:/none\n`)
  execFileSync("chown", [`${userId}:${userId}`, join(rootfs, home)])
}

/** The shell command that runs the binary in it, as the compose file does. */
export function containerCommand(rootfs: string, words: readonly string[]): readonly string[] {
  const program = "/usr/bin/latchkey"
  const steps = [
    "set -e",
    "mount --make-rprivate /",
    `mount --bind ${rootfs} ${rootfs}`,
    `mount --bind ${rootfs}${home} ${rootfs}${home}`,
    `mount -t tmpfs -o mode=1777,size=64m tmpfs ${rootfs}/tmp`,
    `mount -t tmpfs -o mode=755 tmpfs ${rootfs}/dev`,
    ...["null", "zero", "random", "urandom"].map(
      (name) => `touch ${rootfs}/dev/${name} && mount --bind /dev/${name} ${rootfs}/dev/${name}`,
    ),
    `mount -t proc proc ${rootfs}/proc`,
    `mount -o remount,bind,ro ${rootfs}`,
    // Entering requires three capabilities, which are dropped with the change of user.
    "exec setpriv --no-new-privs --bounding-set -all,+sys_chroot,+setuid,+setgid -- " +
      `chroot --userspec ${userId}:${userId} --groups= ${rootfs} ${program} ${words.join(" ")}`,
  ]
  return ["unshare", "--mount", "--ipc", "--uts", "sh", "-c", steps.join("\n")]
}
