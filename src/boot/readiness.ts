import { startError } from "./start-error.ts"
import { systemLibraryPath } from "./system/library.ts"

/**
 * Reports the state of the service to systemd (sd_notify(3)). `socket` is $NOTIFY_SOCKET; without
 * it, does nothing. Uses the system's library because the runtime has no Unix datagram sockets.
 */
export async function notify(socket: string | undefined, state: string): Promise<void> {
  if (!socket || process.platform !== "linux") return
  const { dlopen, ptr } = await import("bun:ffi")
  const { symbols, close } = dlopen(systemLibraryPath(), {
    socket: { args: ["int", "int", "int"], returns: "int" },
    sendto: { args: ["int", "ptr", "u64", "int", "ptr", "u32"], returns: "i64" },
    close: { args: ["int"], returns: "int" },
  })
  const address = addressBytes(socket)
  const message = Buffer.from(state)
  const descriptor = symbols.socket(unixFamily, datagram, 0)
  const size = BigInt(message.length)
  const sent = symbols.sendto(descriptor, ptr(message), size, 0, ptr(address), address.length)
  symbols.close(descriptor)
  close()
  if (sent === size) return
  throw startError(
    "notify_failed",
    `the service manager is not listening on NOTIFY_SOCKET=${socket}`,
  )
}

const unixFamily = 1
const datagram = 2

/** A sockaddr_un; "@" is the zero byte at the start of an abstract name. */
function addressBytes(socket: string): Buffer {
  const isAbstract = socket.startsWith("@")
  const name = Buffer.from(isAbstract ? `\0${socket.slice(1)}` : `${socket}\0`)
  const family = Buffer.from(Uint16Array.of(unixFamily).buffer)
  return Buffer.concat([family, name])
}
