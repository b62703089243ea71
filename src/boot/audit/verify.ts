import { createPublicKey, type KeyObject } from "node:crypto"
import { createReadStream } from "node:fs"
import { readFile } from "node:fs/promises"
import * as z from "zod/mini"
import { startError, systemCode } from "../start-error.ts"
import { hashOfLine, isSealedBy, readSeal, thumbprintOf } from "./chain.ts"
import { publicKey } from "./part.ts"

const head = z.object({
  latchkey: z.literal("events"),
  version: z.literal(1),
  instance: z.string(),
  after: z.int(),
  key: publicKey,
})
const event = z.object({ previous: z.string(), position: z.int() })

/** What was found out about a file. */
export type Verified = {
  /** Why it is not what was written, and in which line; empty where it is. */
  readonly wrong: string
  readonly instance: string
  readonly events: number
  readonly seals: number
  /** Positions, exclusive and inclusive. */
  readonly after: number
  readonly upTo: number
  /** When the last seal was made, ms UTC. */
  readonly sealed: number
  /** RFC 7638, of the key that the seals are by. */
  readonly thumbprint: string
}

/**
 * Whether every line of an export is as it was written: each follows the one before, and all are
 * under a seal by the key in `keyFile`, or by the one that the file names. A file that was cut off
 * at a seal is whole in itself.
 */
export async function verifyEvents(path: string, keyFile: string | undefined): Promise<Verified> {
  const lines = linesOf(path)
  const first = (await lines.next()).value
  const known = z.safeParse(head, json(first))
  if (!known.success) throw startError("events_file", `${path} is no export of events`)
  const { instance, after } = known.data
  const jwk = keyFile === undefined ? known.data.key : await keyIn(keyFile)
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" })
  const found = await walked(lines, { key, instance, after, first: String(first) })
  return { ...found, instance, after, thumbprint: thumbprintOf(jwk) }
}

type From = {
  readonly key: KeyObject
  readonly instance: string
  readonly after: number
  readonly first: string
}

async function walked(
  lines: AsyncGenerator<string>,
  { key, instance, after, first }: From,
): Promise<Omit<Verified, "instance" | "after" | "thumbprint">> {
  let [previous, number, upTo] = [hashOfLine(first), 1, after]
  let [events, seals, sealed, unsealed] = [0, 0, 0, 1]
  const done = (wrong: string) => ({ wrong, events, seals, upTo, sealed: sealed * 1000 })
  for await (const line of lines) {
    number++
    const { seal } = readSeal(line) ?? {}
    if (seal) {
      if (!isSealedBy(key, line)) return done(`the seal in line ${number} is not by this key`)
      const isOf = seal.hash === previous && seal.events === events && seal.position === upTo
      if (!isOf || seal.instance !== instance) {
        return done(`the seal in line ${number} is of other lines than those before it`)
      }
      ;[seals, sealed, unsealed] = [seals + 1, seal.iat, 0]
    } else {
      const read = z.safeParse(event, json(line))
      if (!read.success) return done(`line ${number} is neither an event nor a seal`)
      if (read.data.previous !== previous || read.data.position <= upTo) {
        return done(`line ${number} does not follow line ${number - 1}: one of them is another now`)
      }
      ;[events, upTo, unsealed] = [events + 1, read.data.position, unsealed + 1]
    }
    previous = hashOfLine(line)
  }
  return done(unsealed === 0 ? "" : `the last ${unsealed} lines have no seal behind them`)
}

function json(line: unknown): unknown {
  try {
    return JSON.parse(String(line))
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

/** A line ends with LF alone: `node:readline` parts at U+2028, too, which JSON has as it is. */
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

async function keyIn(path: string): Promise<z.output<typeof publicKey>> {
  const text = await readFile(path, "utf8").catch((cause) => {
    throw startError("events_key", `${path} can't be read (${systemCode(cause)})`, cause)
  })
  const read = z.safeParse(publicKey, json(text))
  if (read.success) return read.data
  throw startError(
    "events_key",
    `${path} has no public key as latchkey events key --json prints it`,
  )
}
