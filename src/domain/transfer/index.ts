import { transfer } from "./model.ts"

/** What this module is to the whole: organisations with all that is in them, out and in again. */
export const module = {
  aggregates: [transfer],
  operations: () => import("./api.ts"),
} as const
