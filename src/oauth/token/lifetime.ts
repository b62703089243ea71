import type { Cx } from "../../store/index.ts"

/** How long what is issued counts, in seconds. */
export type Lifetimes = {
  readonly access: number
  readonly id: number
  /** A refresh token that nobody uses this long is worth nothing. */
  readonly refreshIdle: number
  /** However often it is used. */
  readonly refreshAbsolute: number
}

const hour = 3600
const day = 24 * hour

const standard: Lifetimes = {
  access: 12 * hour,
  id: 12 * hour,
  refreshIdle: 30 * day,
  refreshAbsolute: 90 * day,
}

/** The lifetimes that hold for a client of this instance. */
export const lifetimesOf = (_cx: Cx, _clientId: string): Lifetimes => standard
