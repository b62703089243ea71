import { admin, auth, management } from "./v1.ts"
import { mine } from "./v1mine.ts"
import { system } from "./v1system.ts"
import { orgV2, projectV2, v2 } from "./v2.ts"
import { v2role } from "./v2role.ts"
import { v2search } from "./v2search.ts"

/** What this room answers of the book. */
export const shares = [
  v2,
  v2search,
  v2role,
  orgV2,
  projectV2,
  admin,
  auth,
  management,
  mine,
  system,
] as const
