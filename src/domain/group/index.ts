import { group } from "./model.ts"
import { v2 } from "./v2.ts"
import { groupChain, groupView } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [group] as const

/** What this room shows. */
export const views = [groupView] as const

/** What this room answers of the book. */
export const shares = [v2] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = { group: groupChain }
