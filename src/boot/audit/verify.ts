import { createPublicKey, type KeyObject } from "node:crypto"
import { createReadStream } from "node:fs"
import { readFile } from "node:fs/promises"
import * as z from "zod/mini"
import { startError, systemCode } from "../start-error.ts"
import { hashOfLine, isSealedBy, parseSeal, thumbprintOf } from "./chain.ts"
import { publicKey } from "./part.ts"

const headSchema = z.object({
  latchkey: z.literal("events"),
  version: z.literal(1),
  instance: z.string(),
  after: z.int(),
  key: publicKey,
})
const eventSchema = z.object({ previous: z.string(), position: z.int() })

/** The result of verifying a file. */
export type VerifyResult = {
  /** The reason and the line at which the file is invalid; empty if it is valid. */
  readonly wrong: string
  readonly instance: string
  readonly events: number
  readonly seals: number
  /** Positions; `after` is exclusive and `upTo` inclusive. */
  readonly after: number
  readonly upTo: number
  /** When the last seal was created, in ms since the epoch. */
  readonly sealed: number
  /** RFC 7638, of the key that signed the seals. */
  readonly thumbprint: string
}

/**
 * Verifies that every line of an export is unchanged: each line follows the one before it, and
 * seals by the key in `keyFile`, or by the key that the file names, cover all lines. A file that
 * was truncated after a seal is still valid.
 */
export async function verifyEvents(
  path: string,
  keyFile: string | undefined,
): Promise<VerifyResult> {
  const lines = linesOf(path)
  const first = (await lines.next()).value
  const known = z.safeParse(headSchema, parseJson(first))
  if (!known.success) throw startError("events_file", `${path} is not an event export`)
  const { instance, after } = known.data
  const jwk = keyFile === undefined ? known.data.key : await readKey(keyFile)
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" })
  const found = await verifyLines(lines, { key, instance, after, first: String(first) })
  return { ...found, instance, after, thumbprint: thumbprintOf(jwk) }
}

type VerifyStart = {
  readonly key: KeyObject
  readonly instance: string
  readonly after: number
  readonly first: string
}

async function verifyLines(
  lines: AsyncGenerator<string>,
  { key, instance, after, first }: VerifyStart,
): Promise<Omit<VerifyResult, "instance" | "after" | "thumbprint">> {
  let [previous, number, upTo] = [hashOfLine(first), 1, after]
  let [events, seals, sealed, unsealed] = [0, 0, 0, 1]
  const done = (wrong: string) => ({ wrong, events, seals, upTo, sealed: sealed * 1000 })
  for await (const line of lines) {
    number++
    const { seal } = parseSeal(line) ?? {}
    if (seal) {
      if (!isSealedBy(key, line))
        return done(`the seal in line ${number} is not signed with this key`)
      const isOf = seal.hash === previous && seal.events === events && seal.position === upTo
      if (!isOf || seal.instance !== instance) {
        return done(`the seal in line ${number} does not match the lines before it`)
      }
      ;[seals, sealed, unsealed] = [seals + 1, seal.iat, 0]
    } else {
      const read = z.safeParse(eventSchema, parseJson(line))
      if (!read.success) return done(`line ${number} is neither an event nor a seal`)
      if (read.data.previous !== previous || read.data.position <= upTo) {
        return done(`line ${number} does not follow line ${number - 1}: one of them was modified`)
      }
      ;[events, upTo, unsealed] = [events + 1, read.data.position, unsealed + 1]
    }
    previous = hashOfLine(line)
  }
  return done(unsealed === 0 ? "" : `the last ${unsealed} lines have no seal`)
}

function parseJson(line: unknown): unknown {
  try {
    return JSON.parse(String(line))
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

/** Only LF ends a line; `node:readline` also splits at U+2028, which JSON can contain. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = ""
  try {
    for await (const text of createReadStream(path, "utf8")) {
      const [first = "", ...more] = String(text).split("\n")
      rest += first
      for (const next of more) {
        yield rest
        rest = next
      }
    }
    if (rest !== "") yield rest
  } catch (cause) {
    throw startError("events_file", `${path} can't be read (${systemCode(cause)})`, cause)
  }
}

async function readKey(path: string): Promise<z.output<typeof publicKey>> {
  const text = await readFile(path, "utf8").catch((cause) => {
    throw startError("events_key", `${path} can't be read (${systemCode(cause)})`, cause)
  })
  const read = z.safeParse(publicKey, parseJson(text))
  if (read.success) return read.data
  throw startError(
    "events_key",
    `${path} does not contain a public key as printed by latchkey events key --json`,
  )
}
