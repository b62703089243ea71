import { managementCredentials } from "./v1.ts"
import { management, projectV2, v2 } from "./v2.ts"
import { v2credential } from "./v2credential.ts"
import { v2search } from "./v2search.ts"

/** What this room answers of the book. */
export const shares = [
  v2,
  v2search,
  v2credential,
  projectV2,
  management,
  managementCredentials,
] as const
