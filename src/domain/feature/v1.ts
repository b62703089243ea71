import { share } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import { InstanceFeature } from "../../gen/core/feature/v1/feature_pb.ts"
import { SystemService } from "../../gen/core/system/v1/system_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { details } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { featuresOf, setInstanceFeatures } from "./commands.ts"

export const admin = share<Cx>()(AdminService, {
  activateFeatureLoginDefaultOrg: (_, cx) => setLoginDefaultOrg(cx, true),
})

export const system = share<Cx>()(SystemService, {
  setInstanceFeature: async ({ featureId, value }, cx) => {
    if (featureId !== InstanceFeature.LOGIN_DEFAULT_ORG) {
      const message = "say which feature: INSTANCE_FEATURE_LOGIN_DEFAULT_ORG is the only one"
      throw new Fault("invalid_argument", "feature.unknown", message)
    }
    if (value.case === undefined) {
      throw new Fault("invalid_argument", "feature.value_missing", "say whether it is on: bool")
    }
    return setLoginDefaultOrg(cx, value.value)
  },
})

/** v1 refuses what changes nothing. Its only feature is this one. */
async function setLoginDefaultOrg(cx: Cx, isOn: boolean) {
  if (featuresOf(cx).values.login_default_org === isOn) {
    throw new Fault("failed_precondition", "feature.unchanged", "no changes: it is so already")
  }
  return { details: details(await setInstanceFeatures(cx, { login_default_org: isOn })) }
}
