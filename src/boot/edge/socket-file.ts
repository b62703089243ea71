import { chmodSync, lstatSync, rmSync } from "node:fs"
import { connect } from "node:net"
import type { SocketFile } from "../../kernel/net/address.ts"
import { startError, systemCode } from "../start-error.ts"

/**
 * Removes a socket that a killed process left. Throws if a process listens on it or if it is
 * another kind of file.
 */
export async function removeStaleSocket({ path }: SocketFile): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return
  if (!found.isSocket()) throw socketError(path, "exists and is not a socket")
  if (await isListening(path)) throw socketError(path, "is in use by another program")
  rmSync(path, { force: true })
}

function isListening(path: string): Promise<boolean> {
  return new Promise((done, fail) => {
    const socket = connect(path)
    socket.once("connect", () => {
      socket.destroy()
      done(true)
    })
    socket.once("error", (cause) =>
      systemCode(cause) === "ECONNREFUSED" ? done(false) : fail(cause),
    )
  })
}

/** Grants access to other users: until now only the owner can use the socket. */
export const grantSocketAccess = ({ path, mode }: SocketFile): void => chmodSync(path, mode)

/** Why the server can't listen on a socket, with the remedy. */
export const socketError = (path: string, reason: string, cause?: unknown) =>
  startError("socket_unusable", `${path} ${reason}; choose another with --listen unix:PATH`, cause)
