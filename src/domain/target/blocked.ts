import type { Cx } from "../../store/index.ts"
import { isActive } from "../member/index.ts"
import { kindOf } from "./condition.ts"
import { target } from "./model.ts"
import { authorsAt, executionRows, targetsOf } from "./view.ts"

/** A target that can't change requests, with the inactive authors that cause it. */
export type BlockedTarget = {
  readonly targetId: string
  /** Users who are deactivated, locked or deleted; an empty ID means no user. */
  readonly userIds: readonly string[]
}

/**
 * The targets of an execution whose changes are rejected because an author of the target or of the
 * execution is not active, until an administrator saves them again.
 */
export function blockedTargetsOf(cx: Cx, executionId: string): readonly BlockedTarget[] {
  if (kindOf(executionId) === "event") return []
  return targetsOf(cx, executionId).flatMap((targetId) => {
    // The other types only receive data and change nothing.
    if (cx.store.state(cx, target, targetId).targetType !== "call") return []
    const userIds = authorsAt(cx, executionId, targetId).filter((each) => !isActive(cx, each))
    return userIds.length > 0 ? [{ targetId, userIds }] : []
  })
}

/** Executions with such targets, up to `limit`. */
export function blockedExecutions(
  cx: Cx,
  limit: number,
): readonly { readonly id: string; readonly targetName: string }[] {
  const blocked = executionRows(cx).flatMap(({ id }) =>
    blockedTargetsOf(cx, id).map(({ targetId }) => ({
      id,
      targetName: cx.store.state(cx, target, targetId).name,
    })),
  )
  return blocked.slice(0, limit)
}
