import { management } from "./v1.ts"
import { v2 } from "./v2.ts"
import { v2project } from "./v2-project.ts"

/** What this module answers of the book. */
export const shares = [management, v2, v2project] as const
