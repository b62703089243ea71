import type { DecisionContext } from "../../../store/index.ts"
import { effectiveGroupsIn } from "../../group/index.ts"
import type { Target } from "../model.ts"
import { groupAdministrator, placeOf } from "./model.ts"
import { groupsOnTarget } from "./view.ts"

type Reader = Pick<DecisionContext, "state" | "rows">

/**
 * The roles that a user's groups give them on things themselves, not on what these belong to. Which
 * groups have roles there is read from the rows before a step, their roles from the states.
 */
export function rolesByGroupsOn(
  read: Reader,
  targets: readonly Target[],
  userId: string,
): readonly string[] {
  const there = targets.flatMap((target) => groupsOnTarget(read, placeOf(target)))
  if (there.length === 0) return []
  const groups = new Set(effectiveGroupsIn(read, userId))
  return there
    .filter(({ groupId }) => groups.has(groupId))
    .flatMap(({ id }) => read.state(groupAdministrator, id).roles)
}
