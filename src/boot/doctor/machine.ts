import { existsSync, readFileSync, statfsSync, statSync } from "node:fs"
import { createServer } from "node:net"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Address, formatAddress } from "../../kernel/net/address.ts"
import { formatSize } from "../../kernel/text/size.ts"
import type { Folder } from "../folder/folder.ts"
import { findExposedKey, findMasterKey } from "../folder/master-key.ts"
import { systemCode } from "../start-error.ts"
import { systemLibraryPath } from "../system/library.ts"
import { type Finding, ok, problem, warning } from "./finding.ts"

/** The data directory: its owner, its permissions, and whether a restore into it was completed. */
export function checkFolder(folder: Folder): Finding[] {
  const stat = statSync(folder.path, { throwIfNoEntry: false })
  if (!stat) {
    const todo = "name another one with --data DIR, or let latchkey serve create it"
    return [problem("folder", `directory ${folder.path} not found`, todo)]
  }
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0")
  const isOthers = (stat.mode & 0o077) !== 0
  const uid = process.getuid?.() ?? stat.uid
  return [
    isOthers
      ? warning(
          "folder",
          `other users can access ${folder.path} (${mode})`,
          `chmod 700 ${folder.path}`,
        )
      : ok("folder", `only its owner can access ${folder.path}`),
    ...(uid === stat.uid || uid === 0
      ? []
      : [
          problem(
            "folder",
            `it belongs to user ${stat.uid}, but you are ${uid}`,
            "run the command as its owner",
          ),
        ]),
    ...(existsSync(folder.restoring)
      ? [problem("folder", "a restore was not completed", "run latchkey restore again")]
      : []),
  ]
}

export function checkKey(folder: Folder, config: Config): Finding[] {
  const exposed = findExposedKey(folder, config)
  if (exposed?.isBesideData) {
    const reported = `other users can read the master key (${exposed.mode})`
    return [problem("master key", reported, `chmod 600 ${exposed.file}`)]
  }
  try {
    if (findMasterKey(folder, config))
      return [ok("master key", "present, and it matches this directory")]
    if (!existsSync(folder.database)) return [ok("master key", "the first start creates it")]
    const todo = `restore ${folder.masterKey}, or set --master-key-file`
    return [problem("master key", "missing: sealed data can't be decrypted", todo)]
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return [
      problem("master key", cause.message, "provide the key that this directory was created with"),
    ]
  }
}

const freeBytesMin = 256e6

export function checkDisk(folder: Folder): Finding {
  const { bavail, bsize, blocks } = statfsSync(folder.path)
  const free = bavail * bsize
  const reported = `${formatSize(free)} of ${formatSize(blocks * bsize)} are free`
  const size = statSync(folder.database, { throwIfNoEntry: false })?.size ?? 0
  if (free < freeBytesMin) return problem("disk", reported, "free some space before writes fail")
  if (free > 2 * size) return ok("disk", reported)
  return warning("disk", reported, "not enough for a backup, which first copies the database")
}

const openFilesMin = 4096

/** Each connection uses a file descriptor; proc(5) lists the limits of a process by name. */
export function checkLimits(pid: number | undefined): Finding {
  const file = `/proc/${pid ?? "self"}/limits`
  const text = existsSync(file) ? readFileSync(file, "utf8") : ""
  const files = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)
  const reported = `${files === Number.POSITIVE_INFINITY ? "any number of" : files} open files`
  if (files >= openFilesMin) return ok("limits", reported)
  return warning("limits", reported, `raise it: ulimit -n 65536, or LimitNOFILE=65536 in the unit`)
}

/** Checks whether a server can listen on an address that none of ours uses yet. */
export function checkPort(flag: string, address: Address): Promise<Finding> {
  const where = formatAddress(address)
  const server = createServer()
  return new Promise((done) => {
    server.once("error", (cause) => {
      const reported = `nothing can listen on ${where} (${systemCode(cause)})`
      done(
        problem(
          "ports",
          reported,
          `stop the program that listens there, or choose another address with ${flag}`,
        ),
      )
    })
    server.listen(address.port, address.host, () => {
      server.close(() => done(ok("ports", `${where} is free`)))
    })
  })
}

/** The result of adjtimex(2) if the clock is not synchronized. */
const unsynchronized = 5

/**
 * Checks whether the clock is synchronized and whether it was set back; times are in ms since the
 * epoch.
 */
export async function checkClock(now: number, newest: number | null): Promise<Finding> {
  if (newest !== null && newest > now + 60_000) {
    const reported = `it is before the newest event, ${new Date(newest).toISOString()}`
    return problem(
      "clock",
      reported,
      "set the clock: otherwise tokens are rejected or expire too late",
    )
  }
  const reported = new Date(now).toISOString()
  if (process.platform !== "linux") return ok("clock", reported)
  const { dlopen, ptr } = await import("bun:ffi")
  const { symbols, close } = dlopen(systemLibraryPath(), {
    adjtimex: { args: ["ptr"], returns: "int" },
  })
  const state = symbols.adjtimex(ptr(new Uint8Array(256)))
  close()
  if (state !== unsynchronized) return ok("clock", `${reported}, synchronized by the system`)
  return warning("clock", `${reported}, not synchronized`, "turn on NTP: timedatectl set-ntp 1")
}
