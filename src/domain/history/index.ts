export { eventsOf, type OpenEvent, storedEventsOf } from "./event.ts"

/** The exports of this module. */
export const module = {
  operations: () => import("./api.ts"),
} as const
