import { admin, auth, management } from "./binding/v1.ts"
import { ownPermissions } from "./binding/v1-mine.ts"
import { system } from "./binding/v1-system.ts"
import { orgV2, projectV2, v2 } from "./binding/v2.ts"
import { v2group } from "./binding/v2-group.ts"
import { v2role } from "./binding/v2-role.ts"
import { v2search } from "./binding/v2-search.ts"

/** The API services that this module implements. */
export const shares = [
  v2,
  v2search,
  v2role,
  v2group,
  orgV2,
  projectV2,
  admin,
  auth,
  management,
  ownPermissions,
  system,
] as const
