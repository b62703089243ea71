import { group } from "./model.ts"
import { groupChain, groupView } from "./view.ts"

export { createGroup } from "./commands.ts"

/** What this room keeps streams of. */
export const aggregates = [group] as const

/** What this room shows. */
export const views = [groupView] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = { group: groupChain }
