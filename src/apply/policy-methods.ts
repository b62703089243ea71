import type { DescMethod } from "@bufbuild/protobuf"
import { AdminService } from "../gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../gen/core/management/v1/management_service_pb.ts"

const admin = AdminService.method
const management = ManagementService.method

/** The methods that read and write a policy, for the instance and for an organization. */
export type PolicyMethods = {
  readonly instance: { readonly get: DescMethod; readonly update: DescMethod }
  readonly organization: {
    readonly get: DescMethod
    readonly add: DescMethod
    readonly update: DescMethod
  }
}

/** Policies by their names in descriptions. */
export const policyMethods: Readonly<Record<string, PolicyMethods>> = {
  login: {
    instance: { get: admin.getLoginPolicy, update: admin.updateLoginPolicy },
    organization: {
      get: management.getLoginPolicy,
      add: management.addCustomLoginPolicy,
      update: management.updateCustomLoginPolicy,
    },
  },
  lockout: {
    instance: { get: admin.getLockoutPolicy, update: admin.updateLockoutPolicy },
    organization: {
      get: management.getLockoutPolicy,
      add: management.addCustomLockoutPolicy,
      update: management.updateCustomLockoutPolicy,
    },
  },
  passwordComplexity: {
    instance: {
      get: admin.getPasswordComplexityPolicy,
      update: admin.updatePasswordComplexityPolicy,
    },
    organization: {
      get: management.getPasswordComplexityPolicy,
      add: management.addCustomPasswordComplexityPolicy,
      update: management.updateCustomPasswordComplexityPolicy,
    },
  },
  passwordAge: {
    instance: { get: admin.getPasswordAgePolicy, update: admin.updatePasswordAgePolicy },
    organization: {
      get: management.getPasswordAgePolicy,
      add: management.addCustomPasswordAgePolicy,
      update: management.updateCustomPasswordAgePolicy,
    },
  },
  notification: {
    instance: { get: admin.getNotificationPolicy, update: admin.updateNotificationPolicy },
    organization: {
      get: management.getNotificationPolicy,
      add: management.addCustomNotificationPolicy,
      update: management.updateCustomNotificationPolicy,
    },
  },
  privacy: {
    instance: { get: admin.getPrivacyPolicy, update: admin.updatePrivacyPolicy },
    organization: {
      get: management.getPrivacyPolicy,
      add: management.addCustomPrivacyPolicy,
      update: management.updateCustomPrivacyPolicy,
    },
  },
}
