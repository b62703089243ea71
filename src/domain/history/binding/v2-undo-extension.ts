import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import { PayloadType } from "../../../gen/core/action/v2/target_pb.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { IDPOwnerType } from "../../../gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { type Action, action, flow } from "../../action/index.ts"
import { idps } from "../../idp/index.ts"
import { messageProviders, type Providers } from "../../message-provider/index.ts"
import {
  type Execution,
  execution,
  type Target,
  type TargetSettings,
  target,
  toCondition,
} from "../../target/index.ts"
import { type Asked, partlyUndone, type Reason, undoing } from "../undo/way.ts"
import { ask, back, given } from "./v2-undo-ask.ts"

const { method: admin } = AdminService
const { method: management } = ManagementService
const { updateTarget, activatePublicKey, deactivatePublicKey, setExecution } = ActionService.method

const payloads = {
  json: PayloadType.JSON,
  jwt: PayloadType.JWT,
  jwe: PayloadType.JWE,
} as const

function typeOf({ targetType, interruptOnError }: TargetSettings) {
  const value = { interruptOnError }
  if (targetType === "webhook") return { case: "restWebhook", value } as const
  if (targetType === "call") return { case: "restCall", value } as const
  return { case: "restAsync", value: {} } as const
}

type OfTarget = { readonly id: string; readonly before: Target; readonly after: Target }

function targetBack({ id, before, after }: OfTarget): Asked | Reason {
  const was = back<TargetSettings>(settingsIn(before), settingsIn(after))
  if (Object.keys(was).length === 0) return "secret"
  const isOther = was.targetType !== undefined || was.interruptOnError !== undefined
  return ask(updateTarget, {
    id,
    ...given({
      name: was.name,
      endpoint: was.endpoint,
      timeout: was.timeoutMs === undefined ? undefined : durationFromMs(was.timeoutMs),
      payloadType: was.payloadType && payloads[was.payloadType],
    }),
    ...(isOther && { targetType: typeOf(before) }),
  })
}

const settingsIn = (state: Target): TargetSettings => ({
  name: state.name,
  targetType: state.targetType,
  endpoint: state.endpoint,
  timeoutMs: state.timeoutMs,
  interruptOnError: state.interruptOnError,
  payloadType: state.payloadType,
})

export const targets = undoing(target, {
  "target.added": "creation",
  "target.changed": targetBack,
  "target.removed": "removal",
  "target.public_key.added": "secret",
  "target.public_key.activated": ({ id: targetId, event: { data } }) =>
    ask(deactivatePublicKey, { targetId, keyId: data.keyId }),
  "target.public_key.deactivated": ({ id: targetId, event: { data } }) =>
    ask(activatePublicKey, { targetId, keyId: data.keyId }),
  "target.public_key.removed": "secret",
})

type OfExecution = { readonly id: string; readonly before: Execution }

function executionBack({ id, before: { targets } }: OfExecution): Asked | Reason {
  // Others' targets are included by an older operation, which says more than this one can.
  if (targets.some(({ type }) => type !== "target")) return "parts"
  const named = targets.map((each) => each.target)
  return ask(setExecution, { condition: toCondition(id), targets: named })
}

export const executions = undoing(execution, {
  "execution.set": executionBack,
  "execution.removed": executionBack,
})

type OfAction = { readonly id: string } & Readonly<Record<"before" | "after" | "now", Action>>

function actionBack({ id, before, after, now }: OfAction): Asked {
  const { name, script, timeoutMs, allowedToFail } = { ...now, ...back(before, after) }
  const timeout = durationFromMs(timeoutMs)
  return ask(management.updateAction, { id, name, script, timeout, allowedToFail })
}

export const actions = undoing(action, {
  "action.added": "creation",
  "action.changed": actionBack,
  "action.deactivated": ({ id }) => ask(management.reactivateAction, { id }),
  "action.reactivated": ({ id }) => ask(management.deactivateAction, { id }),
  "action.removed": "removal",
})

export const flowTable = undoing(flow, {
  "org.flow.trigger_actions.set": ({ event: { data }, before }) =>
    ask(management.setTriggerActions, {
      flowType: `${data.flowType}`,
      triggerType: `${data.triggerType}`,
      actionIds: [...(before.actions[`${data.triggerType}`] ?? [])],
    }),
  "org.flow.trigger_actions.cascade.removed": "cascade",
  "org.flow.cleared": ({ event: { data }, before }) => {
    const [only, ...others] = Object.entries(before.actions)
    // Each moment is set by itself.
    if (!only || others.length > 0) return "parts"
    const [triggerType, actionIds] = only
    const flowType = `${data.flowType}`
    return ask(management.setTriggerActions, { flowType, triggerType, actionIds: [...actionIds] })
  },
})

type OfProviders = { readonly id: string; readonly before: Providers; readonly now: Providers }

const activated = ({ id, before, now }: OfProviders): Asked | Reason => {
  const { active } = before
  if (active !== undefined) return providerOn(id, active)
  const on = now.active
  if (on === undefined) return "parts"
  return id === "email"
    ? ask(admin.deactivateEmailProvider, { id: on })
    : ask(admin.deactivateSMSProvider, { id: on })
}
const deactivated = ({ id, before }: OfProviders): Asked | Reason =>
  before.active === undefined ? "parts" : providerOn(id, before.active)

const providerOn = (channel: string, id: string): Asked =>
  channel === "email"
    ? ask(admin.activateEmailProvider, { id })
    : ask(admin.activateSMSProvider, { id })

export const messageProviderTable = undoing(messageProviders, {
  "instance.smtp.config.added": "creation",
  "instance.smtp.config.changed": "settings",
  "instance.smtp.config.http.added": "creation",
  "instance.smtp.config.http.changed": "settings",
  "instance.smtp.config.activated": activated,
  "instance.smtp.config.deactivated": deactivated,
  "instance.smtp.config.removed": "removal",
  "instance.sms.configtwilio.added": "creation",
  "instance.sms.configtwilio.changed": "settings",
  "instance.sms.confighttp.added": "creation",
  "instance.sms.confighttp.changed": "settings",
  "instance.sms.configactivated": activated,
  "instance.sms.configdeactivated": deactivated,
  "instance.sms.configremoved": "removal",
})

/** Which providers people may sign in with can be undone; what the providers are, not. */
export const idpTable = partlyUndone(
  idps,
  (type) =>
    type.endsWith(".removed") ? "removal" : type.endsWith(".added") ? "creation" : "settings",
  {
    "instance.policy.login.idpprovider.added": ({ event: { data } }) =>
      ask(admin.removeIDPFromLoginPolicy, { idpId: data.idpId }),
    "instance.policy.login.idpprovider.removed": ({ event: { data } }) =>
      ask(admin.addIDPToLoginPolicy, { idpId: data.idpId }),
    "instance.policy.login.idpprovider.cascade.removed": "cascade",
    "org.policy.login.idpprovider.added": ({ event: { data } }) =>
      ask(management.removeIDPFromLoginPolicy, { idpId: data.idpId }),
    "org.policy.login.idpprovider.removed": ({ event: { data }, now }) => {
      const isOwn = Object.hasOwn(now.all, data.idpId)
      const ownerType = isOwn ? IDPOwnerType.IDP_OWNER_TYPE_ORG : IDPOwnerType.IDP_OWNER_TYPE_SYSTEM
      return ask(management.addIDPToLoginPolicy, { idpId: data.idpId, ownerType })
    },
    "org.policy.login.idpprovider.cascade.removed": "cascade",
  },
)
