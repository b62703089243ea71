import { instanceIds } from "../../domain/instance/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/** How long a session waits for who began it. */
const idleMs = 60_000
/** Each keeps a place in the log; nobody needs many at once. */
const sessionsMax = 4

/** What carrying data in and out of an instance takes of the server. */
export type Lent = Pick<ServerServices, "store" | "call" | "ids" | "clock">

/** A call of the process itself on the instance that is named, or the only one. */
export function callOn(services: Lent, named: string | undefined): Cx {
  const all = instanceIds(services.store)
  const [only] = all
  const id = named ?? (all.length === 1 ? only : undefined)
  if (id !== undefined && all.includes(id)) return services.call(id, "transfer")
  const why = all.length === 0 ? "nothing is set up here yet" : "name one with --instance"
  const message = `which instance? ${why}: ${all.join(", ")}`
  throw new Fault("invalid_argument", "transfer.instance", message)
}

/** What is under way, by an id; whoever stays away for a minute begins anew. */
export function sessionsOf<T>({ ids, clock }: Lent) {
  const all = new Map<string, { readonly work: T; until: number }>()
  return {
    open: (session: string | undefined, begin: () => T): readonly [string, T] => {
      const now = clock.now()
      for (const [id, { until }] of all) if (until < now) all.delete(id)
      const known = session === undefined ? undefined : all.get(session)
      if (session !== undefined && known) {
        known.until = now + idleMs
        return [session, known.work]
      }
      if (session !== undefined) throw overError()
      if (all.size >= sessionsMax) throw busyError()
      const id = ids.next()
      const work = begin()
      all.set(id, { work, until: now + idleMs })
      return [id, work]
    },
    /** What breaks ends the session: nobody can go on with it. */
    whole: async <R>(id: string, work: () => Promise<R>): Promise<R> => {
      try {
        return await work()
      } catch (cause) {
        all.delete(id)
        throw cause
      }
    },
    close: (id: string): void => {
      all.delete(id)
    },
  }
}

const overError = () =>
  new Fault("aborted", "transfer.over", "the server was restarted, or waited too long; begin anew")

const busyError = () =>
  new Fault("resource_exhausted", "transfer.busy", "others are at it already; try again later")
