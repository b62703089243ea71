import type { DecisionContext } from "../../../store/index.ts"
import { effectiveGroupIdsIn } from "../../group/index.ts"
import type { Target } from "../model.ts"
import { groupAdministrator, targetKeyOf } from "./model.ts"
import { groupsOnTarget } from "./view.ts"

type Reader = Pick<DecisionContext, "state" | "rows">

/**
 * The roles that a user has on exactly these resources through groups, without roles on the
 * resources' owners. The groups are read from rows of before the transaction, their roles from
 * states.
 */
export function rolesFromGroupsOn(
  read: Reader,
  targets: readonly Target[],
  userId: string,
): readonly string[] {
  const assignments = targets.flatMap((target) => groupsOnTarget(read, targetKeyOf(target)))
  if (assignments.length === 0) return []
  const groups = new Set(effectiveGroupIdsIn(read, userId))
  return assignments
    .filter(({ groupId }) => groups.has(groupId))
    .flatMap(({ id }) => read.state(groupAdministrator, id).roles)
}
