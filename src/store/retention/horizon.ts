import type { Database } from "bun:sqlite"

/** From when until when something counts, ms UTC. */
export type Span = { readonly issued: number; readonly expires: number }

/**
 * Until when all that expires may have been dropped. A clock that was ahead and is set right must
 * not bring back what was taken for expired meanwhile: that it was used, or revoked, is forgotten.
 */
export type Horizon = {
  /** Notes that what expired until then may go; part of what drops it. */
  readonly reached: (time: number) => void
  /**
   * Whether something counts no more though its time seems to be to come: it was issued before the
   * clock was set right, and what was known of it may be gone.
   */
  readonly isForgotten: (span: Span, now: number) => boolean
  /** Keeps since when the clock is right again; answers whether that was news. */
  readonly keep: (now: number) => boolean
}

export function horizonOf(database: Database): Horizon {
  const note = database.prepare<unknown, [number]>(
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
  let horizon = numberAt(database, "expired")
  let kept = numberAt(database, "set_back")
  /** When somebody noticed, or else 0; if that is later, more is refused, never less. */
  let setBack = kept
  /** The horizon of what was dropped since then: a clock that is before it was ahead once more. */
  let since = numberAt(database, "expired_since") || kept || horizon
  const look = (now: number) => {
    if (now >= horizon) setBack = 0
    else if (now < since) {
      setBack = Math.max(setBack, now)
      since = now
    }
  }
  return {
    reached: (time) => {
      note.run(time)
      horizon = Math.max(horizon, time)
      if (time <= since) return
      noteSince.run(time)
      since = time
    },
    isForgotten: ({ issued, expires }, now) => {
      look(now)
      return setBack > 0 && expires <= horizon && issued <= setBack
    },
    keep: (now) => {
      look(now)
      if (setBack === kept) return false
      noteSetBack.run(setBack, since)
      kept = setBack
      return true
    },
  }
}

/** A number that is kept under a name; 0 where it is not there yet. */
export const numberAt = (database: Database, key: string): number =>
  Number(
    database.query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?").get(key)
      ?.value ?? 0,
  )
