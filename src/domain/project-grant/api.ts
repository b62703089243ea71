import { management } from "./v1.ts"
import { v2 } from "./v2.ts"
import { v2project } from "./v2-project.ts"

/** The API services that this module implements. */
export const shares = [management, v2, v2project] as const
