import { auth, management } from "./binding/v1.ts"
import { admin, system } from "./binding/v1-event.ts"
import { adminViews, systemViews } from "./binding/v1-view.ts"
import { v2 } from "./binding/v2.ts"
import { reasons } from "./binding/v2-reason.ts"
import { undos } from "./binding/v2-undo.ts"

/** The operations of this module. */
export const shares = [
  management,
  auth,
  admin,
  system,
  adminViews,
  systemViews,
  v2,
  reasons,
  undos,
] as const
