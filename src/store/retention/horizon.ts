import type { Database } from "bun:sqlite"

/** A validity period, ms UTC. */
export type ValidityPeriod = { readonly issued: number; readonly expires: number }

/**
 * The time up to which expired data may have been pruned. If a clock that was ahead is corrected,
 * data that was considered expired must not become valid again: that it was used or revoked is
 * forgotten.
 */
export type Horizon = {
  /** Records that data expired by `time` may be pruned; part of the pruning transaction. */
  readonly recordPruned: (time: number) => void
  /**
   * Whether something is invalid despite its expiry: it was issued before the clock was corrected,
   * and its use or revocation may be forgotten.
   */
  readonly isForgotten: (period: ValidityPeriod, now: number) => boolean
  /** Stores the time of a clock correction; returns whether it was new. */
  readonly storeCorrection: (now: number) => boolean
}

export function createHorizon(database: Database): Horizon {
  const write = database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('expired', ?)
     ON CONFLICT DO UPDATE SET value = max(CAST(value AS INTEGER), excluded.value)`,
  )
  const noteSetBack = database.prepare<unknown, [number, number]>(
    `INSERT INTO meta (key, value) VALUES ('set_back', ?), ('expired_since', ?)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  )
  const noteSince = database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('expired_since', ?)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  )
  let horizon = readNumber(database, "expired")
  let storedCorrection = readNumber(database, "set_back")
  /** When the correction was noticed, or 0; a later time only rejects more. */
  let setBack = storedCorrection
  /** The horizon of pruning since then: an earlier clock was ahead once more. */
  let since = readNumber(database, "expired_since") || storedCorrection || horizon
  const look = (now: number) => {
    if (now >= horizon) setBack = 0
    else if (now < since) {
      setBack = Math.max(setBack, now)
      since = now
    }
  }
  return {
    recordPruned: (time) => {
      write.run(time)
      horizon = Math.max(horizon, time)
      if (time <= since) return
      noteSince.run(time)
      since = time
    },
    isForgotten: ({ issued, expires }, now) => {
      look(now)
      return setBack > 0 && expires <= horizon && issued <= setBack
    },
    storeCorrection: (now) => {
      look(now)
      if (setBack === storedCorrection) return false
      noteSetBack.run(setBack, since)
      storedCorrection = setBack
      return true
    },
  }
}

/** A number stored by key; 0 if absent. */
export const readNumber = (database: Database, key: string): number =>
  Number(
    database.query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?").get(key)
      ?.value ?? 0,
  )
