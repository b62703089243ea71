import { instanceIds } from "../../domain/instance/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/** How long a session waits for its next request. */
const idleMs = 60_000
/** Each session uses log space, and few are needed at once. */
const sessionsMax = 4

/** The services that exports and imports need. */
export type TransferServices = Pick<ServerServices, "store" | "call" | "ids" | "clock">

/** A call of the process on the named instance, or the only one. */
export function createOperatorCall(
  services: TransferServices,
  requestedId: string | undefined,
): Cx {
  const all = instanceIds(services.store)
  const [only] = all
  const id = requestedId ?? (all.length === 1 ? only : undefined)
  if (id !== undefined && all.includes(id)) return services.call(id, "transfer")
  const hint = all.length === 0 ? "no instance is set up yet" : "name one with --instance"
  const message = `${hint}: ${all.join(", ")}`
  throw new Fault("invalid_argument", "transfer.instance", message)
}

/** Sessions by ID; a session that is idle for a minute ends. */
export function createSessions<T>({ ids, clock }: TransferServices) {
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
      if (session !== undefined) throw sessionEndedError()
      if (all.size >= sessionsMax) throw busyError()
      const id = ids.next()
      const work = begin()
      all.set(id, { work, until: now + idleMs })
      return [id, work]
    },
    /** An error ends the session, because it can't continue. */
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

const sessionEndedError = () =>
  new Fault(
    "aborted",
    "transfer.over",
    "the session has ended because the server restarted or waited too long; start again",
  )

const busyError = () =>
  new Fault(
    "resource_exhausted",
    "transfer.busy",
    "too many transfers are running; try again later",
  )
