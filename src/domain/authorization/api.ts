import { v2 } from "./v2.ts"
import { v2effective } from "./v2-effective.ts"
import { v2group } from "./v2-group.ts"

/** The API services that this module implements. */
export const shares = [v2, v2group, v2effective] as const
