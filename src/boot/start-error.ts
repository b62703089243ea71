import { Fault, reasonText, traceText } from "../kernel/fault.ts"
import { type Address, addressText } from "../kernel/net/address.ts"

/** Why the process does not start: one plain line that says what to do. */
export function startError(id: string, message: string, cause?: unknown): Fault {
  return new Fault("failed_precondition", `start.${id}`, message, { cause })
}

/** The system's short name of what went wrong ("EACCES"); "" when it has none. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return ""
  return typeof error.code === "string" ? error.code.replace(/^ERR_FS_/, "") : ""
}

/** What the system's codes mean for a file or a folder of ours. */
export const systemReasons: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the disk is read-only",
  EISDIR: "it is a folder",
  EEXIST: "it is not a folder",
  ENOTDIR: "a part of the path is not a folder",
  ENOENT: "a part of the path does not exist",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the process may not write files of that size",
  EIO: "the disk fails to read or write",
  ENAMETOOLONG: "the path is too long",
  ELOOP: "the path is a loop of links",
}

/** Does something with a file of ours; what the system refuses becomes one line that names it. */
export function withFile<T>(file: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const because = systemReasons[systemCode(error)]
    if (!because) throw error
    const todo = "mend that, or move it away if it is not Latchkey's"
    throw startError("file_unusable", `${file} can't be used: ${because}; ${todo}`, error)
  }
}

/** Says why nothing can listen on `address`, and which flag to change. Anything else is a bug. */
export function listenError(error: unknown, flag: string, address: Address): unknown {
  const where = addressText(address)
  const because = listenCauses[systemCode(error) || codeInWords(error)]
  if (!because) return error
  return startError(because.id, `${because.text.replace("%", where)} with ${flag} HOST:PORT`, error)
}

/** Under load Bun's own listener has been seen to say it in words only. */
const codeInWords = (error: unknown): string =>
  error instanceof Error && /Is port \d+ in use\?/.test(error.message) ? "EADDRINUSE" : ""

const listenCauses: Readonly<Record<string, { readonly id: string; readonly text: string }>> = {
  EADDRINUSE: {
    id: "port_taken",
    text: "another program already listens on %; stop it, or choose another port",
  },
  EACCES: {
    id: "port_forbidden",
    text: "this user may not listen on %; choose a port from 1024 up",
  },
  EADDRNOTAVAIL: {
    id: "address_foreign",
    text: "% is not an address of this machine; choose one that is",
  },
}

/** One line for the person at the terminal; what is no Fault is a bug and shows its trace. */
export function failureText(error: unknown): string {
  if (error instanceof Fault) return `latchkey: ${error.message}`
  return `latchkey: a bug: ${traceText(error)}`
}

/** The same for a program that asked for JSON. */
export function failureJson(error: unknown): string {
  const { id, message } = error instanceof Fault ? error : { id: "bug", message: reasonText(error) }
  return JSON.stringify({ error: { id, message } })
}
