import { Fault } from "../../../src/kernel/fault.ts"
import { OAuthError } from "../../../src/oauth/error.ts"

/** What became of an input. */
export type Outcome = {
  /** A fault is a fault of the parser: the input and the reason are a finding. */
  readonly kind: "accepted" | "rejected" | "fault"
  /** Tells what happened apart from what other inputs caused. */
  readonly signature: () => string
  /** Why it is a fault. */
  readonly reason?: string
}

/** The two error types that a caller may see. Everything else that is thrown is a bug. */
export const isExpectedError = (error: unknown): boolean =>
  (error instanceof Fault && error.code !== "internal") || error instanceof OAuthError

/** An error by its id, its words without values, and where in our source it was thrown. */
export function errorSignature(error: unknown): string {
  if (!(error instanceof Error)) return `thrown ${typeof error}`
  // Its words quote the input.
  if (error instanceof SyntaxError) return error.name
  const id = error instanceof Fault ? error.id : error.name
  const words = error.message.replaceAll(/"[^"]*"|'[^']*'|\d+/g, "#").slice(0, 80)
  const frames = [...(error.stack ?? "").matchAll(/\/((?:src|node_modules)\/[\w./@-]+:\d+)/g)]
  return [id, words, ...frames.slice(0, 3).map(([, place]) => place)].join(" | ")
}

const depthMax = 5
const membersMax = 12

/** The form of a value: kinds, names of members and sizes in powers of two, without contents. */
export function shapeOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return `text ${sizeOf(value.length)}${lettersOf(value)}`
  if (typeof value === "number") return `number ${Math.sign(value)}`
  if (typeof value !== "object" || value === null) return String(value).slice(0, 20)
  if (depth === depthMax) return "…"
  if (ArrayBuffer.isView(value)) return `bytes ${sizeOf(value.byteLength)}`
  const isList = Array.isArray(value)
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  const members = entries
    .slice(0, membersMax)
    .map(([name, each]) => `${isList ? "" : `${name}: `}${shapeOf(each, depth + 1)}`)
  const shown = isList ? [...new Set(members)] : members
  return `${isList ? "list" : "object"} ${sizeOf(entries.length)} (${shown.join(", ")})`
}

const sizeOf = (size: number): number => (size === 0 ? 0 : 1 + Math.floor(Math.log2(size) / 2))

/** Which kinds of characters a text has: other than ASCII, control, signs, digits. */
const lettersOf = (text: string): string =>
  kindsOfLetters.map(([pattern, mark]) => (pattern.test(text) ? mark : "")).join("")

const kindsOfLetters = [
  [/[\u{80}-\u{10ffff}]/u, "u"],
  [/\p{Cc}/u, "c"],
  [/[^\w\s]/, "s"],
  [/\d/, "d"],
] as const
