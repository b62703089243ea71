import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { systemCode } from "../start-error.ts"
import { systemLibraryPath } from "./library.ts"

/**
 * Makes the kernel ignore new connections to a port of this process. A listener that closes resets
 * connections that are not accepted yet, and their clients can't know whether the request was
 * processed. With this, clients retry and then find the port closed or the next process. Existing
 * connections are not affected. Returns false if the system does not support it; the port then
 * closes as usual, because a stop must not fail for this.
 */
export async function ignoreNewConnections(
  port: number,
  library: () => string = systemLibraryPath,
): Promise<boolean> {
  if (process.platform !== "linux") return false
  try {
    return await attachFilterAt(port, library)
  } catch {
    // No library, no descriptor directory, or no free descriptor to list it with.
    return false
  }
}

async function attachFilterAt(port: number, library: () => string): Promise<boolean> {
  const listening = listenersAt(port)
  if (listening.length === 0) return false
  const { dlopen, ptr } = await import("bun:ffi")
  const { symbols, close } = dlopen(library(), {
    setsockopt: { args: ["int", "int", "int", "ptr", "u32"], returns: "int" },
  })
  // struct sock_fprog: the number of instructions and their address.
  const program = Buffer.alloc(16)
  program.writeUInt16LE(instructions.length, 0)
  const code = Buffer.concat(instructions)
  program.writeBigUInt64LE(BigInt(ptr(code)), 8)
  const results = listening.map((descriptor) =>
    symbols.setsockopt(descriptor, socketLevel, attachFilter, ptr(program), program.length),
  )
  close()
  return results.every((result) => result === 0)
}

const socketLevel = 1
const attachFilter = 26

/** struct sock_filter of socket(7). */
function instruction(code: number, onTrue: number, onFalse: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(onTrue, 2)
  bytes.writeUInt8(onFalse, 3)
  bytes.writeUInt32LE(value, 4)
  return bytes
}

/** SYN and ACK of a segment's flags (RFC 9293 §3.1): SYN alone opens a connection. */
const [flagsAt, synAndAck, syn] = [13, 0x12, 0x02]
const [loadByte, and, jumpIfEqual, answer] = [0x30, 0x54, 0x15, 0x06]
const instructions = [
  instruction(loadByte, 0, 0, flagsAt),
  instruction(and, 0, 0, synAndAck),
  instruction(jumpIfEqual, 0, 1, syn),
  instruction(answer, 0, 0, 0),
  instruction(answer, 0, 0, 0xffff_ffff),
]

/** The descriptors of this process that listen on a port. */
function listenersAt(port: number): readonly number[] {
  const inodes = new Set(
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].flatMap((file) => listeningInodes(file, port)),
  )
  return readdirSync("/proc/self/fd").flatMap((name) => {
    const inode = /^socket:\[(\d+)\]$/.exec(readLinkOptional(`/proc/self/fd/${name}`))?.[1]
    return inode !== undefined && inodes.has(inode) ? [Number(name)] : []
  })
}

/** proc_net_tcp(5): a line per socket with its local address, state and inode. */
function listeningInodes(file: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  return readOptional(file)
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => local.endsWith(suffix) && state === listenState)
    .flatMap((fields) => fields[9] ?? [])
}

const listenState = "0A"

/** The machine may have no IPv6, and a descriptor can be closed in the meantime. */
const readOptional = (file: string): string => orEmpty(() => readFileSync(file, "utf8"))
const readLinkOptional = (path: string): string => orEmpty(() => readlinkSync(path))

function orEmpty(read: () => string): string {
  try {
    return read()
  } catch (cause) {
    if (["ENOENT", "EACCES"].includes(systemCode(cause))) return ""
    throw cause
  }
}
