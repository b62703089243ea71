export { type CheckedIntent, intentChecked } from "./check.ts"
export { answeredByDirectory, type Credentials } from "./directory.ts"
export { isTaken, linkableIdps, linkingPath, openTicket } from "./linking.ts"

/** What this module is to the whole: people of this server and who they are elsewhere, joined. */
export const module = {
  operations: () => import("./api.ts"),
} as const
