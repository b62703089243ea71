import { type EventAnswer, type EventRequest, eventRequest } from "../../boot/command/events.ts"
import type { Commands } from "../../boot/control.ts"
import { eventsOf } from "../../domain/history/index.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { eventExportOf, shownEvent } from "./event-export.ts"

/** What the command line asks a running server for when somebody looks at its events. */
export const eventCommandsOf = (services: ServerServices): Commands => ({
  events: async (input) => eventsAsked(services, eventRequest.parse(input)),
  ...eventExportOf(services),
})

async function eventsAsked(services: ServerServices, asked: EventRequest): Promise<EventAnswer> {
  const { instance, from, asc, limit, ...filter } = asked
  const cx = services.call(instanceOf(services, instance), "events")
  // Before the look: what is written during it comes with the next.
  const position = cx.store.log.durable()
  const found = limit === 0 ? [] : await eventsOf(cx, filter, { from, asc, limit })
  return { position, events: found.map(shownEvent) }
}

function instanceOf({ store }: ServerServices, named: string | undefined): string {
  const ids = instanceIds(store)
  const [only] = ids
  if (named === undefined && only !== undefined && ids.length === 1) return only
  if (named !== undefined && ids.includes(named)) return named
  const message =
    ids.length === 0 ? "nobody has set it up yet" : `say which with --instance: ${ids.join(", ")}`
  throw new Fault("failed_precondition", "events.instance", message)
}
