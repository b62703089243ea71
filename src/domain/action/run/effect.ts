import { Fault } from "../../../kernel/fault.ts"
import type { Metadata } from "../../user/index.ts"
import type { Effect } from "../script/messages.ts"

/** An effect that a script is not allowed to have; the script fails with this message. */
export const effectError = (message: string): Fault =>
  new Fault("invalid_argument", "action.effect_invalid", message)

/** The text argument of an effect. */
export function textArgument([kind, value]: Effect): string {
  if (typeof value === "string") return value
  throw effectError(`${kind} requires a string`)
}

const valueMax = 100_000

/** The metadata that a script sets: any value as JSON. */
export function parseMetadata([, key, value]: Effect): Metadata {
  const json = JSON.stringify(value ?? null)
  if (typeof key !== "string" || key === "" || key.length > 200 || json.length > valueMax) {
    throw effectError(
      `metadata requires a key of 1 to 200 characters and a value of at most ${valueMax}`,
    )
  }
  return { key, value: Buffer.from(json) }
}

/** The last value of each key. */
export const lastByKey = (metadata: readonly Metadata[]): readonly Metadata[] => [
  ...new Map(metadata.map((each) => [each.key, each])).values(),
]
