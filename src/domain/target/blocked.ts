import type { Cx } from "../../store/index.ts"
import { isActive } from "../member/index.ts"
import { kindOf } from "./condition.ts"
import { target } from "./model.ts"
import { authorsAt, calledAt, executionRows } from "./view.ts"

/** A target that can't change what it is called for, and who of its authors is the reason. */
export type BlockedTarget = {
  readonly targetId: string
  /** Users who are deactivated, locked or removed; empty IDs stand for no user. */
  readonly userIds: readonly string[]
}

/**
 * The targets of an execution whose changes are refused, since one of the authors of the target or
 * the execution is not active: requests that they change are refused until somebody sets them
 * again.
 */
export function blockedAt(cx: Cx, executionId: string): readonly BlockedTarget[] {
  if (kindOf(executionId) === "event") return []
  return calledAt(cx, executionId).flatMap((targetId) => {
    // The others are told only, and change nothing.
    if (cx.store.state(cx, target, targetId).targetType !== "call") return []
    const userIds = authorsAt(cx, executionId, targetId).filter((each) => !isActive(cx, each))
    return userIds.length > 0 ? [{ targetId, userIds }] : []
  })
}

/** The executions of an instance with such targets; some of them. */
export function blockedExecutions(
  cx: Cx,
  limit: number,
): readonly { readonly id: string; readonly targetName: string }[] {
  const blocked = executionRows(cx).flatMap(({ id }) =>
    blockedAt(cx, id).map(({ targetId }) => ({
      id,
      targetName: cx.store.state(cx, target, targetId).name,
    })),
  )
  return blocked.slice(0, limit)
}
