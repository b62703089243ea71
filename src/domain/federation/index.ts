export { type CheckedIntent, checkIntent } from "./check.ts"
export { authenticateWithDirectory, type Credentials } from "./directory.ts"
export { isLinkTakenError, linkableIdps, linkingPath, parseTicket } from "./linking.ts"

/** The registration of this module, which connects users to their external accounts. */
export const module = {
  operations: () => import("./api.ts"),
} as const
