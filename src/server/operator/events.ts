import { type EventAnswer, type EventRequest, eventRequest } from "../../boot/command/events.ts"
import type { Commands } from "../../boot/control.ts"
import { eventsOf } from "../../domain/history/index.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { createEventExportControl, eventForOperator } from "./event-export.ts"

/** The commands of a running server for listing events. */
export const createEventControl = (services: ServerServices): Commands => ({
  events: async (input) => findEvents(services, eventRequest.parse(input)),
  ...createEventExportControl(services),
})

async function findEvents(services: ServerServices, request: EventRequest): Promise<EventAnswer> {
  const { instance, from, asc, limit, ...filter } = request
  const cx = services.call(selectInstance(services, instance), "events")
  // Read first: events written during the query belong to the next one.
  const position = cx.store.log.durable()
  const found = limit === 0 ? [] : await eventsOf(cx, filter, { from, asc, limit })
  return { position, events: found.map(eventForOperator) }
}

function selectInstance({ store }: ServerServices, requestedId: string | undefined): string {
  const ids = instanceIds(store)
  const [only] = ids
  if (requestedId === undefined && only !== undefined && ids.length === 1) return only
  if (requestedId !== undefined && ids.includes(requestedId)) return requestedId
  const message =
    ids.length === 0
      ? "no instance is set up yet"
      : `name the instance with --instance: ${ids.join(", ")}`
  throw new Fault("failed_precondition", "events.instance", message)
}
