import type { Commands } from "../../boot/control.ts"
import type { Start } from "../../boot/running.ts"
import {
  type Carrier,
  type ExportAsked,
  exportAsked,
  type ImportAsked,
  importAsked,
} from "../../boot/transfer/part.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { joinServices, type ServerServices } from "../services.ts"

/** Letters of one part of an export, while which is made nobody else is answered. */
const partLetters = 64_000
/** How long a session waits for who began it. */
const idleMs = 60_000
/** Each keeps a place in the log; nobody needs many at once. */
const sessionsMax = 4

type Exporting = AsyncGenerator<string>
type Importing = {
  readonly cx: Cx
  readonly made: Set<string>
  taken: number
  refused: number
}

type Lent = Pick<ServerServices, "store" | "call" | "ids" | "clock">

/** Carries organisations out of an instance and into it, for whoever runs the server. */
export function carrierOf(services: Lent): Carrier {
  const exporting = sessionsOf<Exporting>(services)
  const importing = sessionsOf<Importing>(services)
  return {
    tell: async (asked) => {
      const lines: string[] = []
      const api = await import("../../domain/transfer/api.ts")
      const [id, source] = exporting.open(asked.session, () =>
        api.linesOf(callOn(services, asked.instance), wantedOf(asked)),
      )
      for (let letters = 0; letters < partLetters; ) {
        const { value, done } = await source.next()
        if (done) {
          exporting.close(id)
          return { lines }
        }
        lines.push(value)
        letters += value.length
      }
      return { lines, session: id }
    },
    take: async (asked) => {
      const api = await import("../../domain/transfer/api.ts")
      const [session, work] = importing.open(asked.session, () => begin(services, asked))
      const { taken, refused } = await api.takeLines(work.cx, { ...asked, made: work.made })
      work.taken += taken
      work.refused += refused.length
      if (asked.isLast) {
        importing.close(session)
        if (!asked.dryRun) await api.noteImport(work.cx, work.made.size, work)
      }
      return { session, taken, refused: [...refused] }
    },
  }
}

function begin(services: Lent, { instance, dryRun }: ImportAsked): Importing {
  const cx = callOn(services, instance)
  const here = dryRun ? { ...cx, store: cx.store.rehearse() } : cx
  return { cx: here, made: new Set(), taken: 0, refused: 0 }
}

const wantedOf = ({ orgIds, withPasswords, withOtp, withSecrets }: ExportAsked) => ({
  ...{ orgIds, excludedOrgIds: [] },
  carried: { withPasswords, withOtp, withSecrets },
})

/** A call of the process itself on the instance that is named, or the only one. */
function callOn(services: Lent, named: string | undefined): Cx {
  const all = instanceIds(services.store)
  const [only] = all
  const id = named ?? (all.length === 1 ? only : undefined)
  if (id !== undefined && all.includes(id)) return services.call(id, "transfer")
  const why = all.length === 0 ? "nothing is set up here yet" : "name one with --instance"
  const message = `which instance? ${why}: ${all.join(", ")}`
  throw new Fault("invalid_argument", "transfer.instance", message)
}

/** What is under way, by an id; whoever stays away for a minute begins anew. */
function sessionsOf<T>({ ids, clock }: Lent) {
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
    close: (id: string): void => {
      all.delete(id)
    },
  }
}

const overError = () =>
  new Fault("aborted", "transfer.over", "the server was restarted, or waited too long; begin anew")

const busyError = () =>
  new Fault("resource_exhausted", "transfer.busy", "others are at it already; try again later")

/** The same, as the command line asks a server that runs. */
export function transferControl(services: Lent): Commands {
  const { tell, take } = carrierOf(services)
  return {
    export: (input) => tell(exportAsked.parse(input)),
    import: (input) => take(importAsked.parse(input)),
  }
}

/** Carries without serving: opens the store, works, closes it. */
export async function transferHere<T>(
  start: Start,
  work: (carrier: Carrier) => Promise<T>,
): Promise<T> {
  const services = await joinServices(start)
  try {
    return await work(carrierOf(services))
  } finally {
    await services.store.close()
  }
}
