import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import type { MultiFactorType, SecondFactorType } from "../../../gen/core/policy/v1/policy_pb.ts"
import { contextOrg } from "../../../kernel/context.ts"
import { at, details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { activatePolicy, findPolicy, type Place, resetPolicy, setLookFile } from "../commands.ts"
import { addFactor, removeFactor } from "../factor.ts"
import { login } from "../login.ts"
import { type LookFiles, label, labelPreview } from "../page.ts"
import {
  agePolicy,
  complexityPolicy,
  domainPolicies,
  labelPolicy,
  lockoutPolicy,
  loginPolicy,
  multiFactorOf,
  multiFactorTypes,
  notificationPolicy,
  previewPolicy,
  privacyPolicy,
  secondFactorOf,
  secondFactorTypes,
} from "./v1-form.ts"

export const admin = share<Cx>()(AdminService, {
  getPasswordComplexityPolicy: complexityPolicy.instance.get,
  updatePasswordComplexityPolicy: complexityPolicy.instance.update,
  getPasswordAgePolicy: agePolicy.instance.get,
  updatePasswordAgePolicy: agePolicy.instance.update,
  getLockoutPolicy: lockoutPolicy.instance.get,
  updateLockoutPolicy: lockoutPolicy.instance.update,
  getPrivacyPolicy: privacyPolicy.instance.get,
  updatePrivacyPolicy: privacyPolicy.instance.update,
  getNotificationPolicy: notificationPolicy.instance.get,
  addNotificationPolicy: notificationPolicy.instance.add,
  updateNotificationPolicy: notificationPolicy.instance.update,
  getDomainPolicy: domainPolicies.instance.get,
  updateDomainPolicy: domainPolicies.instance.update,
  getCustomDomainPolicy: domainPolicies.named.get,
  addCustomDomainPolicy: domainPolicies.named.add,
  updateCustomDomainPolicy: domainPolicies.named.update,
  resetCustomDomainPolicyToDefault: domainPolicies.named.reset,
  getLabelPolicy: labelPolicy.instance.get,
  getPreviewLabelPolicy: previewPolicy.instance.get,
  updateLabelPolicy: previewPolicy.instance.update,
  activateLabelPolicy: (_, cx) => activateLabel(cx, undefined),
  removeLabelPolicyLogo: removing(instanceWide, "logo"),
  removeLabelPolicyLogoDark: removing(instanceWide, "logoDark"),
  removeLabelPolicyIcon: removing(instanceWide, "icon"),
  removeLabelPolicyIconDark: removing(instanceWide, "iconDark"),
  removeLabelPolicyFont: removing(instanceWide, "font"),
  getLoginPolicy: loginPolicy.instance.get,
  updateLoginPolicy: loginPolicy.instance.update,
  ...factorsOf(instanceWide),
})

export const management = share<Cx>()(ManagementService, {
  getPasswordComplexityPolicy: complexityPolicy.org.get,
  getDefaultPasswordComplexityPolicy: complexityPolicy.instance.get,
  addCustomPasswordComplexityPolicy: complexityPolicy.org.add,
  updateCustomPasswordComplexityPolicy: complexityPolicy.org.update,
  resetPasswordComplexityPolicyToDefault: complexityPolicy.org.reset,
  getPasswordAgePolicy: agePolicy.org.get,
  getDefaultPasswordAgePolicy: agePolicy.instance.get,
  addCustomPasswordAgePolicy: agePolicy.org.add,
  updateCustomPasswordAgePolicy: agePolicy.org.update,
  resetPasswordAgePolicyToDefault: agePolicy.org.reset,
  getLockoutPolicy: lockoutPolicy.org.get,
  getDefaultLockoutPolicy: lockoutPolicy.instance.get,
  addCustomLockoutPolicy: lockoutPolicy.org.add,
  updateCustomLockoutPolicy: lockoutPolicy.org.update,
  resetLockoutPolicyToDefault: lockoutPolicy.org.reset,
  getPrivacyPolicy: privacyPolicy.org.get,
  getDefaultPrivacyPolicy: privacyPolicy.instance.get,
  addCustomPrivacyPolicy: privacyPolicy.org.add,
  updateCustomPrivacyPolicy: privacyPolicy.org.update,
  resetPrivacyPolicyToDefault: privacyPolicy.org.reset,
  getNotificationPolicy: notificationPolicy.org.get,
  getDefaultNotificationPolicy: notificationPolicy.instance.get,
  addCustomNotificationPolicy: notificationPolicy.org.add,
  updateCustomNotificationPolicy: notificationPolicy.org.update,
  resetNotificationPolicyToDefault: notificationPolicy.org.reset,
  getDomainPolicy: domainPolicies.org.get,
  getLabelPolicy: labelPolicy.org.get,
  getPreviewLabelPolicy: previewPolicy.org.get,
  getDefaultLabelPolicy: labelPolicy.instance.get,
  addCustomLabelPolicy: previewPolicy.org.add,
  updateCustomLabelPolicy: previewPolicy.org.update,
  activateCustomLabelPolicy: (_, cx) => activateLabel(cx, contextOrg(cx)),
  removeCustomLabelPolicyLogo: removing(contextOrg, "logo"),
  removeCustomLabelPolicyLogoDark: removing(contextOrg, "logoDark"),
  removeCustomLabelPolicyIcon: removing(contextOrg, "icon"),
  removeCustomLabelPolicyIconDark: removing(contextOrg, "iconDark"),
  removeCustomLabelPolicyFont: removing(contextOrg, "font"),
  resetLabelPolicyToDefault: async (_, cx) => ({
    details: details(await resetPolicy(cx, contextOrg(cx), labelPreview, label)),
  }),
  getLoginPolicy: loginPolicy.org.get,
  getDefaultLoginPolicy: loginPolicy.instance.get,
  updateCustomLoginPolicy: loginPolicy.org.update,
  resetLoginPolicyToDefault: loginPolicy.org.reset,
  ...factorsOf(contextOrg),
})

export const auth = share<Cx>()(AuthService, {
  getMyPasswordComplexityPolicy: complexityPolicy.mine,
  getMyPrivacyPolicy: privacyPolicy.mine,
  getMyLabelPolicy: labelPolicy.mine,
  getMyLoginPolicy: loginPolicy.mine,
})

function instanceWide(): Place {
  return undefined
}

/** Takes a file out of the look of a place. */
function removing(placeOf: (cx: Cx) => Place, field: keyof LookFiles) {
  return async (_: unknown, cx: Cx) => ({
    details: details(await setLookFile(cx, placeOf(cx), { field, name: "" })),
  })
}

/** Shows everybody what only administrators have seen. */
const activateLabel = async (cx: Cx, place: Place) => ({
  details: details(await activatePolicy(cx, place, { preview: labelPreview, policy: label })),
})

type OfSecond = { readonly type: SecondFactorType }
type OfMulti = { readonly type: MultiFactorType }

/** The factors that a place allows, one by one. */
function factorsOf(placeOf: (cx: Cx) => Place) {
  const second = ({ type }: OfSecond) =>
    ({ list: "secondFactors", factor: secondFactorOf(type) }) as const
  const multi = ({ type }: OfMulti) =>
    ({ list: "multiFactors", factor: multiFactorOf(type) }) as const
  return {
    listLoginPolicySecondFactors: (_: unknown, cx: Cx) => {
      const { secondFactors } = findPolicy(cx, placeOf(cx), login).values
      return listed(
        cx,
        secondFactors.map((factor) => secondFactorTypes[factor]),
      )
    },
    addSecondFactorToLoginPolicy: async (req: OfSecond, cx: Cx) => ({
      details: details(await addFactor(cx, placeOf(cx), second(req))),
    }),
    removeSecondFactorFromLoginPolicy: async (req: OfSecond, cx: Cx) => ({
      details: details(await removeFactor(cx, placeOf(cx), second(req))),
    }),
    listLoginPolicyMultiFactors: (_: unknown, cx: Cx) => {
      const { multiFactors } = findPolicy(cx, placeOf(cx), login).values
      return listed(
        cx,
        multiFactors.map((factor) => multiFactorTypes[factor]),
      )
    },
    addMultiFactorToLoginPolicy: async (req: OfMulti, cx: Cx) => ({
      details: details(await addFactor(cx, placeOf(cx), multi(req))),
    }),
    removeMultiFactorFromLoginPolicy: async (req: OfMulti, cx: Cx) => ({
      details: details(await removeFactor(cx, placeOf(cx), multi(req))),
    }),
  }
}

const listed = <T>(cx: Cx, result: readonly T[]) => ({
  details: {
    totalResult: BigInt(result.length),
    processedSequence: BigInt(cx.store.log.durable()),
    viewTimestamp: at(cx.clock.now()),
  },
  result: [...result],
})
