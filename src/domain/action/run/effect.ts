import { Fault } from "../../../kernel/fault.ts"
import type { Metadata } from "../../user/index.ts"
import type { Effect } from "../script/wire.ts"

/** What a script asked for that it can't have; it fails in these words. */
export const effectError = (words: string): Fault =>
  new Fault("invalid_argument", "action.effect_invalid", words)

/** The texts that an effect was called with. */
export function textIn([kind, value]: Effect): string {
  if (typeof value === "string") return value
  throw effectError(`${kind} takes a text`)
}

const valueMax = 100_000

/** Metadata as a script notes it: any value, as JSON. */
export function metadataIn([, key, value]: Effect): Metadata {
  const json = JSON.stringify(value ?? null)
  if (typeof key !== "string" || key === "" || key.length > 200 || json.length > valueMax) {
    throw effectError(
      `metadata has a key of 1 to 200 characters, and a value of at most ${valueMax}`,
    )
  }
  return { key, value: Buffer.from(json) }
}

/** Of several notes with one key the last one counts. */
export const lastOfEach = (noted: readonly Metadata[]): readonly Metadata[] => [
  ...new Map(noted.map((each) => [each.key, each])).values(),
]
