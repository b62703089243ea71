import type { Commands } from "../../boot/control.ts"
import type { PeopleCarrier } from "../../boot/people/part.ts"
import type { Start } from "../../boot/running.ts"
import {
  type Carrier,
  type ExportAsked,
  exportAsked,
  type ImportAsked,
  importAsked,
} from "../../boot/transfer/part.ts"
import type { Cx } from "../../store/index.ts"
import { joinServices } from "../services.ts"
import { peopleCarrierOf, peopleControl } from "./people.ts"
import { callOn, type Lent, sessionsOf } from "./session.ts"

/** Letters of one part of an export, while which is made nobody else is answered. */
const partLetters = 64_000

type Exporting = AsyncGenerator<string>
type Importing = {
  readonly cx: Cx
  readonly made: Set<string>
  taken: number
  refused: number
}

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
  orgIds,
  excludedOrgIds: [],
  carried: { withPasswords, withOtp, withSecrets },
})

/** The same, as the command line asks a server that runs. */
export function transferControl(services: Lent): Commands {
  const { tell, take } = carrierOf(services)
  return {
    export: (input) => tell(exportAsked.parse(input)),
    import: (input) => take(importAsked.parse(input)),
    ...peopleControl(services),
  }
}

/** Carries without serving: opens the store, works, closes it. */
export async function transferHere<T>(
  start: Start,
  work: (carrier: Carrier & PeopleCarrier) => Promise<T>,
): Promise<T> {
  const services = await joinServices(start)
  try {
    return await work({ ...carrierOf(services), ...peopleCarrierOf(services) })
  } finally {
    await services.store.close()
  }
}
