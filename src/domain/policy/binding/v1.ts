import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import type { MultiFactorType, SecondFactorType } from "../../../gen/core/policy/v1/policy_pb.ts"
import { contextOrg } from "../../../kernel/context.ts"
import { toDetails, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { type BrandingFiles, label, labelPreview } from "../branding.ts"
import {
  activatePolicy,
  findPolicy,
  type PolicyOwner,
  resetPolicy,
  setBrandingFile,
} from "../commands.ts"
import { addFactor, removeFactor } from "../factor.ts"
import { login } from "../login.ts"
import {
  ageOperations,
  complexityOperations,
  domainOperations,
  labelOperations,
  lockoutOperations,
  loginOperations,
  multiFactorTypes,
  notificationOperations,
  parseMultiFactor,
  parseSecondFactor,
  previewOperations,
  privacyOperations,
  secondFactorTypes,
} from "./v1-form.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  getPasswordComplexityPolicy: complexityOperations.instance.get,
  updatePasswordComplexityPolicy: complexityOperations.instance.update,
  getPasswordAgePolicy: ageOperations.instance.get,
  updatePasswordAgePolicy: ageOperations.instance.update,
  getLockoutPolicy: lockoutOperations.instance.get,
  updateLockoutPolicy: lockoutOperations.instance.update,
  getPrivacyPolicy: privacyOperations.instance.get,
  updatePrivacyPolicy: privacyOperations.instance.update,
  getNotificationPolicy: notificationOperations.instance.get,
  addNotificationPolicy: notificationOperations.instance.add,
  updateNotificationPolicy: notificationOperations.instance.update,
  getDomainPolicy: domainOperations.instance.get,
  updateDomainPolicy: domainOperations.instance.update,
  getCustomDomainPolicy: domainOperations.named.get,
  addCustomDomainPolicy: domainOperations.named.add,
  updateCustomDomainPolicy: domainOperations.named.update,
  resetCustomDomainPolicyToDefault: domainOperations.named.reset,
  getLabelPolicy: labelOperations.instance.get,
  getPreviewLabelPolicy: previewOperations.instance.get,
  updateLabelPolicy: previewOperations.instance.update,
  activateLabelPolicy: (_, cx) => activateLabel(cx, undefined),
  removeLabelPolicyLogo: removeFileOperation(instanceOwner, "logo"),
  removeLabelPolicyLogoDark: removeFileOperation(instanceOwner, "logoDark"),
  removeLabelPolicyIcon: removeFileOperation(instanceOwner, "icon"),
  removeLabelPolicyIconDark: removeFileOperation(instanceOwner, "iconDark"),
  removeLabelPolicyFont: removeFileOperation(instanceOwner, "font"),
  getLoginPolicy: loginOperations.instance.get,
  updateLoginPolicy: loginOperations.instance.update,
  ...factorOperations(instanceOwner),
})

export const management = bindHandlers<Cx>()(ManagementService, {
  getPasswordComplexityPolicy: complexityOperations.org.get,
  getDefaultPasswordComplexityPolicy: complexityOperations.instance.get,
  addCustomPasswordComplexityPolicy: complexityOperations.org.add,
  updateCustomPasswordComplexityPolicy: complexityOperations.org.update,
  resetPasswordComplexityPolicyToDefault: complexityOperations.org.reset,
  getPasswordAgePolicy: ageOperations.org.get,
  getDefaultPasswordAgePolicy: ageOperations.instance.get,
  addCustomPasswordAgePolicy: ageOperations.org.add,
  updateCustomPasswordAgePolicy: ageOperations.org.update,
  resetPasswordAgePolicyToDefault: ageOperations.org.reset,
  getLockoutPolicy: lockoutOperations.org.get,
  getDefaultLockoutPolicy: lockoutOperations.instance.get,
  addCustomLockoutPolicy: lockoutOperations.org.add,
  updateCustomLockoutPolicy: lockoutOperations.org.update,
  resetLockoutPolicyToDefault: lockoutOperations.org.reset,
  getPrivacyPolicy: privacyOperations.org.get,
  getDefaultPrivacyPolicy: privacyOperations.instance.get,
  addCustomPrivacyPolicy: privacyOperations.org.add,
  updateCustomPrivacyPolicy: privacyOperations.org.update,
  resetPrivacyPolicyToDefault: privacyOperations.org.reset,
  getNotificationPolicy: notificationOperations.org.get,
  getDefaultNotificationPolicy: notificationOperations.instance.get,
  addCustomNotificationPolicy: notificationOperations.org.add,
  updateCustomNotificationPolicy: notificationOperations.org.update,
  resetNotificationPolicyToDefault: notificationOperations.org.reset,
  getDomainPolicy: domainOperations.org.get,
  getLabelPolicy: labelOperations.org.get,
  getPreviewLabelPolicy: previewOperations.org.get,
  getDefaultLabelPolicy: labelOperations.instance.get,
  addCustomLabelPolicy: previewOperations.org.add,
  updateCustomLabelPolicy: previewOperations.org.update,
  activateCustomLabelPolicy: (_, cx) => activateLabel(cx, contextOrg(cx)),
  removeCustomLabelPolicyLogo: removeFileOperation(contextOrg, "logo"),
  removeCustomLabelPolicyLogoDark: removeFileOperation(contextOrg, "logoDark"),
  removeCustomLabelPolicyIcon: removeFileOperation(contextOrg, "icon"),
  removeCustomLabelPolicyIconDark: removeFileOperation(contextOrg, "iconDark"),
  removeCustomLabelPolicyFont: removeFileOperation(contextOrg, "font"),
  resetLabelPolicyToDefault: async (_, cx) => ({
    details: toDetails(await resetPolicy(cx, contextOrg(cx), labelPreview, label)),
  }),
  getLoginPolicy: loginOperations.org.get,
  getDefaultLoginPolicy: loginOperations.instance.get,
  updateCustomLoginPolicy: loginOperations.org.update,
  resetLoginPolicyToDefault: loginOperations.org.reset,
  ...factorOperations(contextOrg),
})

export const auth = bindHandlers<Cx>()(AuthService, {
  getMyPasswordComplexityPolicy: complexityOperations.mine,
  getMyPrivacyPolicy: privacyOperations.mine,
  getMyLabelPolicy: labelOperations.mine,
  getMyLoginPolicy: loginOperations.mine,
})

function instanceOwner(): PolicyOwner {
  return undefined
}

/** An operation that removes a branding file. */
function removeFileOperation(ownerOf: (cx: Cx) => PolicyOwner, field: keyof BrandingFiles) {
  return async (_: unknown, cx: Cx) => ({
    details: toDetails(await setBrandingFile(cx, ownerOf(cx), { field, name: "" })),
  })
}

/** Makes the preview visible to all users. */
const activateLabel = async (cx: Cx, owner: PolicyOwner) => ({
  details: toDetails(await activatePolicy(cx, owner, { preview: labelPreview, policy: label })),
})

type SecondFactorRequest = { readonly type: SecondFactorType }
type MultiFactorRequest = { readonly type: MultiFactorType }

/** Operations on the allowed factors of an owner. */
function factorOperations(ownerOf: (cx: Cx) => PolicyOwner) {
  const second = ({ type }: SecondFactorRequest) =>
    ({ list: "secondFactors", factor: parseSecondFactor(type) }) as const
  const multi = ({ type }: MultiFactorRequest) =>
    ({ list: "multiFactors", factor: parseMultiFactor(type) }) as const
  return {
    listLoginPolicySecondFactors: (_: unknown, cx: Cx) => {
      const { secondFactors } = findPolicy(cx, ownerOf(cx), login).values
      return toListResponse(
        cx,
        secondFactors.map((factor) => secondFactorTypes[factor]),
      )
    },
    addSecondFactorToLoginPolicy: async (req: SecondFactorRequest, cx: Cx) => ({
      details: toDetails(await addFactor(cx, ownerOf(cx), second(req))),
    }),
    removeSecondFactorFromLoginPolicy: async (req: SecondFactorRequest, cx: Cx) => ({
      details: toDetails(await removeFactor(cx, ownerOf(cx), second(req))),
    }),
    listLoginPolicyMultiFactors: (_: unknown, cx: Cx) => {
      const { multiFactors } = findPolicy(cx, ownerOf(cx), login).values
      return toListResponse(
        cx,
        multiFactors.map((factor) => multiFactorTypes[factor]),
      )
    },
    addMultiFactorToLoginPolicy: async (req: MultiFactorRequest, cx: Cx) => ({
      details: toDetails(await addFactor(cx, ownerOf(cx), multi(req))),
    }),
    removeMultiFactorFromLoginPolicy: async (req: MultiFactorRequest, cx: Cx) => ({
      details: toDetails(await removeFactor(cx, ownerOf(cx), multi(req))),
    }),
  }
}

const toListResponse = <T>(cx: Cx, result: readonly T[]) => ({
  details: {
    totalResult: BigInt(result.length),
    processedSequence: BigInt(cx.store.log.durable()),
    viewTimestamp: toTimestamp(cx.clock.now()),
  },
  result: [...result],
})
