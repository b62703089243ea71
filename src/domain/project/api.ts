import { management } from "./v1.ts"
import { managementRole } from "./v1role.ts"
import { v2 } from "./v2.ts"
import { v2role } from "./v2role.ts"

export { roleFilter, toRole } from "./v1role.ts"
export { toProject } from "./v2.ts"

/** What this room answers of the book. */
export const shares = [management, managementRole, v2, v2role] as const
