import { chmodSync, lstatSync, rmSync } from "node:fs"
import { connect } from "node:net"
import type { SocketFile } from "../../kernel/net/address.ts"
import { startError, systemCode } from "../start-error.ts"

/**
 * Takes away what a killed process left where a socket is to be. Refuses where somebody listens, or
 * where something else lies.
 */
export async function freeSocketFile({ path }: SocketFile): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return
  if (!found.isSocket()) throw socketError(path, "is there already, and is no socket")
  if (await isAnswered(path)) throw socketError(path, "is another program's, which listens there")
  rmSync(path, { force: true })
}

function isAnswered(path: string): Promise<boolean> {
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

/** Lets those in who may: until now the socket is its owner's alone. */
export const openSocketFile = ({ path, mode }: SocketFile): void => chmodSync(path, mode)

/** Why nothing can listen on a socket, and what to change. */
export const socketError = (path: string, because: string, cause?: unknown) =>
  startError("socket_unusable", `${path} ${because}; choose another with --listen unix:PATH`, cause)
