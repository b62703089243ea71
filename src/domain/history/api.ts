import { auth, management } from "./v1.ts"
import { admin, system } from "./v1-event.ts"
import { adminViews, systemViews } from "./v1-view.ts"
import { v2 } from "./v2.ts"
import { reasons } from "./v2-reason.ts"

/** What this module answers of the book. */
export const shares = [
  management,
  auth,
  admin,
  system,
  adminViews,
  systemViews,
  v2,
  reasons,
] as const
