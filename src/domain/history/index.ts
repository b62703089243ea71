export { eventsOf, type OpenEvent, storedEventsOf } from "./event.ts"

/** What this module is to the whole. */
export const module = {
  operations: () => import("./api.ts"),
} as const
