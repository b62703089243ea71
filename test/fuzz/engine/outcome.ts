import { Fault } from "../../../src/kernel/fault.ts"
import { OAuthError } from "../../../src/oauth/error.ts"

/** The outcome of an input. */
export type Outcome = {
  /** A fault is a parser bug: the input and the reason are a finding. */
  readonly kind: "accepted" | "rejected" | "fault"
  /** Distinguishes this outcome from those of other inputs. */
  readonly signature: () => string
  /** The description of the fault. */
  readonly reason?: string
}

/** The two error types that callers may see. Any other error is a bug. */
export const isExpectedError = (error: unknown): boolean =>
  (error instanceof Fault && error.code !== "internal") || error instanceof OAuthError

/** Identifies an error by its ID, its message without values, and its source location. */
export function errorSignature(error: unknown): string {
  if (!(error instanceof Error)) return `thrown ${typeof error}`
  // The message quotes the input.
  if (error instanceof SyntaxError) return error.name
  const id = error instanceof Fault ? error.id : error.name
  const words = error.message.replaceAll(/"[^"]*"|'[^']*'|\d+/g, "#").slice(0, 80)
  const frames = [...(error.stack ?? "").matchAll(/\/((?:src|node_modules)\/[\w./@-]+:\d+)/g)]
  return [id, words, ...frames.slice(0, 3).map(([, place]) => place)].join(" | ")
}

const shapeDepthMax = 5
const membersMax = 12

/** The shape of a value: types, member names, and sizes in powers of two, without content. */
export function shapeOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return `text ${sizeOf(value.length)}${characterClassesOf(value)}`
  if (typeof value === "number") return `number ${Math.sign(value)}`
  if (typeof value !== "object" || value === null) return String(value).slice(0, 20)
  if (depth === shapeDepthMax) return "…"
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

/** The classes of characters in a string: non-ASCII, control, punctuation, digits. */
const characterClassesOf = (text: string): string =>
  characterClasses.map(([pattern, mark]) => (pattern.test(text) ? mark : "")).join("")

const characterClasses = [
  [/[\u{80}-\u{10ffff}]/u, "u"],
  [/\p{Cc}/u, "c"],
  [/[^\w\s]/, "s"],
  [/\d/, "d"],
] as const
