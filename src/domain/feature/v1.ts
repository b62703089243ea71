import { bindHandlers } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import { InstanceFeature } from "../../gen/core/feature/v1/feature_pb.ts"
import { SystemService } from "../../gen/core/system/v1/system_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { featuresOf, setInstanceFeatures } from "./commands.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  activateFeatureLoginDefaultOrg: (_, cx) => setLoginDefaultOrg(cx, true),
})

export const system = bindHandlers<Cx>()(SystemService, {
  setInstanceFeature: async ({ featureId, value }, cx) => {
    if (featureId !== InstanceFeature.LOGIN_DEFAULT_ORG) {
      const message = "feature_id must be INSTANCE_FEATURE_LOGIN_DEFAULT_ORG"
      throw new Fault("invalid_argument", "feature.unknown", message)
    }
    if (value.case === undefined) {
      throw new Fault("invalid_argument", "feature.value_missing", "value must be a bool")
    }
    return setLoginDefaultOrg(cx, value.value)
  },
})

/** v1 rejects requests that change nothing. This is its only feature. */
async function setLoginDefaultOrg(cx: Cx, isOn: boolean) {
  if (featuresOf(cx).values.login_default_org === isOn) {
    throw new Fault(
      "failed_precondition",
      "feature.unchanged",
      "nothing to update: the feature already has this value",
    )
  }
  return { details: toDetails(await setInstanceFeatures(cx, { login_default_org: isOn })) }
}
