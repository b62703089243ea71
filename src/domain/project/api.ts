import { management } from "./v1.ts"
import { managementRole } from "./v1-role.ts"
import { v2 } from "./v2.ts"
import { v2role } from "./v2-role.ts"

export { roleFilter, toRole } from "./v1-role.ts"
export { toProject } from "./v2.ts"

/** The API services that this module implements. */
export const shares = [management, managementRole, v2, v2role] as const
