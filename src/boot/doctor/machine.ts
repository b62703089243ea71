import { existsSync, readFileSync, statfsSync, statSync } from "node:fs"
import { createServer } from "node:net"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Address, addressText } from "../../kernel/net/address.ts"
import { sizeText } from "../../kernel/text/size.ts"
import type { Folder } from "../folder/folder.ts"
import { exposedKey, givenMasterKey } from "../folder/master-key.ts"
import { systemCode } from "../start-error.ts"
import { systemLibrary } from "../system/library.ts"
import { type Finding, ok, warning, wrong } from "./finding.ts"

/** The data folder: whose it is, who else may look into it, and whether it is a whole one. */
export function checkFolder(folder: Folder): Finding[] {
  const stat = statSync(folder.path, { throwIfNoEntry: false })
  if (!stat) {
    const todo = "name another with --data DIR, or let latchkey serve make it"
    return [wrong("folder", `there is no folder ${folder.path}`, todo)]
  }
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0")
  const isOthers = (stat.mode & 0o077) !== 0
  const uid = process.getuid?.() ?? stat.uid
  return [
    isOthers
      ? warning(
          "folder",
          `others may look into ${folder.path} (${mode})`,
          `chmod 700 ${folder.path}`,
        )
      : ok("folder", `${folder.path} is its owner's alone`),
    ...(uid === stat.uid || uid === 0
      ? []
      : [
          wrong("folder", `it belongs to user ${stat.uid}, and you are ${uid}`, "run as its owner"),
        ]),
    ...(existsSync(folder.restoring)
      ? [wrong("folder", "a restore did not come to its end", "run latchkey restore again")]
      : []),
  ]
}

export function checkKey(folder: Folder, config: Config): Finding[] {
  const exposed = exposedKey(folder, config)
  if (exposed?.isBesideData) {
    const said = `others may read the master key (${exposed.mode})`
    return [wrong("master key", said, `chmod 600 ${exposed.file}`)]
  }
  try {
    if (givenMasterKey(folder, config))
      return [ok("master key", "there, and the one of this folder")]
    if (!existsSync(folder.database)) return [ok("master key", "the first start makes it")]
    const todo = `put ${folder.masterKey} back, or give it with --master-key-file`
    return [wrong("master key", "not there: what is sealed can't be opened", todo)]
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return [wrong("master key", cause.message, "give the key that this folder was made with")]
  }
}

const roomMin = 256e6

export function checkDisk(folder: Folder): Finding {
  const { bavail, bsize, blocks } = statfsSync(folder.path)
  const free = bavail * bsize
  const said = `${sizeText(free)} of ${sizeText(blocks * bsize)} are free`
  const size = statSync(folder.database, { throwIfNoEntry: false })?.size ?? 0
  if (free < roomMin) return wrong("disk", said, "free some space before writing stops")
  if (free > 2 * size) return ok("disk", said)
  return warning("disk", said, "that is too little for a backup, which copies the database first")
}

const filesMin = 4096

/** Each connection takes one; proc(5) has the limits of a process by their names. */
export function checkLimits(pid: number | undefined): Finding {
  const file = `/proc/${pid ?? "self"}/limits`
  const text = existsSync(file) ? readFileSync(file, "utf8") : ""
  const files = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)
  const said = `${files === Number.POSITIVE_INFINITY ? "any number of" : files} open files`
  if (files >= filesMin) return ok("limits", said)
  return warning("limits", said, `raise it: ulimit -n 65536, or LimitNOFILE=65536 in the unit`)
}

/** Whether somebody may listen where no server of ours does yet. */
export function checkPort(flag: string, address: Address): Promise<Finding> {
  const where = addressText(address)
  const server = createServer()
  return new Promise((done) => {
    server.once("error", (cause) => {
      const said = `nothing can listen on ${where} (${systemCode(cause)})`
      done(wrong("ports", said, `stop what does, or choose another with ${flag}`))
    })
    server.listen(address.port, address.host, () => {
      server.close(() => done(ok("ports", `${where} is free`)))
    })
  })
}

/** adjtimex(2) answers this where nothing sets the clock right. */
const unsynchronised = 5

/** Whether something keeps the clock right, and whether it went back; times in ms UTC. */
export async function checkClock(now: number, newest: number | null): Promise<Finding> {
  if (newest !== null && newest > now + 60_000) {
    const said = `it is before the newest event, ${new Date(newest).toISOString()}`
    return wrong("clock", said, "set it right: tokens would be refused or good for too long")
  }
  const said = new Date(now).toISOString()
  if (process.platform !== "linux") return ok("clock", said)
  const { dlopen, ptr } = await import("bun:ffi")
  const { symbols, close } = dlopen(systemLibrary(), {
    adjtimex: { args: ["ptr"], returns: "int" },
  })
  const state = symbols.adjtimex(ptr(new Uint8Array(256)))
  close()
  if (state !== unsynchronised) return ok("clock", `${said}, kept right by the system`)
  return warning(
    "clock",
    `${said}, and nothing keeps it right`,
    "turn on NTP: timedatectl set-ntp 1",
  )
}
