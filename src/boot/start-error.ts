import { errorText, Fault, stackText } from "../kernel/fault.ts"
import { type Address, formatAddress } from "../kernel/net/address.ts"

/** Why the process does not start: one plain line with the remedy. */
export function startError(id: string, message: string, cause?: unknown): Fault {
  return new Fault("failed_precondition", `start.${id}`, message, { cause })
}

/** The error code of the system ("EACCES"); "" if there is none. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return ""
  return typeof error.code === "string" ? error.code.replace(/^ERR_FS_/, "") : ""
}

/** Explanations of system error codes for a file or a directory. */
export const systemReasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the disk is read-only",
  EISDIR: "it is a directory",
  EEXIST: "it is not a directory",
  ENOTDIR: "a part of the path is not a directory",
  ENOENT: "a part of the path does not exist",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  EFBIG: "the process is not allowed to write files of this size",
  EIO: "disk read or write error",
  ENAMETOOLONG: "the path is too long",
  ELOOP: "the path contains a loop of symbolic links",
}

/** Runs `act` on a file; a system error becomes one line that names the file. */
export function tryFile<T>(file: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const reason = systemReasons[systemCode(error)]
    if (!reason) throw error
    const todo = "fix that, or move the file away if it does not belong to Latchkey"
    throw startError("file_unusable", `${file} can't be used: ${reason}; ${todo}`, error)
  }
}

/**
 * Explains why the server can't listen on `address` and which flag to change. Other errors are
 * bugs.
 */
export function listenError(error: unknown, flag: string, address: Address): unknown {
  const where = formatAddress(address)
  const reason = listenCauses[systemCode(error) || errorCodeFromMessage(error)]
  if (!reason) return error
  return startError(reason.id, `${reason.text.replace("%", where)} with ${flag} HOST:PORT`, error)
}

/** Under load, Bun's listener sometimes reports the error only in its message. */
const errorCodeFromMessage = (error: unknown): string =>
  error instanceof Error && /Is port \d+ in use\?/.test(error.message) ? "EADDRINUSE" : ""

const listenCauses: Readonly<Record<string, { readonly id: string; readonly text: string }>> = {
  EADDRINUSE: {
    id: "port_taken",
    text: "another program already listens on %; stop it, or choose another port",
  },
  EACCES: {
    id: "port_forbidden",
    text: "this user can't listen on %; choose a port of at least 1024",
  },
  EADDRNOTAVAIL: {
    id: "address_foreign",
    text: "% is not an address of this machine; choose one that is",
  },
}

/** One line for the terminal; an error that is not a Fault is a bug and shows its trace. */
export function formatFailure(error: unknown): string {
  if (error instanceof Fault) return `latchkey: ${error.message}`
  return `latchkey: internal error: ${stackText(error)}`
}

/** The same as JSON. */
export function formatFailureJson(error: unknown): string {
  const { id, message } = error instanceof Fault ? error : { id: "bug", message: errorText(error) }
  return JSON.stringify({ error: { id, message } })
}
