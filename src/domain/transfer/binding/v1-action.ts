import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { createCaller } from "../../../api/method.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import type { Cx } from "../../../store/index.ts"
import { shares } from "../../action/api.ts"
import {
  action,
  addAction,
  deactivateAction,
  flow,
  flowId,
  flows,
  flowTypes,
  parseFlow,
  parseTrigger,
} from "../../action/index.ts"
import { idsIn } from "../list.ts"
import { itemKind, permissionsFor } from "./v1-item-kind.ts"
import { emptyMessageError, requireNew } from "./v1-project.ts"

const callOperation = createCaller<Cx>(shares)

export const actionRow = itemKind({
  field: "actions",
  needs: permissionsFor("org.action"),
  from: ({ actions }) => actions,
  async *read(cx, orgId) {
    for await (const actionId of idsIn(cx, "actions", orgId)) {
      const state = cx.store.state(cx, action, actionId)
      const { name, script, allowedToFail, timeoutMs } = state
      const actionFields = { name, script, allowedToFail, timeout: durationFromMs(timeoutMs) }
      yield { actions: [{ actionId, action: actionFields, inactive: state.status === "inactive" }] }
    }
  },
  write: async (cx, orgId, { actionId, action: actionFields, inactive }) => {
    if (!actionFields) throw emptyMessageError("script")
    const { name, script, allowedToFail, timeout } = actionFields
    const id = parseResourceId(cx.ids, "action_id", actionId)
    const timeoutMs = timeout ? durationMs(timeout) : 0
    await cx.store.transact(cx, (tx) => {
      requireNew(tx.state(action, id))
      addAction(tx, id, { name, script, allowedToFail, timeoutMs, orgId })
      if (inactive) deactivateAction.within(tx, id)
    })
  },
  idOf: ({ actionId }) => actionId,
  successOf: ({ actionId }) => ({ actionIds: [actionId] }),
})

export const triggerRow = itemKind({
  field: "triggerActions",
  needs: permissionsFor("org.flow"),
  from: ({ triggerActions }) => triggerActions,
  *read(cx, orgId) {
    for (const flowType of flowTypes) {
      const named = cx.store.state(cx, flow, flowId(orgId, flowType)).actions
      for (const trigger of flows[flowType].triggers) {
        const actionIds = [...(named[trigger] ?? [])]
        if (actionIds.length === 0) continue
        const [type, at] = [`${flowType}`, `${trigger}`]
        yield { triggerActions: [{ flowType: type, triggerType: at, actionIds }] }
      }
    }
  },
  write: async (cx, orgId, triggerInput) => {
    const flowType = parseFlow(triggerInput.flowType)
    const { actions } = cx.store.state(cx, flow, flowId(orgId, flowType))
    if (actions[parseTrigger(flowType, triggerInput.triggerType)]) throw alreadySetError()
    await callOperation(cx, ManagementService.method.setTriggerActions, triggerInput)
  },
  idOf: ({ flowType, triggerType }) => `${flowType}/${triggerType}`,
  successOf: (triggerInput) => ({ triggerActions: [triggerInput] }),
})

const alreadySetError = () =>
  new Fault("already_exists", "transfer.exists", "the trigger already has scripts")
