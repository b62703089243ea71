import { createHash } from "node:crypto"
import type { Cx, Store } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

/** Used values with their expiry, and their number by source address. */
type UsedValues = { readonly uses: Map<string, number>; readonly bySource: Map<string, number> }

/** Two generations of used values; the older one is discarded as a whole. */
type ReplayGenerations = { recent: UsedValues; old: UsedValues; rotatedAt: number }

const generationsByStore = new WeakMap<Store, ReplayGenerations>()

/** In ms; no value is valid for longer. */
const rotationMs = 90_000
const usesMax = 500_000
/** One address can't use all the space. */
const usesMaxPerSource = usesMax / 2

const emptyValues = (): UsedValues => ({ uses: new Map(), bySource: new Map() })

/**
 * Records the use of a value; false if it was used before. For values that are valid for a minute
 * at most and require a signature: they are stored only in memory, and values from before this
 * process started must be rejected, see `isRemembered`. If several nodes share a log, one of them
 * decides for all; likewise among processes that share a file.
 */
export function isFirstUse(cx: Cx, value: string, expires: number): boolean | Promise<boolean> {
  const isFirst = recordUse(cx, value, expires)
  const others = cx.store.node ?? cx.store.together
  return isFirst && (others === undefined || others.spendOnce(keyOf(cx, value), expires))
}

/** Whether a use at that time, ms UTC, would have been recorded. */
export const isRemembered = ({ store, clock }: Cx, time: number): boolean =>
  store.node !== undefined || time >= clock.startedAt

function recordUse(cx: Cx, value: string, expires: number): boolean {
  const now = cx.clock.now()
  const generations = generationsByStore.get(cx.store) ?? {
    recent: emptyValues(),
    old: emptyValues(),
    rotatedAt: now,
  }
  generationsByStore.set(cx.store, generations)
  if (now - generations.rotatedAt >= rotationMs) {
    generations.old = generations.recent
    generations.recent = emptyValues()
    generations.rotatedAt = now
  }
  const key = keyOf(cx, value)
  const until = generations.recent.uses.get(key) ?? generations.old.uses.get(key)
  if (until !== undefined && now < until) return false
  reserveSpace(cx, generations.recent)
  generations.recent.uses.set(key, expires)
  return true
}

/** Hashed to a fixed length. */
const keyOf = ({ instance }: Cx, value: string): string =>
  createHash("sha256").update(`${instance}/${value}`).digest("base64url")

function reserveSpace(cx: Cx, { uses, bySource }: UsedValues): void {
  const source = cx.allowance?.source() ?? ""
  const count = bySource.get(source) ?? 0
  if (uses.size >= usesMax || (source !== "" && count >= usesMaxPerSource)) {
    throw new OAuthError("temporarily_unavailable", "too many requests; try again", { status: 503 })
  }
  bySource.set(source, count + 1)
}
