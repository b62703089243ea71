import { readdirSync, statSync } from "node:fs"
import { systemCode } from "../start-error.ts"
import { systemLibraryPath } from "./library.ts"

/** A connection to a port of this process. */
export type Connection = { readonly peer: string; readonly port: number }

/** The descriptors of this process and its connections. */
export type Sockets = {
  /** The current maximum number of descriptors. */
  readonly max: () => number
  /** The number of open descriptors. */
  readonly count: () => number
  /** The open descriptors; all possible ones if no descriptor is free to list them. */
  readonly list: () => readonly number[]
  /** Undefined if the descriptor is not an IP connection. */
  readonly connectionAt: (descriptor: number) => Connection | undefined
  /** Closes the connection in both directions; its handler sees a client that disconnected. */
  readonly end: (descriptor: number) => void
}

/** Undefined if the system is not Linux, because the runtime has no functions for this. */
export async function openSockets(): Promise<Sockets | undefined> {
  if (process.platform !== "linux") return undefined
  const { dlopen, ptr } = await import("bun:ffi")
  const { symbols } = dlopen(systemLibraryPath(), {
    getpeername: { args: ["int", "ptr", "ptr"], returns: "int" },
    getsockname: { args: ["int", "ptr", "ptr"], returns: "int" },
    getrlimit: { args: ["int", "ptr"], returns: "int" },
    shutdown: { args: ["int", "int"], returns: "int" },
  })
  const address = Buffer.alloc(addressBytes)
  const length = new Uint32Array(1)
  const addressOf = (descriptor: number, endpointFunction: "getpeername" | "getsockname") => {
    length[0] = addressBytes
    if (symbols[endpointFunction](descriptor, ptr(address), ptr(length)) !== 0) return undefined
    return isInternet(address) ? address : undefined
  }
  const limit = new BigUint64Array(2)
  const max = () => {
    symbols.getrlimit(descriptorLimit, ptr(limit))
    return Number(limit[0])
  }
  const list = () => descriptorList() ?? Array.from({ length: max() }, (_, each) => each)
  return {
    max,
    list,
    // Since Linux 6.2, the size of the directory is the number of descriptors; otherwise they are
    // listed.
    count: () => statSync(descriptorDirectory).size || list().length,
    connectionAt: (descriptor) => {
      const port = addressOf(descriptor, "getsockname")?.readUInt16BE(2)
      const peer = port === undefined ? undefined : addressOf(descriptor, "getpeername")
      return peer && port !== undefined ? { peer: formatAddress(peer), port } : undefined
    },
    end: (descriptor) => void symbols.shutdown(descriptor, bothWays),
  }
}

/** sockaddr_in6 of ipv6(7), which is larger than sockaddr_in of ip(7). */
const addressBytes = 28
const [ipv4, ipv6] = [2, 10]
/** shutdown(2). */
const bothWays = 2
/** RLIMIT_NOFILE of getrlimit(2). */
const descriptorLimit = 7

const isInternet = (address: Buffer): boolean => {
  const family = address.readUInt16LE(0)
  return family === ipv4 || family === ipv6
}

function formatAddress(address: Buffer): string {
  if (address.readUInt16LE(0) === ipv4) return address.subarray(4, 8).join(".")
  const groups = Array.from({ length: 8 }, (_, at) => address.readUInt16BE(8 + 2 * at))
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) return address.subarray(20, 24).join(".")
  return groups.map((group) => group.toString(16)).join(":")
}

/** proc(5). */
const descriptorDirectory = "/proc/self/fd"

/** Undefined if no descriptor is free to list them. */
function descriptorList(): readonly number[] | undefined {
  try {
    return readdirSync(descriptorDirectory).map(Number)
  } catch (cause) {
    if (systemCode(cause) === "EMFILE") return undefined
    throw cause
  }
}
